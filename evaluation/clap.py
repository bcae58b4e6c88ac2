# SPDX-License-Identifier: Apache-2.0
"""Which recorded failures are solved, and how fast: `python -m evaluation.clap`.

Every bug of the zoo is recorded until it fails, with values and (Python) with branches; each record
is then solved and replayed. ReCBuLC's figure 11 is redone on four of the programs, each with five
sizes of input. Writes docs/clap.md; docs/orders.md has the same figure for synthetic runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from evaluation import clap_page
from evaluation.clap_page import Bug, Proper, Row, Size
from evaluation.draws import REPOSITORY, ZOO, ZOO_C
from evaluation.orders import by_ours, by_z3, near_optimal
from evaluation.pres import TIMEOUT, Subject, subject
from evaluation.truth import Bug as Known
from evaluation.truth import load_zoo
from unsnarl.execution.trials import Trials
from unsnarl.model.event import Op
from unsnarl.model.record import Record, Recorded, ThreadLog
from unsnarl.replay.target_process import TargetProcess
from unsnarl.reproduce.clap.encode import encode, ticks
from unsnarl.reproduce.clap.following import Follower
from unsnarl.reproduce.clap.histories import of_record
from unsnarl.reproduce.clap.method import Clap
from unsnarl.reproduce.clap.solving import from_branches, solve_all_but_few
from unsnarl.reproduce.orders import OrderProblem, Solved
from unsnarl.reproduce.recorded import Case

PAGE = REPOSITORY / "docs" / "clap.md"
VALUES = Recorded("access", values=True)
# As ReCBuLC has it: one record for all levels, and every stamp is fenced (figure 2c).
FUNCLOOP = Recorded("funcloop", values=True, fenced=True)
# What is stamped at each level in addition to locks and threads.
STAMPED = {
    "FUNC": (Op.ENTER, Op.EXIT),
    "LOOP": (Op.BLOCK,),
    "FUNCLOOP": (Op.ENTER, Op.EXIT, Op.BLOCK),
}
BRANCHES = Recorded("sync", branches=True)
TRIES = 40
SECONDS = 20.0
# The line of a program that says how much it does, and what it says for five sizes.
SIZES = {
    "racey": (
        "racey.c",
        "#define STEPS   10",
        [f"#define STEPS {n}" for n in (10, 20, 40, 80, 160)],
    ),
    "cherokee": (
        "cherokee.c",
        "#define REQUESTS 4",
        [f"#define REQUESTS {n}" for n in (8, 16, 32, 64, 128)],
    ),
    "aget": ("aget.c", "#define PIECE    6", [f"#define PIECE {n}" for n in (12, 6, 4, 2, 1)]),
    "raytracer": (
        "raytracer.py",
        "WIDTH, HEIGHT = 6, 4",
        [f"WIDTH, HEIGHT = {w}, {h}" for w, h in ((2, 4), (2, 8), (2, 16), (3, 24), (4, 32))],
    ),
}


Printed = TypeVar("Printed", Bug, Size, Proper)


class Solver:
    """Solves the records of one bug."""

    def __init__(self, one: Subject) -> None:
        self._one = one

    def case(self, how: Recorded) -> Case | None:
        """A failure, recorded in this way."""
        found = self._one.record(how, 1000, True)
        return found[0] if found else None

    def process(self, case: Case) -> TargetProcess:
        """What can run it again."""
        one = self._one
        trials = Trials(one.runner, one.store.folder, case.run.switch, TIMEOUT)
        return TargetProcess(one.store, trials, one.store.codes)

    def row(self, case: Case, with_clocks: bool = True) -> Row:
        """One record, solved and replayed."""
        began = time.monotonic()
        outcome = Clap(case, self.process(case), with_clocks=with_clocks).run(TRIES)
        cost = outcome.facts.get("solver")
        switch = outcome.trial.plan.switch if outcome.trial else ""
        return Row(
            outcome.facts["ending"],
            outcome.tries,
            outcome.replayed,
            switch == case.run.switch,
            cost.accesses if cost else 0,
            cost.seconds if cost else 0.0,
            cost.reads if cost else 0,
            cost.set_aside if cost else 0,
            time.monotonic() - began,
            outcome.facts["followed"],
        )


def measure(bug: Known) -> Bug:
    """All records of a bug."""
    with subject(bug) as one:
        solver = Solver(one)
        case = solver.case(VALUES)
        values = solver.row(case) if case else None
    if bug.sources or values is None:
        return Bug(bug.name, bug.language, values, None, None)
    with subject(bug, branches=True) as one:
        solver = Solver(one)
        case = solver.case(BRANCHES)
        rows = [solver.row(case, clocks) if case else None for clocks in (True, False)]
    return Bug(bug.name, bug.language, values, *rows)


def sizes(bug: Known) -> Iterator[Size]:
    """Figure 11 for one program."""
    for change in _changes(bug):
        with subject(bug, loops=True, change=change) as one:
            case = Solver(one).case(FUNCLOOP)
            if case is not None:
                yield _size(bug.name, case)


def _changes(bug: Known) -> list[Callable[[Path], None]]:
    file, line, others = SIZES[bug.name]

    def change(text: str, folder: Path) -> None:
        source = (folder / file).read_text(encoding="utf-8")
        assert line in source
        (folder / file).write_text(source.replace(line, text), encoding="utf-8")

    return [partial(change, other) for other in others]


def _size(name: str, case: Case) -> Size:
    plain = _problem(case.record, case, False)
    levels = {
        level: _problem(at_level(case.record, level), case, True) for level in clap_page.LEVELS
    }
    return Size(
        name,
        int((plain.kind <= 1).sum()),
        near_optimal(plain),
        by_z3(plain),
        {level: by_z3(problem) for level, problem in levels.items()},
        by_ours(plain),
        by_ours(levels["FUNC"]),
    )


def _problem(record: Record, case: Case, with_clocks: bool) -> OrderProblem:
    histories = of_record(record, case.clocks)
    clocks = ticks(histories, record.how, case.clocks) if with_clocks else None
    problem, _, _ = solve_all_but_few(encode(histories, clocks).problem, SECONDS)
    return problem


def at_level(record: Record, level: str) -> Record:
    """What FUNCLOOP has recorded, without the stamps that another level does not have."""
    dropped = [op for op in STAMPED["FUNCLOOP"] if op not in STAMPED[level]]
    return Record(record.how, tuple(_thinned(log, dropped) for log in record.threads))


def _thinned(log: ThreadLog, dropped: Sequence[Op]) -> ThreadLog:
    kept = ~np.isin(log.events["point"] & 15, dropped)
    before = np.concatenate(([0], np.cumsum(kept)))
    values = log.values.copy()
    values["position"] = before[values["position"]]
    return msgspec.structs.replace(log, events=log.events[kept], values=values)


def proper(bug: Known) -> Iterator[Proper]:
    """Solving times of CLAP proper by size, with and without stamps."""
    for change in _changes(bug):
        with subject(bug, branches=True, change=change) as one:
            solver = Solver(one)
            case = solver.case(BRANCHES)
            if case is None:
                continue
            process = solver.process(case)
            follower = Follower(case.record, process.trials, process.codes.parent, case.run.seed)
            alone = {"strategy": "replay", "anchors": []}
            along = next(follower.along([alone]), None)
            if along is None:
                continue
            found = [
                from_branches(case, along, SECONDS, "strictly", with_clocks=clocks)
                for clocks in (True, False)
            ]
            yield Proper(
                bug.name,
                found[0].cost.accesses,
                found[0].cost.reads,
                found[0].cost.seconds,
                found[1].cost.seconds,
                all(isinstance(one.solution, Solved) for one in found),
            )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.clap", description=__doc__)
    parser.add_argument("--page", default=None, help="where to write the page")
    parser.add_argument("bugs", nargs="*", help="only these")
    options = parser.parse_args(arguments)
    folder = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join((folder, os.environ.get("PATH", "")))
    zoo = [bug for root in (ZOO_C, ZOO) for bug in load_zoo(root)]
    wanted = [bug for bug in zoo if not options.bugs or bug.name in options.bugs]
    start = time.monotonic()
    scaled = [
        bug for bug in wanted if bug.name in SIZES and (bug.sources or bug.name == "raytracer")
    ]
    rows = [_printed(row) for bug in scaled for row in sizes(bug)]
    along = [_printed(row) for bug in scaled if not bug.sources for row in proper(bug)]
    bugs = [_printed(measure(bug)) for bug in wanted]
    page = options.page or (None if options.bugs else str(PAGE))
    if page:
        command = " ".join(["python -m evaluation.clap", *(arguments or sys.argv[1:])])
        text = clap_page.page(bugs, rows, along, command, time.monotonic() - start)
        Path(page).write_text(text, encoding="utf-8")
    return 0


def _printed(row: Printed) -> Printed:
    print(row, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(main())
