# SPDX-License-Identifier: Apache-2.0
"""The two forms of the question, and what an answer cost."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import msgspec

from unsnarl.experiments.trials import Plan
from unsnarl.reproduce.clap.conditions import Chooser, How
from unsnarl.reproduce.clap.encode import Encoded, encode, ticks
from unsnarl.reproduce.clap.following import Along, Follower
from unsnarl.reproduce.clap.histories import History, of_record, of_run
from unsnarl.reproduce.clap.sightings import sightings
from unsnarl.reproduce.orders import (
    Answer,
    Kind,
    OrderProblem,
    Solved,
    Unsatisfiable,
    solve_order,
)
from unsnarl.reproduce.orders.native import NativeSolver
from unsnarl.reproduce.pres.candidates import Candidates
from unsnarl.reproduce.recorded import Case
from unsnarl.runfile import RunFile

Form = Literal["values", "branches"]
MOST_ASIDE = 20
MOST_OTHERS = 8  # runs that did not fail, and are asked all the same
HOWS: tuple[How, ...] = ("exactly", "strictly", "loosely")


class Cost(msgspec.Struct, frozen=True):
    """What a solver was given and what it took.

    Attributes:
        accesses: Shared reads and writes.
        events: All events of the problem, clock markers with them.
        seconds: Of encoding and solving.
        by: The stage that had the answer.
        reads: Branches only: reads on which a condition depends.
        choices: Branches only: the writes that these may have seen, all together.
        pruned: Branches only: such choices that program order and clocks have removed.
        conflicts: Branches only: choices of writes for which there was no order.
        set_aside: Values only: reads that no order can explain, and that were left out: a value
            may have been taken while a library was still at work.
    """

    accesses: int
    events: int
    seconds: float
    by: str
    reads: int = 0
    choices: int = 0
    pruned: int = 0
    conflicts: int = 0
    set_aside: int = 0


@dataclass(frozen=True, eq=False)
class Attempt:
    """One question and its answer.

    Attributes:
        run: The followed run that it was about, if that failed as recorded by itself, and this is
            the first question about it.
    """

    histories: list[History]
    encoded: Encoded
    answer: Answer
    cost: Cost
    run: RunFile | None = None

    @property
    def is_solved(self) -> bool:
        """Whether there is an order."""
        return isinstance(self.answer, Solved)


def by_values(
    case: Case, seconds: float, *, with_clocks: bool = True, by_time: bool = False
) -> Attempt:
    """The order from logged values; `by_time`: and from times where values are not known."""
    began = time.monotonic()
    histories = of_record(case.record, case.clocks)
    clocks = ticks(histories, case.record.how, case.clocks) if with_clocks else None
    encoded = encode(histories, clocks, by_time=by_time)
    problem, answer, aside = explained(encoded.problem, seconds)
    spent = time.monotonic() - began
    cost = Cost(encoded.accesses, problem.size, spent, _stage(answer), set_aside=aside)
    return Attempt(histories, replace(encoded, problem=problem), answer, cost)


def explained(problem: OrderProblem, seconds: float) -> tuple[OrderProblem, Answer, int]:
    """Solve; a few reads that contradict all else are left out. Gives how many."""
    end = time.monotonic() + seconds
    aside = 0
    while True:
        answer = solve_order(problem, NativeSolver(), max(end - time.monotonic(), 0.001))
        events = answer.events if isinstance(answer, Unsatisfiable) else ()
        reads = [event for event in events if problem.kind[event] == Kind.READ]
        if not reads or aside == MOST_ASIDE:
            return problem, answer, aside
        known = problem.known.copy()
        known[reads] = False
        problem = replace(problem, known=known)
        aside += 1


def by_branches(
    case: Case,
    follower: Follower,
    bases: Sequence[Plan],
    candidates: Candidates,
    seconds: float,
    *,
    with_clocks: bool = True,
) -> Generator[Attempt, None, bool]:
    """Orders from branches: each run along them is a question, asked ever less strictly.

    Args:
        candidates: What may be turned round in further runs.

    Returns:
        Whether the time was over before all was asked.
    """
    follower.until = end = time.monotonic() + seconds
    for along in _followed(case, follower, bases, candidates):
        hows = HOWS if case.is_met_by(along.trial) else HOWS[1:]
        for how in hows:
            left = end - time.monotonic()
            if left <= 0:
                return True
            yield from_branches(case, along, left, how, with_clocks=with_clocks)
    return time.monotonic() > end


def _followed(
    case: Case, follower: Follower, bases: Sequence[Plan], candidates: Candidates
) -> Iterator[Along]:
    """Runs along the branches, first those that fail as recorded: if what decides is no integer, it
    does so in the run itself. Of a failure that is no way to end (a hang) this cannot be told."""
    hangs = case.run.label == "hang" or (case.run.failure and case.run.failure.kind == "deadlock")
    others: list[Along] = []
    turned = follower.turned(bases[-1], candidates)
    for along in chain(follower.along(bases), turned):
        if hangs or case.is_met_by(along.trial):
            yield along
        elif len(others) < MOST_OTHERS:
            others.append(along)
    yield from others


def from_branches(
    case: Case, along: Along, seconds: float, how: How, *, with_clocks: bool = True
) -> Attempt:
    """The order from one run along the branches."""
    began = time.monotonic()
    histories = of_run(along.run, case.record)
    clocks = ticks(histories, case.record.how, case.clocks) if with_clocks else None
    encoded = encode(histories, clocks, in_turn=how != "loosely")
    chooser = Chooser(encoded, sightings(encoded, histories, along), how)
    answer = chooser.solve(NativeSolver(), seconds)
    effort = chooser.effort
    cost = Cost(
        encoded.accesses,
        encoded.problem.size,
        time.monotonic() - began,
        _stage(answer),
        effort.reads,
        effort.choices,
        effort.pruned,
        effort.conflicts,
    )
    if chooser.order is not None:
        encoded = replace(encoded, problem=chooser.order)
    return Attempt(histories, encoded, answer, cost, along.run if how == "exactly" else None)


def _stage(answer: Answer) -> str:
    return answer.by if isinstance(answer, Solved | Unsatisfiable) else ""
