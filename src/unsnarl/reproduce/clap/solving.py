# SPDX-License-Identifier: Apache-2.0
"""The two forms of an order problem, and what its solution cost."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

import msgspec

from unsnarl.model.plan import Plan
from unsnarl.reproduce.clap.conditions import Chooser, How
from unsnarl.reproduce.clap.encode import Encoded, encode, ticks
from unsnarl.reproduce.clap.following import Along, Follower
from unsnarl.reproduce.clap.histories import History, of_record, of_run
from unsnarl.reproduce.clap.sightings import sightings
from unsnarl.reproduce.orders import (
    Kind,
    OrderProblem,
    Solution,
    Solved,
    Unsatisfiable,
    solve_order,
)
from unsnarl.reproduce.orders.native import NativeSolver
from unsnarl.reproduce.pres.flip_queue import FlipQueue
from unsnarl.reproduce.recorded import Case
from unsnarl.runfile import RunFile

Form = Literal["values", "branches"]
# Reads that may be set aside: a value sampled in C may be wrong (docs/adr/0023).
MOST_ASIDE = 20
MOST_OTHERS = 8  # runs that did not fail, and are asked all the same
HOWS: tuple[How, ...] = ("exactly", "strictly", "loosely")


class Cost(msgspec.Struct, frozen=True):
    """What a solver was given and what it took.

    Attributes:
        accesses: Shared reads and writes.
        events: All events of the problem, clock markers with them.
        seconds: Of encoding and solving.
        by: The stage that found the solution.
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
    """One order problem and its solution.

    Attributes:
        run: The followed run that it was about, if that failed as recorded by itself, and this is
            the first problem made of it.
    """

    histories: list[History]
    encoded: Encoded
    solution: Solution
    cost: Cost
    run: RunFile | None = None

    @property
    def is_solved(self) -> bool:
        """Whether there is an order."""
        return isinstance(self.solution, Solved)


def by_values(
    case: Case, seconds: float, *, with_clocks: bool = True, by_time: bool = False
) -> Attempt:
    """The order from logged values; `by_time`: and from times where values are not known."""
    began = time.monotonic()
    histories = of_record(case.record, case.clocks)
    clocks = ticks(histories, case.record.how, case.clocks) if with_clocks else None
    encoded = encode(histories, clocks, by_time=by_time)
    problem, solution, aside = solve_all_but_few(encoded.problem, seconds)
    spent = time.monotonic() - began
    cost = Cost(encoded.accesses, problem.size, spent, _phase(solution), set_aside=aside)
    return Attempt(histories, replace(encoded, problem=problem), solution, cost)


def solve_all_but_few(problem: OrderProblem, seconds: float) -> tuple[OrderProblem, Solution, int]:
    """Solve; a few reads that contradict all else are left out. Gives how many."""
    end = time.monotonic() + seconds
    aside = 0
    while True:
        solution = solve_order(problem, NativeSolver(), max(end - time.monotonic(), 0.001))
        events = solution.events if isinstance(solution, Unsatisfiable) else ()
        reads = [event for event in events if problem.kind[event] == Kind.READ]
        if not reads or aside == MOST_ASIDE:
            return problem, solution, aside
        logged = problem.logged.copy()
        logged[reads] = False
        problem = replace(problem, logged=logged)
        aside += 1


def by_branches(
    case: Case,
    follower: Follower,
    bases: Sequence[Plan],
    queue: FlipQueue,
    seconds: float,
    *,
    with_clocks: bool = True,
) -> Generator[Attempt, None, bool]:
    """Orders from branches: each run along them is an order problem, ever less strict.

    Args:
        queue: What may be turned round in further runs.

    Returns:
        Whether the time was over before all was tried.
    """
    follower.until = end = time.monotonic() + seconds
    for along in _followed(case, follower, bases, queue):
        # What a run saw is worth keeping exactly only if that run failed by itself: an integer that
        # no branch shows may be the cause.
        hows = HOWS if case.is_met_by(along.trial) else HOWS[1:]
        for how in hows:
            left = end - time.monotonic()
            if left <= 0:
                return True
            yield from_branches(case, along, left, how, with_clocks=with_clocks)
    return time.monotonic() > end


def _followed(
    case: Case, follower: Follower, bases: Sequence[Plan], queue: FlipQueue
) -> Iterator[Along]:
    """Runs along the branches, first those that fail as recorded: if what decides is no integer, it
    does so in the run itself. Of a failure that is no way to end (a hang) this cannot be said."""
    hangs = case.run.label == "hang" or (case.run.failure and case.run.failure.kind == "deadlock")
    others: list[Along] = []
    turned = follower.turned(bases[-1], queue)
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
    solution = chooser.solve(NativeSolver(), seconds)
    effort = chooser.effort
    cost = Cost(
        encoded.accesses,
        encoded.problem.size,
        time.monotonic() - began,
        _phase(solution),
        effort.reads,
        effort.choices,
        effort.pruned,
        effort.conflicts,
    )
    if chooser.order is not None:
        encoded = replace(encoded, problem=chooser.order)
    return Attempt(histories, encoded, solution, cost, along.run if how == "exactly" else None)


def _phase(solution: Solution) -> str:
    return solution.by if isinstance(solution, Solved | Unsatisfiable) else ""
