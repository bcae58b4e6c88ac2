# SPDX-License-Identifier: Apache-2.0
"""From a stored campaign to its report: read the kept runs, rank them, name things."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from unsnarl import config
from unsnarl.analyses.recon import Focused, Options, focus, rank
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.replays import Replays
from unsnarl.campaigns.store import Store, Stored, storing
from unsnarl.campaigns.tally import HUNT, Tally
from unsnarl.cli import values
from unsnarl.errors import ToolError, UsageError
from unsnarl.model.finding import Instrumented, Notice, RunCounts
from unsnarl.model.graph import Graph
from unsnarl.model.run import RunRecord
from unsnarl.reports import json
from unsnarl.reports.build import build_report
from unsnarl.reports.details import DetailedReport
from unsnarl.reports.facts import CampaignFacts, FailingRun, SignatureFacts
from unsnarl.runfile import Interner, RunFile, RunFileError, SiteTable, read_run

MOST_SIGNATURES = 10
REPORT = "report.json"
CONTEXT_SIZES = (5, 2, 0)
TELLING = 2.0  # an edge twice as frequent in failing runs


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a report says beside the findings."""

    tally: Tally
    modules: int
    sites: int
    warnings: tuple[Notice, ...]
    seconds: float


def make_report(store: Store, figures: Figures, replays: Replays) -> DetailedReport:
    """Rank every signature of the campaign; the most frequent first."""
    root = Path(store.description.root)
    tally = figures.tally
    try:
        codes = store.folder / "codes.json"
        table = SiteTable.load(codes, root) if tally.failing else SiteTable((), root)
        interner = Interner(table)
        signatures = _Ranker(store, interner, tally, replays).signatures()
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
    )
    return build_report(facts, interner, root)


class _Ranker:
    """Compares the kept failing runs of each signature with passing runs of the same mode."""

    def __init__(self, store: Store, interner: Interner, tally: Tally, replays: Replays) -> None:
        self._store = store
        self._interner = interner
        self._tally = tally
        self._replays = replays
        self._kept = [run for run in store.runs() if run.kept and run.phase == HUNT]
        self._passing: dict[str, list[Graph]] = {}

    def signatures(self) -> list[SignatureFacts]:
        tally = self._tally
        switches = {signature: tally.basis(signature) for _, signature in tally.failing}
        counts = {sig: tally.failing[switch, sig] for sig, switch in switches.items()}
        best = sorted(counts, key=lambda sig: (-counts[sig], sig))[:MOST_SIGNATURES]
        return [self._signature(switches[sig], sig, counts[sig]) for sig in best if counts[sig]]

    def _signature(self, switch: str, signature: str, count: int) -> SignatureFacts:
        key = (switch, signature)
        kept = [run for run in self._kept if (run.record.switch, run.record.signature) == key]
        pairs = [(stored.record, run) for stored in kept if (run := self._read(stored))]
        failing = [FailingRun.of(run, self._interner) for _, run in pairs]
        passing = self._passing_graphs(switch)
        findings = self._findings([r.graph for r in failing], passing)
        exemplar = _exemplar(findings, [run for _, run in pairs])
        if findings:
            failing[exemplar] = self._with_values(
                failing[exemplar], *pairs[exemplar], findings, exemplar
            )
        failure = kept[0].record.failure if kept else None
        return SignatureFacts(
            signature=signature,
            kind=failure.kind if failure else "exit",
            switch=switch,
            latent=self._tally.latent(signature),
            count=count,
            rate=count / max(1, self._tally.runs[switch]),
            failing=failing,
            passing=len(passing),
            findings=findings,
            exemplar=exemplar,
        )

    def _findings(self, failing: list[Graph], passing: list[Graph]) -> list[Focused]:
        """Data first: the order of lock operations mostly repeats, less tellingly, what it guards.

        Only where no data separates the runs do edges between lock operations come first.
        """
        options = Options(
            sync_points=self._interner.sync_mask(),
            site_order=self._interner.site_order(),
            timeline="all",
            context_sizes=CONTEXT_SIZES,
        )
        data = dataclasses.replace(options, sync="drop")
        first = focus(rank(failing, passing, data), passing, data, failing=failing)
        both = focus(rank(failing, passing, options), passing, options, failing=failing)
        if not first or first[0].reconstruction.features["B"] < TELLING:
            return both
        shown = {one.lines for one in first}
        return (first + [one for one in both if one.lines not in shown])[: len(both)]

    def _with_values(
        self,
        failing: FailingRun,
        record: RunRecord,
        run: RunFile,
        findings: Sequence[Focused],
        index: int,
    ) -> FailingRun:
        """The run with the values of its replay, where that worked."""
        replay = self._replays.of(record, run, values.raw_points(findings, index, self._interner))
        if replay is None:
            return failing
        seen = values.moments(replay, self._interner)
        # Nothing captured is not the same as no lock held.
        captured = values.assign(seen, findings, failing, index) or None
        return dataclasses.replace(failing, captured=captured)

    def _passing_graphs(self, switch: str) -> list[Graph]:
        if switch not in self._passing:
            wanted = [
                r for r in self._kept if r.record.label == "pass" and r.record.switch == switch
            ]
            runs = [run for run in map(self._read, wanted) if run is not None]
            self._passing[switch] = [self._interner.graph(run) for run in runs]
        return self._passing[switch]

    def _read(self, stored: Stored) -> RunFile | None:
        """A run that was readable when it was stored; one that is not any more is left out."""
        try:
            run = read_run(self._store.run_file(stored.record.number))
            _ = run.notes
            return run
        except RunFileError:
            return None


def _exemplar(findings: Sequence[Focused], runs: Sequence[RunFile]) -> int:
    """The run to show: one with the best finding, and of those the one with fewest switches."""
    candidates = findings[0].reconstruction.runs if findings else range(len(runs))
    return min(candidates, key=lambda at: (len(runs[at].schedule), at), default=0)


def save_report(store: Store, report: DetailedReport) -> None:
    """Keep the report and its findings for `show` and `rank`."""
    for failure in report.failures:
        store.save_findings("recon", failure.signature, failure.findings)
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


def ranked(name: str) -> DetailedReport:
    """Rank a stored campaign anew."""
    store = Store.open(stores.find(Path.cwd(), name))
    settings = config.override(store.description.options, {})
    tally = Tally(settings.fail, settings.passed, settings.seed)
    for stored in store.runs():
        tally.restore(stored.record, stored.phase, stored.kept)
    if not tally.failing:
        raise UsageError(
            "nothing-to-rank", f"no run of campaign {store.name} failed", "hunt with more runs"
        )
    report = make_report(store, _stored_figures(store, tally), Replays(store))
    save_report(store, report)
    store.close()
    return report


def _stored_figures(store: Store, tally: Tally) -> Figures:
    """What the hunt itself reported; nothing is known of a hunt that was killed."""
    try:
        old = json.decode((store.folder / REPORT).read_bytes())
    except (OSError, ValueError):
        return Figures(tally, 0, 0, (), sum(stored.record.seconds for stored in store.runs()))
    seen = old.instrumented
    return Figures(tally, seen.modules, seen.sites, old.warnings, old.seconds)
