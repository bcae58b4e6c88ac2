# SPDX-License-Identifier: Apache-2.0
"""Simulate-hw: what Bugaboo's hardware would have collected in traced runs, and its ranking."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from unsnarl.analyses.bugaboo import BugabooOptions, SiteRanking, ranking
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.swallowed import cut_off
from unsnarl.errors import UsageError
from unsnarl.model.access_trace import ACCESSES
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.graph import Edges, context_mask
from unsnarl.model.run import RunRecord
from unsnarl.model.site import Site
from unsnarl.replay.target_process import find_run
from unsnarl.runfile import Interner, RunFile, RunFileError, SiteTable, layout, read_run
from unsnarl.traces import hardware
from unsnarl.traces.files import SUFFIX, Trace
from unsnarl.traces.hardware import HardwareCounts, HardwareMachine, Simulated
from unsnarl.workflows.progress import OnWarning, ignore

__all__ = ["HardwareMachine", "HardwareResult", "RankedPoint", "simulate_hw"]


@dataclasses.dataclass(frozen=True)
class RankedPoint:
    """A code point, as it is ranked (Bugaboo 5): the lower the value, the more suspicious."""

    rank: int
    value: float
    runs: int
    file: str
    line: int
    function: str


@dataclasses.dataclass(frozen=True)
class GraphSize:
    """Distinct nodes and edges of some runs together, edges from nowhere left out."""

    nodes: int
    edges: int


@dataclasses.dataclass(frozen=True)
class HardwareResult:
    """What the hardware collected in some runs of a campaign, and how it ranks.

    Attributes:
        labelled: Whether failing runs were compared with passing ones.
        counts: Of all runs together.
        with_context: The size of their graphs; `without_context`: contexts left out.
    """

    campaign: str
    machine: HardwareMachine
    failing: int
    passing: int
    signature: str
    labelled: bool
    counts: HardwareCounts
    with_context: GraphSize
    without_context: GraphSize
    points: tuple[RankedPoint, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class _TracedRun:
    record: RunRecord
    run: RunFile
    trace: Trace


def simulate_hw(
    words: Sequence[str],
    machine: HardwareMachine | None = None,
    context_size: int = 5,
    *,
    on_warning: OnWarning = ignore,
) -> HardwareResult:
    """Run traces of one campaign through the hardware, and rank what it collected.

    With failing and passing runs the ranking is Bugaboo's labelled one, for the signature and the
    switching mode that most failing runs have; else its unlabelled one.

    Args:
        words: Traces, runs (as for `replay`) or a campaign, which stands for all its traces.
        on_warning: Called with slug, message and hint.
    """
    machine = machine or HardwareMachine()
    hardware.machine_for(machine)
    folder, numbers = _find(words)
    store = Store.open(folder)
    try:
        runs = _traced(store, numbers, on_warning)
        if store.codes.exists():
            table = SiteTable.load(store.codes, Path(store.description.root))
        else:
            table = SiteTable((), Path(store.description.root))
    finally:
        store.close()
    return _Simulation(Interner(table), machine, context_size).of(store.name, runs)


def _find(words: Sequence[str]) -> tuple[Path, tuple[int, ...]]:
    """The campaign that is meant, and the runs; none for all that it has."""
    found = [_meant(Path.cwd(), word) for word in words or [""]]
    folders = {folder.resolve() for folder, _ in found}
    if len(folders) > 1:
        text = "these traces are of several campaigns: their code points cannot be compared"
        raise UsageError("bad-argument", text, "name traces of one campaign")
    numbers = tuple(sorted({number for _, number in found if number is not None}))
    whole = any(number is None for _, number in found)
    return found[0][0], () if whole else numbers


def _meant(cwd: Path, word: str) -> tuple[Path, int | None]:
    path = cwd / word
    if path.suffix == SUFFIX:
        if not path.is_file():
            raise UsageError("no-trace", f"there is no trace {word}")
        return find_run(cwd, str(path.with_suffix(".run")))
    last = word.rpartition("/")[2].removesuffix(".run")
    is_run = last.isdecimal() and not (path / "campaign.json").exists()
    return find_run(cwd, word) if is_run else (stores.find(cwd, word), None)


def _traced(store: Store, numbers: Sequence[int], on_warning: OnWarning) -> list[_TracedRun]:
    stored = {one.record.number: one.record for one in store.runs() if one.kept}
    wanted = numbers or [one for one in stored if store.trace_file(one).exists()]
    if not wanted:
        hint = "unsnarl hunt --accesses -- COMMAND"
        raise UsageError("no-trace", f"campaign {store.name} has no traces", hint)
    found = []
    for number in wanted:
        if number not in stored or not store.trace_file(number).exists():
            raise UsageError("no-trace", f"run {number} of {store.name} has no access trace")
        try:
            run, trace = read_run(store.run_file(number)), Trace(store.trace_file(number))
        except RunFileError as error:
            on_warning("damaged-runs", f"skipped: {error}", "")
            continue
        if trace.dropped:
            text = f"{trace.dropped} accesses of run {number} had no room in its trace"
            on_warning("trace-dropped", text, "")
        found.append(_TracedRun(stored[number], run, trace))
    if not found:
        raise UsageError("damaged-run-file", "none of the traces can be read")
    return found


class _Simulation:
    """One call of `unsnarl simulate-hw`."""

    def __init__(self, interner: Interner, machine: HardwareMachine, context_size: int) -> None:
        self._interner = interner
        self._machine = machine
        self._size = context_size
        self._counts = HardwareCounts()

    def of(self, campaign: str, runs: Sequence[_TracedRun]) -> HardwareResult:
        records = [one.record for one in runs]
        switch, signature = _commonest([one for one in records if one.label != "pass"] or records)
        # Of one mode: free switching has interleavings that the lock forbids, failure or not.
        runs = [one for one in runs if one.record.switch == switch]
        failing = [one for one in runs if signature and one.record.signature == signature]
        passing = [one for one in runs if one.record.label == "pass"]
        labelled = bool(failing and passing)
        compared = [[self._evidence(one) for one in some] for some in (failing, passing)]
        points = self._interner.point_table()
        comparison = Comparison(tuple(compared[0]), tuple(compared[1]), points)
        options = BugabooOptions(labelled=labelled, context_size=self._size)
        return HardwareResult(
            campaign,
            self._machine,
            len(failing),
            len(passing),
            signature,
            labelled,
            self._counts,
            graph_size(comparison, self._interner),
            graph_size(comparison, self._interner, 0),
            self._named(listed_only(ranking(comparison, options), self._interner)),
        )

    def _evidence(self, one: _TracedRun) -> Evidence:
        simulated = hardware.simulate(one.trace, self._machine)
        self._counts = self._counts.plus(simulated.counts)
        if not len(one.run.counts):  # a recorded run has no gate, and nobody else counts
            one.run.counts = site_counts(one.trace)
        return hardware_evidence(one.run, simulated, self._interner)

    def _named(self, ranked: SiteRanking) -> tuple[RankedPoint, ...]:
        sites: dict[int, Site] = {}
        for index, site in enumerate(self._interner.point_table().site.tolist()):
            sites.setdefault(site, self._interner.point(index).site)
        return tuple(
            RankedPoint(rank, value, runs, sites[at].file, sites[at].line, sites[at].function)
            for rank, (at, value, runs) in enumerate(
                zip(
                    ranked.sites.tolist(), ranked.values.tolist(), ranked.runs.tolist(), strict=True
                ),
                1,
            )
        )


def _commonest(records: Iterable[RunRecord]) -> tuple[str, str]:
    """The switching mode and signature that most of them have."""
    counts = Counter((str(one.switch), one.signature) for one in records)
    return min(counts, key=lambda both: (-counts[both], both))


def hardware_evidence(run: RunFile, simulated: Simulated, interner: Interner) -> Evidence:
    """A run as the hardware saw it. What its failing thread did afterwards is left out."""
    evidence = Evidence(interner.graph(run, simulated.edges), counts=interner.counts(run))
    return cut_off(evidence, run.ends)


def listed_only(ranked: SiteRanking, interner: Interner) -> SiteRanking:
    """Without what is no code point: memory, where an edge has no source."""
    kept = ranked.sites != interner.unknown_site
    return SiteRanking(
        *(column[kept] for column in (ranked.sites, ranked.values, ranked.runs, ranked.functions))
    )


def site_counts(trace: Trace) -> Edges:
    """How often each site accessed memory, by thread, as run files of gated runs have it."""
    found: Counter[tuple[int, int]] = Counter()
    for block in trace.blocks():
        rows = block[np.isin(block["kind"], ACCESSES)]
        keys = rows["thread"].astype(np.uint64) << np.uint64(32) | rows["point"] >> 4
        numbers, counts = np.unique(keys, return_counts=True)
        for key, count in zip(numbers.tolist(), counts.tolist(), strict=True):
            found[key >> 32, key & 0xFFFF_FFFF] += count
    table = np.zeros(len(found), layout.COUNT)
    for row, ((thread, site), count) in zip(table, sorted(found.items()), strict=True):
        row["thread"], row["site"], row["count"] = thread, site, count
    return table


def graph_size(comparison: Comparison, interner: Interner, size: int = 5) -> GraphSize:
    """The graphs of all runs as one, with contexts of so many events."""
    mask = context_mask(size)
    edges: set[tuple[int, int, int, int]] = set()
    points = comparison.points.site
    for run in (*comparison.failing, *comparison.passing):
        rows = run.graph.edges
        rows = rows[points[rows["source_point"]] != interner.unknown_site]
        columns = (
            rows["source_point"],
            rows["source_context"] & mask,
            rows["sink_point"],
            rows["sink_context"] & mask,
        )
        edges.update(zip(*(column.tolist() for column in columns), strict=True))
    nodes = {edge[:2] for edge in edges} | {edge[2:] for edge in edges}
    return GraphSize(len(nodes), len(edges))


Rates = Mapping[str, float]
_RATE: dict[str, Callable[[HardwareCounts], int]] = {
    "read misses": lambda counts: counts.read_misses,
    "write misses": lambda counts: counts.write_misses,
    "coherence misses": lambda counts: counts.upgrades,
    "metadata writes": lambda counts: counts.metadata_writes,
    "table writes": lambda counts: counts.table_writes,
}


def rates(counts: HardwareCounts) -> Rates:
    """By name: how often per 10,000 accesses; traps per 10 million (Bugaboo, table 5)."""
    accesses = max(counts.accesses, 1)
    found = {name: 1e4 * of(counts) / accesses for name, of in _RATE.items()}
    return found | {"traps": 1e7 * counts.traps / accesses}
