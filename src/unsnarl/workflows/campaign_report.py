# SPDX-License-Identifier: Apache-2.0
"""From a stored campaign to its report: compare the kept runs, rank, experiment, name things."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from unsnarl import config
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.methods import DEFAULT, UNLABELLED, Choices, rank_quickly, rank_with
from unsnarl.analyses.repeated import repeats_last
from unsnarl.analyses.stuck import CellAccess, Stuck, common_edges, stuck_answer
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.captures import Captures
from unsnarl.campaigns.comparisons import Compared, Comparisons
from unsnarl.campaigns.printed import last_lines, what_it_said
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import Tally
from unsnarl.errors import ToolError, UsageError
from unsnarl.execution.budget import Budget
from unsnarl.execution.disk import storing
from unsnarl.experiments.prove import BeginFix, Experiments, Proven, Prover
from unsnarl.model.constraint import Constraint
from unsnarl.model.report import (
    FailureReport,
    Instrumented,
    MissingPart,
    Notice,
    Report,
    RunCounts,
)
from unsnarl.model.sources import Sources
from unsnarl.reports import captured_values, finding_ids
from unsnarl.reports.build import build_report
from unsnarl.reports.facts import CampaignFacts, FailingRun, ProofFacts, SignatureFacts
from unsnarl.reports.proof_facts import proof_facts
from unsnarl.reports.render import json
from unsnarl.runfile import Interner, RunFile, RunFileError
from unsnarl.workflows.unfinished import unfinished_notices

REPORT = "report.json"
# Of the time that is left: what the ranking of a failure may take.
RANKING = 0.5
# ... and what the first of several failures may: by how frequent it is, in these bounds.
LEAST_SHARE, MOST_SHARE = 0.5, 0.8
# Naming and explaining take less than a second; on a busy machine they must not cost the findings.
NAMING_SECONDS = 15.0


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a report says besides the findings."""

    tally: Tally
    modules: int
    sites: int
    warnings: tuple[Notice, ...]
    seconds: float


@dataclasses.dataclass(frozen=True)
class Request:
    """What to put into a report.

    Attributes:
        unlabelled: Whether to rank what is rare, too.
        prover: Makes experiments about the answers.
        signature: Only this failure, if one is given.
        finding: Only the finding with this id, if one is given.
        budget: The time for all of it; what fails in it costs its part only.
    """

    method: str = DEFAULT
    choices: Choices = dataclasses.field(default_factory=Choices)
    unlabelled: bool = False
    prover: Prover | None = None
    signature: str = ""
    finding: str = ""
    budget: Budget = dataclasses.field(default_factory=Budget)


@dataclasses.dataclass(frozen=True)
class ProvenReport:
    """A report, and what its experiments leave besides.

    Attributes:
        constraints: By the number of a failing run: what makes its failure certain.
        repairs: By signature: what looks for a fix of its first finding.
        forced: By the number of a failing run: what makes its failure likely.
    """

    report: Report
    constraints: Mapping[int, Sequence[Constraint]]
    repairs: Mapping[str, BeginFix]
    forced: Mapping[int, Sequence[Constraint]]


def make_report(
    store: Store, figures: Figures, captures: Captures, request: Request | None = None
) -> Report:
    """Rank every signature of the campaign; the most frequent first."""
    return make_proven_report(store, figures, captures, request).report


def make_proven_report(
    store: Store, figures: Figures, captures: Captures, request: Request | None = None
) -> ProvenReport:
    """The same, with what the experiments found out for others than readers of the report."""
    tally, request = figures.tally, request or Request()
    budget = request.budget
    root = Path(store.description.root)
    try:
        comparisons = Comparisons(store, tally)
        ranker = _Ranker(comparisons.interner, tally, captures, request, root)
        chosen = [one for one in comparisons.all() if request.signature in ("", one.signature)]
        signatures = []
        for index, one in enumerate(chosen):
            with budget.share(share_of([other.count for other in chosen[index:]])):
                signatures.append(ranker.facts(one, request.method))
        rare = ranker.facts(comparisons.unlabelled(), UNLABELLED) if request.unlabelled else None
    except RunFileError as error:
        raise ToolError("damaged-run-file", str(error)) from None
    facts = CampaignFacts(
        campaign=store.name,
        command=store.description.command,
        seconds=round(figures.seconds, 3),
        runs=RunCounts(tally.total, *(tally.labels[name] for name in ("pass", "fail", "hang"))),
        instrumented=Instrumented(
            figures.modules, figures.sites, tally.threads_controlled, tally.threads_seen
        ),
        warnings=figures.warnings,
        signatures=[facts for facts, _ in signatures],
        unlabelled=rare[0] if rare else None,
    )
    report = _with_outputs(_built(facts, comparisons.interner, root, budget), store)
    constraints: dict[int, Sequence[Constraint]] = {}
    forced: dict[int, Sequence[Constraint]] = {}
    for _, made in signatures:
        constraints.update(made.constraints)
        forced.update(made.forced)
    repairs = {one.signature: made.repair for one, made in signatures if made.repair}
    return ProvenReport(_with_unfinished(report, budget), constraints, repairs, forced)


def share_of(counts: Sequence[int]) -> float:
    """What the first of some failures may take of the time for all, by how often each was seen.

    One that was seen once can hardly be proved, and must not cost the others their experiments.
    """
    if len(counts) < 2:
        return 1.0
    return min(max(counts[0] / max(sum(counts), 1), LEAST_SHARE), MOST_SHARE)


# Failures whose own text is a number, or a type.
SILENT = ("exit", "signal", "exception")


def _with_output(failure: FailureReport, store: Store) -> FailureReport:
    if not failure.run or failure.kind not in SILENT:
        return failure
    output = store.output_file(int(failure.run))
    parts = (failure.message, what_it_said(output) if failure.kind == "exception" else "")
    message = ": ".join(part for part in parts if part)
    return msgspec.structs.replace(failure, message=message, printed=last_lines(output))


def _with_outputs(report: Report, store: Store) -> Report:
    """Tracebacks say all of a Python program's failures; C programs print what they have to say."""
    if store.target().kind != "program":
        return report
    failures = [_with_output(one, store) for one in report.failures]
    return msgspec.structs.replace(report, failures=tuple(failures))


def _built(facts: CampaignFacts, interner: Interner, root: Path, budget: Budget) -> Report:
    """The report; if something of a failure cannot be named or explained, with less of it."""

    def build(some: CampaignFacts) -> Report | None:
        doing = "naming and explaining"
        return budget.part(
            "report", doing, lambda: build_report(some, interner, root), None,
            quick=True, least=NAMING_SECONDS,
        )  # fmt: skip

    report = build(facts)
    if report is not None:
        return report
    poorer = [_best_of(one, facts, build) for one in facts.signatures]
    signatures = [one for one in poorer if one is not None]
    return build_report(
        dataclasses.replace(facts, signatures=signatures, unlabelled=None), interner, root
    )


def _best_of(
    one: SignatureFacts, facts: CampaignFacts, build: Callable[[CampaignFacts], Report | None]
) -> SignatureFacts | None:
    """As much of a failure as can be reported; None if that is nothing."""
    plain = dataclasses.replace(one, proofs={}, fixes={})
    bare = dataclasses.replace(plain, findings=[], verdicts=[])
    for some in (one, plain, bare):
        alone = dataclasses.replace(facts, signatures=[some], unlabelled=None)
        if build(alone) is not None:
            return some
    return None


def _with_unfinished(report: Report, budget: Budget) -> Report:
    return with_missing(report, tuple(dict.fromkeys(budget.unfinished)))


def with_missing(report: Report, found: tuple[MissingPart, ...]) -> Report:
    """The report, which says that these parts are missing, too."""
    notices = (*report.warnings, *unfinished_notices(found))
    return msgspec.structs.replace(
        report, warnings=notices, unfinished=(*report.unfinished, *found)
    )


class _Ranker:
    """Ranks comparisons and gathers what a report shows of them."""

    def __init__(
        self, interner: Interner, tally: Tally, captures: Captures, request: Request, root: Path
    ) -> None:
        self._interner = interner
        self._tally = tally
        self._captures = captures
        self._request = request
        self._root = root

    def facts(self, compared: Compared, method: str) -> tuple[SignatureFacts, Experiments]:
        """One signature, its answers ranked and tested, with the values of one run."""
        evidence = compared.comparison.failing
        failing = [
            FailingRun.of(run, self._interner, one.due, compared.swallowed)
            for run, one in zip(compared.runs, evidence, strict=True)
        ]
        stuck = self._stuck(compared, failing, method)
        ranked = self._ranked(compared, method)
        # That a thread waits for good is the symptom; with nothing before it, it is no cause.
        is_bare = all(one.is_bare for one in stuck)
        answers = [*ranked, *stuck] if is_bare else [*stuck, *ranked]
        made = self._different_first(
            self._experiments(compared, self._requested(compared.signature, answers))
        )
        proven = made.answers
        findings = [one.answer for one in proven]
        none: dict[int, ProofFacts] = {}
        proofs = self._request.budget.part(
            "report", "explaining the proof", lambda: self._proofs(proven, compared), none,
            quick=True,
        )  # fmt: skip
        proof = proven[0].proof if proven else None
        exemplar = proof.at if proof else _exemplar(findings, compared.runs)
        if findings:
            shown = failing[exemplar]
            failing[exemplar] = self._request.budget.part(
                "capture", "capturing values",
                lambda: self._with_values(shown, compared, findings, exemplar), shown,
                # One run, without which the answer has neither values nor callers.
                quick=self._request.budget.has_time,
            )  # fmt: skip
        failure = compared.records[0].failure if compared.records else None
        facts = SignatureFacts(
            signature=compared.signature,
            kind=failure.kind if failure else "exit",
            switch=compared.switch,
            latent=self._tally.latent(compared.signature),
            count=compared.count,
            rate=compared.count / max(1, self._tally.runs[compared.switch]),
            failing=failing,
            passing=len(compared.comparison.passing),
            findings=findings,
            exemplar=exemplar,
            method=method,
            verdicts=[one.verdict for one in proven],
            proofs=proofs,
            fixes={at: one.repair for at, one in enumerate(proven) if one.repair},
            swallowed=compared.swallowed,
            causes=sum(one.is_one_of_several for one in proven),
        )
        return facts, made

    def _different_first(self, made: Experiments) -> Experiments:
        confirmed = sum(one.is_confirmed for one in made.answers)
        order = repeats_last([one.answer for one in made.answers], self._interner.point, confirmed)
        return dataclasses.replace(made, answers=tuple(made.answers[at] for at in order))

    def _ranked(self, compared: Compared, method: str) -> Sequence[Answer]:
        # If all runs fail, nothing sets some of them apart; a wait that cannot end shows itself.
        if compared.signature and self._tally.always_fails:
            return []
        choices, budget = self._request.choices, self._request.budget
        none: Sequence[Answer] | None = None
        ranked = budget.part(
            "rank", "ranking", lambda: rank_with(method, compared.comparison, choices), none,
            share=RANKING, quick=True,
        )  # fmt: skip
        if ranked is not None:
            return ranked
        # Without an answer there is nothing to test: a poorer ranking costs less than none.
        return budget.part(
            "rank", "ranking without cycles", lambda: rank_quickly(compared.comparison), (),
            quick=True,
        )  # fmt: skip

    def _stuck(
        self, compared: Compared, failing: Sequence[FailingRun], method: str
    ) -> Sequence[Answer]:
        """Where no thread could continue, the wait itself is an answer like any other.

        See docs/adr/0013.
        """
        ends = [
            Stuck(
                run.graph,
                () if _failed_before(stored) else run.waits,
                _latest(stored, self._interner),
            )
            for run, stored in zip(failing, compared.runs, strict=True)
            if compared.signature
        ]
        graphs = [one.graph for one in compared.comparison.passing]
        passing = len(graphs), compared.stood_still
        found = self._request.budget.part(
            "rank", "looking at waits",
            lambda: stuck_answer(
                ends, self._interner.point, method, *passing, common=common_edges(graphs)
            ), None, quick=True,
        )  # fmt: skip
        return [found] if found else []

    def _requested(self, signature: str, answers: Sequence[Answer]) -> list[Answer]:
        """The answer whose finding was asked for, or all of them."""
        if not self._request.finding:
            return list(answers)
        wanted = finding_ids.digits(self._request.finding)
        hashes = finding_ids.digests(signature, answers, self._interner, Sources(self._root))
        return [one for one, own in zip(answers, hashes, strict=True) if own.startswith(wanted)][:1]

    def _proofs(self, proven: Sequence[Proven], compared: Compared) -> dict[int, ProofFacts]:
        """What was proved, by the finding's index."""
        return {
            index: proof_facts(one.proof, compared.runs[one.proof.at], self._interner)
            for index, one in enumerate(proven)
            if one.proof is not None
        }

    def _experiments(self, compared: Compared, ranked: Sequence[Answer]) -> Experiments:
        """The findings with what experiments say of them; only failures can be experimented on.

        The prover isolates its parts itself; what fails around them costs all experiments.
        """
        testable = compared.signature and not self._tally.always_fails
        prover = self._request.prover if testable else None
        untested = Experiments.none(ranked)
        if prover is None:
            return untested
        # Trials that end in one of these say nothing of this failure, if they are few
        # (docs/adr/0016).
        others = {signature for _, signature in self._tally.failing} - {compared.signature}
        return self._request.budget.part(
            "confirm", "experiments",
            lambda: prover.prove(compared, ranked, self._interner, others), untested,
        )  # fmt: skip

    def _with_values(
        self, failing: FailingRun, compared: Compared, findings: Sequence[Answer], index: int
    ) -> FailingRun:
        """The run with the values of its replay, where that worked."""
        wanted = captured_values.raw_points(findings, index, self._interner)
        capture = self._captures.of(compared.records[index], compared.runs[index], wanted)
        if capture is None:
            return failing
        seen = captured_values.captured_events(capture, self._interner)
        # Nothing captured is not the same as no lock held.
        captured = captured_values.assign(seen, findings, failing, index) or None
        return dataclasses.replace(failing, captured=captured)


def _latest(run: RunFile, interner: Interner) -> list[CellAccess]:
    """The accesses that the cells of an unfinished run had last."""
    points = interner.indexes(run.latest["point"], run).tolist()
    return [
        CellAccess(thread, time, point, cell)
        for (time, cell, _, thread, _), point in zip(run.latest.tolist(), points, strict=True)
    ]


def _failed_before(run: RunFile) -> bool:
    """Whether an exception that no passing run has came before the waits at its end.

    Who still waits for work then is not stuck; nor is who waits when the process is struck down.
    """
    return run.is_struck or (run.failing_point is not None and not run.final_waits)


def _exemplar(findings: Sequence[Answer], runs: Sequence[RunFile]) -> int:
    """The run to show: one with the best finding, and of those the one with fewest switches."""
    candidates = findings[0].runs if findings else range(len(runs))
    return min(candidates, key=lambda at: (len(runs[at].segments), at), default=0)


def save_report(store: Store, report: Report) -> None:
    """Keep the report for `show` and `rank`."""
    with storing(store.folder):
        (store.folder / REPORT).write_bytes(json.encode(report))


def stored_report(name: str) -> Report:
    """The report of a stored campaign; made now if its hunt was killed before it could."""
    store = Store.open(stores.find(Path.cwd(), name))
    try:
        return json.decode((store.folder / REPORT).read_bytes())
    except (OSError, ValueError):
        return rank_anew(name)
    finally:
        store.close()


def rank_anew(name: str) -> Report:
    """Rank a stored campaign by the default method; that becomes its report."""
    store = Store.open(stores.find(Path.cwd(), name))
    try:
        tally = stored_tally(store)
        if not tally.failing:
            raise nothing_failed(store.name)
        report = make_report(store, stored_figures(store, tally), Captures(store))
        save_report(store, report)
        return report
    finally:
        store.close()


def nothing_failed(campaign: str) -> UsageError:
    """For a campaign whose runs all passed."""
    hint = "hunt with more runs, or ask for what is rare: --method bugaboo-unlabelled"
    return UsageError("nothing-to-rank", f"no run of campaign {campaign} failed", hint)


def code_changed(campaign: str) -> UsageError:
    """For what needs exactly the code that a campaign's runs were made of."""
    return UsageError(
        "code-changed",
        f"the code has changed since campaign {campaign} was hunted",
        "check whether its failures are gone: unsnarl verify; or hunt again",
    )


def stored_tally(store: Store) -> Tally:
    """The counts of a stored campaign."""
    settings = config.override(store.description.options, {})
    tally = Tally(settings.fail, settings.passed, settings.seed)
    for stored in store.runs():
        tally.restore(stored.record, stored.phase, stored.kept)
    return tally


def stored_figures(store: Store, tally: Tally) -> Figures:
    """What the hunt itself reported; a hunt that was killed reported nothing."""
    try:
        old = json.decode((store.folder / REPORT).read_bytes())
    except (OSError, ValueError):
        return Figures(tally, 0, 0, (), sum(stored.record.seconds for stored in store.runs()))
    seen = old.instrumented
    return Figures(tally, seen.modules, seen.sites, old.warnings, old.seconds)
