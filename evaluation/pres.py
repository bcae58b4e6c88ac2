# SPDX-License-Identifier: Apache-2.0
"""How many tries it takes to find recorded failures back: `python -m evaluation.pres`.

Every bug of the zoo is recorded until it fails, at each level, with clocks and with one order of
all events; each record is then searched for by PRES. One process of the target serves for all:
`unsnarl record` and `unsnarl reproduce` do the same in two. Writes docs/pres.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import msgspec
import numpy as np

from evaluation import pres_page
from evaluation.draws import REPOSITORY, ZOO, ZOO_C, copy_of
from evaluation.pres_results import Bug, Measured, Reproduced, Unordered
from evaluation.truth import Bug as Known
from evaluation.truth import load_zoo
from unsnarl import config
from unsnarl.campaigns.store import Store
from unsnarl.execution import target
from unsnarl.execution.engine import Engine
from unsnarl.execution.runner import Runner
from unsnarl.execution.trials import Trials, fresh_plans
from unsnarl.model.choices import ORDERS, Level, Order
from unsnarl.model.record import PRES_LEVELS, Record, Recorded, ThreadLog
from unsnarl.recording.clocks import machine, stored
from unsnarl.recording.recorder import Recording
from unsnarl.reproduce import recorded
from unsnarl.reproduce.pres.search import Search
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.reproduce.pres.traced import Traced
from unsnarl.runfile import RunFile
from unsnarl.workflows.record import SLACK_TICKS

PAGE = REPOSITORY / "docs" / "pres.md"
TRIES = 100
ALONE = (60, 1.5)  # runs and seconds to fail without noise
NOISY = (300, 6.0)
TIMEOUT = 5.0
BARS = (("func", "clocks"), ("access", "clocks"))
RANDOM = 50  # schedules without a record, which say what chance would do
PATIENCE = 3  # kinds of records that none failed for, before a bug is given up


class Subject:
    """One bug, built, with a process of its own for all records and tries."""

    def __init__(self, bug: Known, folder: Path, store: Store, runner: Runner) -> None:
        self._bug = bug
        self.store = store
        self.runner = runner
        self._target = target.parse(tuple(bug.command), folder)
        self._clocks = stored.load(machine.read()) or {}
        self._met: int | None = None

    def measure(self, repeats: int) -> Bug:
        """All its records; those that the bars speak of several times."""
        alone = self._record("func", "clocks", 1, False)
        rows: list[Reproduced] = []
        silent = 0
        for level, order, seed in _kinds(repeats):
            row = self._reproduced(level, order, 1000 * seed, alone is None)
            if row is not None:
                rows.append(row)
            silent += row is None
            if silent == PATIENCE and not rows:
                break
        bug = self._bug
        made = RANDOM if self._met is not None else 0
        kind = (bug.name, bug.language, bug.switch, alone is not None)
        return Bug(*kind, tuple(rows), self._met or 0, made)

    def _record(
        self, level: Level, order: Order, seed: int, noise: bool
    ) -> tuple[recorded.Case, int] | None:
        return self.record(Recorded(level, order), seed, noise)

    def record(self, how: Recorded, seed: int, noise: bool) -> tuple[recorded.Case, int] | None:
        """A failure recorded in this way, and the runs it took; None if none came."""
        slack = SLACK_TICKS if how.order == "clocks" and not how.fenced else 0
        clocks = msgspec.to_builtins(self._clocks)
        how = msgspec.structs.replace(how, clocks=clocks, slack=slack)
        recording = Recording(
            self.store, self._target, how, timeout=TIMEOUT, seed=seed, noise=noise
        )
        kept = recording.until_failure(self.runner, *(NOISY if noise else ALONE))
        if kept is None:
            return None
        return recorded.load(self.store, kept.record.number), recording.tally.total

    def _reproduced(self, level: Level, order: Order, seed: int, noise: bool) -> Reproduced | None:
        found = self._record(level, order, seed, noise)
        if found is None and not noise:
            found = self._record(level, order, seed, True)
        if found is None:
            return None
        case, runs = found
        start = time.monotonic()
        sketch = Sketch(case.record, case.clocks)
        trials = Trials(self.runner, self.store.folder, case.run.switch, TIMEOUT)
        if self._met is None:
            self._met = sum(map(case.is_met_by, trials.run(fresh_plans(self._bug.name, RANDOM))))
        answer = Search(sketch, case, trials, self.store.folder).run(TRIES)
        last = answer.reproduced
        traced = answer.tries[-1].trial.run
        return Reproduced(
            level,
            order,
            runs,
            sketch.total,
            len(answer.tries) if last else None,
            answer.replayed,
            answer.flaky,
            Unordered(0, 0, 0) if traced is None else unordered(traced, sketch, case.record),
            time.monotonic() - start,
        )


def _kinds(repeats: int) -> Iterator[tuple[Level, Order, int]]:
    """What to record: what the bars speak of first, and several times."""
    for level, order in sorted(product(PRES_LEVELS, ORDERS), key=lambda kind: kind not in BARS):
        often = repeats if (level, order) in BARS else 1
        yield from ((level, order, seed) for seed in range(1, often + 1))


def unordered(run: RunFile, sketch: Sketch, record: Record) -> Unordered:
    """Which shared accesses of a try have a conflicting one whose order the sketch leaves open."""
    traced = Traced(run, sketch)
    single = Traced(run, Sketch(_numbered(record, sketch), None))
    by_cell: dict[int, list[tuple[int, bool]]] = {}
    events = traced.timeline.events
    for event, cell, writes in traced.touches():
        by_cell.setdefault(cell, []).append((event.at, writes))
    shared, clocks, total = set(), set(), set()
    for touches in by_cell.values():
        for at, writes in touches:
            for other, changes in touches:
                one, two = events[at], events[other]
                if one.path == two.path or not (writes or changes):
                    continue
                shared.add(at)
                if not (traced.is_fixed(one, two) or traced.is_fixed(two, one)):
                    clocks.add(at)
                if not (single.is_fixed(one, two) or single.is_fixed(two, one)):
                    total.add(at)
    return Unordered(len(shared), len(clocks), len(total))


def _numbered(record: Record, sketch: Sketch) -> Record:
    """The same record as if its events had been numbered in the order of the base."""
    rank = {event: at + 1 for at, event in enumerate(sketch.order)}
    threads = []
    for at, thread in enumerate(record.threads):
        events = thread.events.copy()
        events["stamp"] = np.array([rank[at, k] for k in range(len(events))], dtype=np.uint64)
        threads.append(msgspec.structs.replace(thread, events=events))
    how = msgspec.structs.replace(record.how, order="global", slack=0)
    return Record(how, tuple[ThreadLog, ...](threads))


@contextmanager
def subject(
    bug: Known,
    branches: bool = False,
    loops: bool = False,
    change: Callable[[Path], None] = lambda folder: None,
) -> Iterator[Subject]:
    """A bug in a copy of its folder, built to record functions and blocks.

    Args:
        branches: With probes at branches.
        loops: Built to record loops, too.
        change: What is done to the copy before it is built.
    """
    built = {"FUNCTIONS": True, "BLOCKS": True, "LOOPS": loops}
    os.environ |= {f"UNSNARL_CC_{name}": str(int(wanted)) for name, wanted in built.items()}
    with copy_of(Path(bug.folder), change) as folder:
        found = target.parse(tuple(bug.command), folder)
        settings = config.load(config.find_root(folder), os.environ, {})
        store = Store.create(
            folder,
            tuple(bug.command),
            folder,
            found.root,
            options=dataclasses.asdict(settings),
            python=found.python.version,
        )
        before = Path.cwd()
        os.chdir(folder)
        try:
            with Engine(found, store.folder, 2, branches=branches, loops=loops) as engine:
                yield Subject(bug, folder, store, Runner(engine))
        finally:
            os.chdir(before)
            store.close()


def _all(bugs: Sequence[Known], repeats: int) -> Iterator[Bug]:
    for bug in bugs:
        try:
            with subject(bug) as one:
                row = one.measure(repeats)
        except subprocess.CalledProcessError as error:
            print(f"{bug.name}: cannot be built: {error}", file=sys.stderr)
            continue
        print(pres_page.line(row), flush=True)
        yield row


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the bars and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.pres", description=__doc__)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--page", default=None, help="where to write the page")
    parser.add_argument("--save", default=None, help="keep the results")
    parser.add_argument("--load", default=None, help="make the page of kept results")
    parser.add_argument("bugs", nargs="*", help="only these")
    options = parser.parse_args(arguments)
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join((folder, os.environ.get("PATH", "")))
    if options.load:
        found = msgspec.json.decode(Path(options.load).read_bytes(), type=Measured)
    else:
        found = _measured(options.bugs, options.repeats)
    if options.save:
        Path(options.save).write_bytes(msgspec.json.encode(found))
    for bar in pres_page.bars(found):
        print(f"{'met' if bar.met else 'MISSED':6}  {bar.text}: {bar.part} of {bar.whole}")
    page = options.page or (None if options.bugs else PAGE)
    if page:
        Path(page).write_text(pres_page.page(found), encoding="utf-8")
    return 0


def _measured(names: Sequence[str], repeats: int) -> Measured:
    zoo = [bug for root in (ZOO_C, ZOO) for bug in load_zoo(root)]
    start = time.monotonic()
    known = stored.load(machine.read())
    bugs = tuple(_all([bug for bug in zoo if not names or bug.name in names], repeats))
    return Measured(
        command=" ".join(["python -m evaluation.pres", f"--repeats {repeats}", *names]),
        date=time.strftime("%Y-%m-%d"),
        python=platform.python_version(),
        seconds=time.monotonic() - start,
        tries=TRIES,
        clocks=known.widest if known else -1,
        bugs=bugs,
    )


if __name__ == "__main__":
    sys.exit(main())
