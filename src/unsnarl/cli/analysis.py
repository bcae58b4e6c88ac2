# SPDX-License-Identifier: Apache-2.0
"""From a stored campaign to its report: compare the kept runs, rank, name things."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from unsnarl import config
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.methods import DEFAULT, UNLABELLED, Choices, rank_with
from unsnarl.analyses.stuck import Stuck, stuck_answer
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.comparisons import Compared, Comparisons
from unsnarl.campaigns.replays import Replays
from unsnarl.campaigns.store import Store, storing
from unsnarl.campaigns.tally import Tally
from unsnarl.cli import values
from unsnarl.cli.proofs import proof_facts
from unsnarl.errors import ToolError, UsageError
from unsnarl.experiments.prove import Proven, Prover
from unsnarl.model.finding import Instrumented, Notice, RunCounts
from unsnarl.reports import json
from unsnarl.reports.build import build_report
from unsnarl.reports.details import DetailedReport
from unsnarl.reports.facts import CampaignFacts, FailingRun, ProofFacts, SignatureFacts
from unsnarl.runfile import Interner, RunFile, RunFileError

REPORT = "report.json"


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a report says beside the findings."""

    tally: Tally
    modules: int
    sites: int
    warnings: tuple[Notice, ...]
    seconds: float


@dataclasses.dataclass(frozen=True)
class Wanted:
    """How to rank: by which method, and whether to rank what is rare, too.

    Attributes:
        prover: Makes experiments about the answers.
        signature: Only this one, if one is given.
        only: Whether to tell of an answer.
    """

    method: str = DEFAULT
    choices: Choices = dataclasses.field(default_factory=Choices)
    unlabelled: bool = False
    prover: Prover | None = None
    signature: str = ""
    only: Callable[[Answer, Interner], bool] | None = None


def make_report(
    store: Store, figures: Figures, replays: Replays, wanted: Wanted | None = None
) -> DetailedReport:
    """Rank every signature of the campaign; the most frequent first."""
    tally, wanted = figures.tally, wanted or Wanted()
    try:
        comparisons = Comparisons(store, tally)
        teller = _Teller(comparisons.interner, tally, replays, wanted)
        signatures = [
            teller.tell(one, wanted.method)
            for one in comparisons.all()
            if wanted.signature in ("", one.signature)
        ]
        rare = teller.tell(comparisons.unlabelled(), UNLABELLED) if wanted.unlabelled else None
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
        signatures=signatures,
        unlabelled=rare,
    )
    return build_report(facts, comparisons.interner, Path(store.description.root))


class _Teller:
    """Ranks comparisons and gathers what a report tells of them."""

    def __init__(self, interner: Interner, tally: Tally, replays: Replays, wanted: Wanted) -> None:
        self._interner = interner
        self._tally = tally
        self._replays = replays
        self._wanted = wanted

    def tell(self, compared: Compared, method: str) -> SignatureFacts:
        """One signature, its findings ranked and told with the values of one run."""
        failing = [FailingRun.of(run, self._interner) for run in compared.runs]
        ranked = rank_with(method, compared.comparison, self._wanted.choices)
        ends = [Stuck(run.graph, run.waits) for run in failing if compared.signature]
        passing = len(compared.comparison.passing)
        stuck = stuck_answer(ends, self._interner.point, method, passing)
        answers = [stuck, *ranked] if stuck else ranked
        if self._wanted.only is not None:
            answers = [one for one in answers if self._wanted.only(one, self._interner)]
        proven = self._proven(compared, answers)
        findings = [one.answer for one in proven]
        proofs = self._proofs(proven, compared)
        proof = proven[0].proof if proven else None
        exemplar = proof.at if proof else _exemplar(findings, compared.runs)
        if findings:
            failing[exemplar] = self._with_values(failing[exemplar], compared, findings, exemplar)
        failure = compared.records[0].failure if compared.records else None
        return SignatureFacts(
            signature=compared.signature,
            kind=failure.kind if failure else "exit",
            switch=compared.switch,
            latent=self._tally.latent(compared.signature),
            count=compared.count,
            rate=compared.count / max(1, self._tally.runs[compared.switch]),
            failing=failing,
            passing=passing,
            findings=findings,
            exemplar=exemplar,
            method=method,
            verdicts=[one.verdict for one in proven],
            proofs=proofs,
            repairs={at: one.repair for at, one in enumerate(proven) if one.repair},
        )

    def _proofs(self, proven: Sequence[Proven], compared: Compared) -> dict[int, ProofFacts]:
        """What was proved, by the finding's place."""
        return {
            place: proof_facts(one.proof, compared.runs[one.proof.at], self._interner)
            for place, one in enumerate(proven)
            if one.proof is not None
        }

    def _proven(self, compared: Compared, ranked: Sequence[Answer]) -> list[Proven]:
        """The findings with what experiments say of them; only failures can be experimented on."""
        prover = self._wanted.prover if compared.signature else None
        untested = [Proven(answer) for answer in ranked]
        if prover is None:
            return untested
        try:
            others = {signature for _, signature in self._tally.failing} - {compared.signature}
            return prover.prove(compared, ranked, self._interner, others)
        except ToolError:
            return untested  # the fork server is gone: the ranking stands without experiments

    def _with_values(
        self, failing: FailingRun, compared: Compared, findings: Sequence[Answer], index: int
    ) -> FailingRun:
        """The run with the values of its replay, where that worked."""
        wanted = values.raw_points(findings, index, self._interner)
        replay = self._replays.of(compared.records[index], compared.runs[index], wanted)
        if replay is None:
            return failing
        seen = values.moments(replay, self._interner)
        # Nothing captured is not the same as no lock held.
        captured = values.assign(seen, findings, failing, index) or None
        return dataclasses.replace(failing, captured=captured)


def _exemplar(findings: Sequence[Answer], runs: Sequence[RunFile]) -> int:
    """The run to show: one with the best finding, and of those the one with fewest switches."""
    candidates = findings[0].runs if findings else range(len(runs))
    return min(candidates, key=lambda at: (len(runs[at].schedule), at), default=0)


def save_report(store: Store, report: DetailedReport) -> None:
    """Keep the report and its findings for `show` and `rank`."""
    for failure in report.failures:
        method = failure.findings[0].method if failure.findings else DEFAULT
        store.save_findings(method, failure.signature, failure.findings)
    with storing(store.folder):
        (store.folder / REPORT).write_bytes(json.encode(report))


def stored_report(name: str) -> DetailedReport:
    """The report of a stored campaign; made now if its hunt never came to one."""
    store = Store.open(stores.find(Path.cwd(), name))
    try:
        return json.decode((store.folder / REPORT).read_bytes())
    except (OSError, ValueError):
        return ranked(name)
    finally:
        store.close()


def ranking(name: str, wanted: Wanted) -> DetailedReport:
    """The ranking of a stored campaign: the default one is its report, experiments and all."""
    if wanted.method != DEFAULT:
        return ranked(name, wanted)
    report = stored_report(name)
    if not report.failures:
        raise _nothing_failed(report.campaign)
    return report


def _nothing_failed(campaign: str) -> UsageError:
    hint = "hunt with more runs, or ask for what is rare: --method bugaboo-unlabelled"
    return UsageError("nothing-to-rank", f"no run of campaign {campaign} failed", hint)


def ranked(name: str, wanted: Wanted | None = None) -> DetailedReport:
    """Rank a stored campaign anew; only the default ranking becomes its report."""
    wanted = wanted or Wanted()
    store = Store.open(stores.find(Path.cwd(), name))
    tally = stored_tally(store)
    if not tally.failing and not wanted.unlabelled:
        raise _nothing_failed(store.name)
    report = make_report(store, stored_figures(store, tally), Replays(store), wanted)
    if wanted.method == DEFAULT:
        save_report(store, report)
    store.close()
    return report


def stored_tally(store: Store) -> Tally:
    """The counts of a stored campaign."""
    settings = config.override(store.description.options, {})
    tally = Tally(settings.fail, settings.passed, settings.seed)
    for stored in store.runs():
        tally.restore(stored.record, stored.phase, stored.kept)
    return tally


def stored_figures(store: Store, tally: Tally) -> Figures:
    """What the hunt itself reported; nothing is known of a hunt that was killed."""
    try:
        old = json.decode((store.folder / REPORT).read_bytes())
    except (OSError, ValueError):
        return Figures(tally, 0, 0, (), sum(stored.record.seconds for stored in store.runs()))
    seen = old.instrumented
    return Figures(tally, seen.modules, seen.sites, old.warnings, old.seconds)
