# SPDX-License-Identifier: Apache-2.0
"""From a stored campaign to what analyses compare: failing against passing runs, per signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unsnarl.campaigns.standstills import assign_standstills
from unsnarl.campaigns.store import Store, Stored
from unsnarl.campaigns.swallowed import Swallowed, cut_off, discriminating, failing_point
from unsnarl.campaigns.tally import HUNT, Tally
from unsnarl.campaigns.unfinished import Unfinished
from unsnarl.execution.result import read_safely
from unsnarl.execution.symptom import Symptom
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.run import RunRecord, Switch
from unsnarl.runfile import Interner, RunFile, SiteTable

MOST_SIGNATURES = 10


@dataclass(frozen=True, eq=False)
class Compared:
    """The kept runs of one signature, in the order of the comparison's failing runs.

    Attributes:
        swallowed: Exceptions that the program caught and that set its runs apart, in their order.
        passed: The passing runs, in the order of the comparison's.
        stood_still: How many passing runs came to the standstill that became the failure.
    """

    signature: str
    switch: Switch
    count: int
    records: tuple[RunRecord, ...]
    runs: tuple[RunFile, ...]
    comparison: Comparison
    swallowed: tuple[Swallowed, ...] = ()
    stood_still: int = 0
    passed: tuple[RunFile, ...] = ()

    def mark(self, run: RunFile, at: int) -> None:
        """Let a repetition of a failing run know what the comparison says of that one."""
        run.due = self.comparison.failing[at].due
        run.failing_point = failing_point(self.swallowed)
        run.stop_where(self.runs[at])

    @property
    def symptom(self) -> Symptom:
        """What shows that a trial went the same way."""
        stops = (run.standstill for run in self.runs)
        return Symptom(self.signature, frozenset(one.waiting for one in stops if one))

    @property
    def kind(self) -> str:
        """How its runs failed."""
        failure = self.records[0].failure if self.records else None
        return failure.kind if failure else "exit"


class Comparisons:
    """Reads the kept runs of a campaign; a run that cannot be read any more is left out."""

    def __init__(self, store: Store, tally: Tally) -> None:
        self._store = store
        self._tally = tally
        self._kept = [run for run in store.runs() if run.kept and run.phase == HUNT]
        self._passing: dict[str, tuple[tuple[RunFile, Evidence], ...]] = {}
        root = Path(store.description.root)
        listed = store.codes.exists() and bool(self._kept)
        table = SiteTable.load(store.codes, root) if listed else SiteTable((), root)
        if table.program:
            from unsnarl.probes.native.captured import name_locations  # noqa: PLC0415

            name_locations(table)
        self.interner = Interner(table)

    def all(self) -> list[Compared]:
        """One comparison per signature, the most frequent first."""
        tally = self._tally
        switches = {signature: tally.basis(signature) for _, signature in tally.failing}
        counts = {sig: tally.failing[switch, sig] for sig, switch in switches.items()}
        best = sorted(counts, key=lambda sig: (-counts[sig], sig))[:MOST_SIGNATURES]
        return [self._of(switches[sig], sig, counts[sig]) for sig in best if counts[sig]]

    def unlabelled(self) -> Compared:
        """All kept runs of the mode that has most of them, whatever their labels."""
        modes: list[Switch] = [stored.record.switch for stored in self._kept]
        # Sorted, so that a tie is decided alike in every process.
        switch: Switch = max(sorted(set(modes)), key=modes.count, default="gil")
        kept = [run for run in self._kept if run.record.switch == switch]
        pairs = [(stored.record, run) for stored in kept if (run := self._read(stored))]
        runs = tuple(self.interner.evidence(run) for _, run in pairs)
        comparison = Comparison(runs, (), self.interner.point_table())
        return _compared("", switch, len(runs), pairs, comparison)

    def _of(self, switch: Switch, signature: str, count: int) -> Compared:
        key = (switch, signature)
        kept = [run for run in self._kept if (run.record.switch, run.record.signature) == key]
        pairs = [(stored.record, run) for stored in kept if (run := self._read(stored))]
        # Of the same mode: free switching has interleavings that the lock forbids, failure or not.
        passing = self._passing_runs(switch)
        return replace(compare(signature, switch, pairs, passing, self.interner), count=count)

    def _passing_runs(self, switch: str) -> tuple[tuple[RunFile, Evidence], ...]:
        if switch not in self._passing:
            wanted = [
                r for r in self._kept if r.record.label == "pass" and r.record.switch == switch
            ]
            runs = [run for run in map(self._read, wanted) if run is not None]
            self._passing[switch] = tuple((run, self.interner.evidence(run)) for run in runs)
        return self._passing[switch]

    def _read(self, stored: Stored) -> RunFile | None:
        run = read_safely(self._store.run_file(stored.record.number))[0]
        if run is not None:
            run.locate(self.interner.frame)
        return run


def compare(
    signature: str,
    switch: Switch,
    pairs: Sequence[tuple[RunRecord, RunFile]],
    passing: Sequence[tuple[RunFile, Evidence]],
    interner: Interner,
) -> Compared:
    """Some failing runs of a signature against passing ones."""
    passed = [run for run, _ in passing]
    swallowed = discriminating([run.caught for _, run in pairs], [run.caught for run in passed])
    for _, run in pairs:
        run.failing_point = failing_point(swallowed)
    failing = [(run, cut_off(interner.evidence(run), run.ends)) for _, run in pairs]
    stood_still = assign_standstills([run for _, run in pairs], passed, interner)
    unfinished = Unfinished(passed, [*failing, *passing], interner)
    completed = [tuple(unfinished.completed(*one) for one in some) for some in (failing, passing)]
    # The table is made last: reading evidence adds points to it.
    comparison = Comparison(completed[0], completed[1], interner.point_table())
    compared = _compared(signature, switch, len(pairs), pairs, comparison)
    return replace(compared, stood_still=stood_still, swallowed=swallowed, passed=tuple(passed))


def _compared(
    signature: str,
    switch: Switch,
    count: int,
    pairs: Sequence[tuple[RunRecord, RunFile]],
    comparison: Comparison,
) -> Compared:
    records, runs = (tuple(column) for column in zip(*pairs, strict=True)) if pairs else ((), ())
    return Compared(signature, switch, count, records, runs, comparison)
