# SPDX-License-Identifier: Apache-2.0
"""From a stored campaign to what analyses compare: failing against passing runs, per signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unsnarl.campaigns.store import Store, Stored
from unsnarl.campaigns.tally import HUNT, Tally
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.run import RunRecord, Switch
from unsnarl.runfile import Interner, RunFile, RunFileError, SiteTable, read_run

MOST_SIGNATURES = 10


@dataclass(frozen=True, eq=False)
class Compared:
    """The kept runs of one signature, in the order of the comparison's failing runs."""

    signature: str
    switch: Switch
    count: int
    records: tuple[RunRecord, ...]
    runs: tuple[RunFile, ...]
    comparison: Comparison

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
        self._passing: dict[str, tuple[Evidence, ...]] = {}
        root = Path(store.description.root)
        codes = store.folder / "codes.json"
        known = codes.exists() and bool(self._kept)
        table = SiteTable.load(codes, root) if known else SiteTable((), root)
        if table.program:
            from unsnarl.probes.native.captured import name_places  # noqa: PLC0415

            name_places(table)
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
        switch: Switch = max(sorted(set(modes)), key=modes.count, default="gil")
        kept = [run for run in self._kept if run.record.switch == switch]
        pairs = [(stored.record, run) for stored in kept if (run := self._read(stored))]
        runs = tuple(self.interner.evidence(run) for _, run in pairs)
        comparison = Comparison(runs, (), self.interner.places())
        return _compared("", switch, len(runs), pairs, comparison)

    def _of(self, switch: Switch, signature: str, count: int) -> Compared:
        key = (switch, signature)
        kept = [run for run in self._kept if (run.record.switch, run.record.signature) == key]
        pairs = [(stored.record, run) for stored in kept if (run := self._read(stored))]
        failing = tuple(self.interner.evidence(run) for _, run in pairs)
        passing = self._passing_runs(switch)
        comparison = Comparison(failing, passing, self.interner.places())
        return _compared(signature, switch, count, pairs, comparison)

    def _passing_runs(self, switch: str) -> tuple[Evidence, ...]:
        if switch not in self._passing:
            wanted = [
                r for r in self._kept if r.record.label == "pass" and r.record.switch == switch
            ]
            runs = [run for run in map(self._read, wanted) if run is not None]
            self._passing[switch] = tuple(self.interner.evidence(run) for run in runs)
        return self._passing[switch]

    def _read(self, stored: Stored) -> RunFile | None:
        try:
            run = read_run(self._store.run_file(stored.record.number))
            _ = run.notes
            return run
        except RunFileError:
            return None


def _compared(
    signature: str,
    switch: Switch,
    count: int,
    pairs: Sequence[tuple[RunRecord, RunFile]],
    comparison: Comparison,
) -> Compared:
    records, runs = (tuple(column) for column in zip(*pairs, strict=True)) if pairs else ((), ())
    return Compared(signature, switch, count, records, runs, comparison)
