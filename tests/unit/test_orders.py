# SPDX-License-Identifier: Apache-2.0
"""Order problems: what is refused, what clocks prove, what the validator sees."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from evaluation.synthetic_orders import (
    FUNC,
    Machine,
    contradicted,
    misread,
    simulate,
    threads_of,
)

from unsnarl.errors import ToolError
from unsnarl.reproduce import orders
from unsnarl.reproduce.orders import Kind, OrderEvent, OrderProblem, problem_of, violation
from unsnarl.reproduce.orders.clocks import clock_orders, guesses
from unsnarl.reproduce.orders.closure import OrderClosure
from unsnarl.reproduce.orders.problem import sections
from unsnarl.reproduce.orders.smt import SmtSolver, encode
from unsnarl.reproduce.orders.solution import Solved
from unsnarl.reproduce.orders.solver import solve_order

READ, WRITE, CLOCK = Kind.READ, Kind.WRITE, Kind.CLOCK


def test_a_thread_must_hold_what_it_releases() -> None:
    with pytest.raises(ValueError, match="event 0 releases a lock"):
        problem_of([[OrderEvent(Kind.RELEASE, 1)]])
    with pytest.raises(ValueError, match="event 1 acquires a lock that its thread holds"):
        problem_of([[OrderEvent(Kind.ACQUIRE, 1), OrderEvent(Kind.ACQUIRE, 1)]])
    with pytest.raises(ValueError, match="event 2 releases"):
        problem_of(
            [
                [OrderEvent(Kind.ACQUIRE, 1)],
                [OrderEvent(Kind.ACQUIRE, 2), OrderEvent(Kind.RELEASE, 1)],
            ]
        )


def test_what_is_no_problem_is_refused() -> None:
    with pytest.raises(ValueError, match="none of the problem's"):
        problem_of([[OrderEvent(Kind.JOIN, 1)]])
    with pytest.raises(ValueError, match="joins itself"):
        problem_of([[OrderEvent(Kind.JOIN, 0)]])
    with pytest.raises(ValueError, match="core has no range"):
        problem_of([[OrderEvent(CLOCK, 1, 5)]], ahead=[[0]])
    with pytest.raises(ValueError, match="value or a clock's stamp"):
        problem_of([[OrderEvent(WRITE, 1)]])
    with pytest.raises(ValueError, match="skew are empty"):
        problem_of([[]], ahead=[[0, -2], [1, 0]])


def test_columns_must_fit() -> None:
    whole = problem_of([[OrderEvent(WRITE, 1, 2), OrderEvent(READ, 1, 2)]])
    with pytest.raises(ValueError, match="one length"):
        OrderProblem(whole.first, whole.kind, whole.object[1:], whole.value, whole.logged)
    with pytest.raises(ValueError, match="out of order"):
        first = np.array([0, 5, 2])
        OrderProblem(first, whole.kind, whole.object, whole.value, whole.logged)


def test_a_lock_that_is_kept_has_no_release() -> None:
    acquire, release = OrderEvent(Kind.ACQUIRE, 7), OrderEvent(Kind.RELEASE, 7)
    found = sections(problem_of([[acquire, release, acquire], [acquire, release]]))
    assert found.acquire.tolist() == [0, 2, 3]
    assert found.release.tolist() == [1, -1, 4]


def test_only_the_hard_range_proves_an_order() -> None:
    ahead = [[0, 10], [20, 0]]  # clock 1 is at most 10 ahead, and at most 20 behind

    def proved(first: int, second: int) -> list[tuple[int, int]]:
        sources, sinks = clock_orders(
            problem_of([[OrderEvent(CLOCK, 0, first)], [OrderEvent(CLOCK, 1, second)]], ahead=ahead)
        )
        return list(zip(sources.tolist(), sinks.tolist(), strict=True))

    assert proved(100, 111) == [(0, 1)]
    assert proved(100, 110) == []
    assert proved(121, 100) == [(1, 0)]
    assert proved(120, 100) == []


def test_two_threads_on_one_core_need_no_range() -> None:
    sources, sinks = clock_orders(
        problem_of([[OrderEvent(CLOCK, 1, 8)], [OrderEvent(CLOCK, 1, 9)]], ahead=[[0, 99], [99, 0]])
    )
    assert (sources.tolist(), sinks.tolist()) == ([0], [1])


def test_a_thread_that_changes_cores_is_bounded_by_what_it_does_next() -> None:
    # Its stamp on core 0 alone proves nothing about core 2; the next one, on core 2, does.
    ahead = [[0, 50, 50], [50, 0, 50], [50, 50, 0]]
    mover = [OrderEvent(CLOCK, 0, 100), OrderEvent(READ, 1), OrderEvent(CLOCK, 2, 101)]
    sources, sinks = clock_orders(problem_of([mover, [OrderEvent(CLOCK, 2, 102)]], ahead=ahead))
    assert (sources.tolist(), sinks.tolist()) == ([2], [3])


def test_guesses_lie_between_the_stamps_and_know_the_middle_of_the_skew() -> None:
    ahead = [[0, 30], [10, 0]]  # clock 1 is 10 ahead of clock 0, plus or minus 20
    own = [OrderEvent(CLOCK, 1, 110), OrderEvent(READ, 1), OrderEvent(CLOCK, 1, 130)]
    other = [OrderEvent(READ, 1), OrderEvent(READ, 1)]
    assert guesses(problem_of([own, other], ahead=ahead)).tolist() == [100, 110, 120, 105, 115]


def test_what_is_known_is_closed() -> None:
    join, start = OrderEvent(Kind.JOIN, 1), OrderEvent(Kind.START, 1)
    problem = problem_of(
        [[OrderEvent(READ, 1), start, join], [OrderEvent(READ, 1), OrderEvent(READ, 2)]]
    )
    known = OrderClosure.of(problem)
    assert known is not None
    assert known(0, 4) and known(3, 2) and not known(4, 0) and not known(2, 2)
    assert known.after[0].tolist() == [2, 2]
    assert known.before[2].tolist() == [2, 2]


@pytest.mark.parametrize(
    ("order", "complaint"),
    [
        ([0, 1, 2, 3], None),
        ([0, 2, 1, 3], "event 1 reads 5, but the cell has 6"),
        ([0, 1, 3, 2], "not the next one"),
        ([0, 1, 2], "3 events are ordered, 4 were logged"),
        ([0, 1, 2, 9], "no event 9"),
    ],
)
def test_the_validator_does_what_a_machine_would(order: list[int], complaint: str | None) -> None:
    one = [OrderEvent(WRITE, 1, 5), OrderEvent(READ, 1, 5)]
    two = [OrderEvent(WRITE, 1, 6), OrderEvent(READ, 1, 6)]
    found = violation(problem_of([one, two]), order)
    assert found is None if complaint is None else complaint in (found or "")


def test_the_validator_minds_locks_threads_and_clocks() -> None:
    acquire, release = OrderEvent(Kind.ACQUIRE, 7), OrderEvent(Kind.RELEASE, 7)
    locked = problem_of([[acquire, release], [acquire, release]])
    assert violation(locked, [0, 1, 2, 3]) is None
    assert "that thread 0 holds" in (violation(locked, [0, 2, 1, 3]) or "")
    started = problem_of(
        [[OrderEvent(Kind.START, 1), OrderEvent(Kind.JOIN, 1)], [OrderEvent(Kind.BEGIN)]]
    )
    assert violation(started, [0, 2, 1]) is None
    assert "before it is started" in (violation(started, [2, 0, 1]) or "")
    assert "has not ended" in (violation(started, [0, 1, 2]) or "")
    stamped = problem_of(
        [[OrderEvent(CLOCK, 0, 1)], [OrderEvent(CLOCK, 1, 9)]], ahead=[[0, 3], [3, 0]]
    )
    assert "clocks prove event 0 earlier" in (violation(stamped, [1, 0]) or "")


def test_a_free_first_value_is_one_value() -> None:
    problem = problem_of([[OrderEvent(READ, 1, 5)], [OrderEvent(READ, 1, 6)]])
    assert "event 1 reads 6, but the cell has 5" in (violation(problem, [0, 1]) or "")
    assert (
        violation(problem_of([[OrderEvent(READ, 1, 5)], [OrderEvent(READ, 1, 5)]]), [0, 1]) is None
    )


def test_a_wrong_order_is_never_passed_on() -> None:
    class Liar:
        name = "liar"

        def solve(self, problem: OrderProblem, seconds: float) -> Solved:
            return Solved(np.arange(problem.size))

    problem = problem_of([[OrderEvent(READ, 1, 5)], [OrderEvent(WRITE, 1, 5)]], {1: 0})
    with pytest.raises(ToolError, match="liar gave a wrong order"):
        solve_order(problem, Liar(), 1)


def test_clocks_remove_choices_and_restrict_places() -> None:
    # ReCBuLC's figure 8: of the writes of thread 1 only those near the read stay in question.
    writes = [[OrderEvent(CLOCK, 1, 100 * i), OrderEvent(WRITE, 1, i)] for i in range(1, 9)]
    read = [OrderEvent(CLOCK, 0, 350), OrderEvent(READ, 1, 3), OrderEvent(CLOCK, 0, 460)]
    threads = [read, [event for pair in writes for event in pair]]
    text = encode(problem_of(threads, ahead=[[0, 10], [10, 0]]))
    assert text is not None
    (choices,) = [line for line in text.splitlines() if "(or (and" in line]
    assert choices == "(assert (or (and (< e8 e1) (< e1 e10)) false))"
    assert "(assert (and (<= 7 e1) (<= e1 10)))" in text
    without = encode(problem_of(threads, ahead=[[0, 9999], [9999, 0]]))
    assert without is not None and "e18" in without.split("(or (and")[1]


def test_without_z3_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(ToolError, match="z3 is not installed") as told:
        SmtSolver().solve(problem_of([[]]), 1)
    assert told.value.slug == "solver-missing"
    assert "unsnarl[solve]" in told.value.hint


def test_the_simulated_machine_hides_a_valid_order() -> None:
    trace = simulate(Machine(300, 3, seed=4))
    problem = trace.problem()
    times = [time for own in trace.events for time, _ in own]
    assert violation(problem, np.argsort(times, kind="stable").tolist()) is None
    assert len(problem.of(READ, WRITE)) == pytest.approx(300, abs=3)
    assert simulate(Machine(300, 3, seed=4)).events == trace.events


def test_stamps_of_the_machine_prove_nothing_wrong() -> None:
    trace = simulate(Machine(300, 3, seed=5))
    problem = trace.problem(FUNC)
    times = [time for own in trace.events for time, _ in own]
    # Each marker stands just before an event; hidden times give the order of both.
    at = iter(times)
    hidden = [next(at) for kind in problem.kind if kind != CLOCK]
    stamps = np.zeros(problem.size)
    stamps[problem.kind != CLOCK] = hidden
    for event in problem.of(CLOCK)[::-1]:
        before = stamps[event - 1] if event not in problem.first else 0.0
        stamps[event] = (before + stamps[event + 1]) / 2
    assert violation(problem, np.argsort(stamps, kind="stable").tolist()) is None
    assert len(clock_orders(problem)[0]) > 20


def test_corrupted_problems_keep_their_threads() -> None:
    problem = simulate(Machine(60, 3, seed=6)).problem(FUNC)
    assert len(contradicted(problem).kind) == problem.size + 4
    assert (misread(problem).value != problem.value).sum() == 1
    assert [len(own) for own in threads_of(problem)] == np.diff(problem.first).tolist()


def test_solvers_are_exported_without_loading_z3() -> None:
    code = (
        "import sys; from unsnarl.reproduce.orders import OrderProblem; "
        "assert 'unsnarl.reproduce.orders.smt' not in sys.modules; "
        "from unsnarl.reproduce.orders import NativeSolver, SmtSolver; "
        "assert NativeSolver.name == 'native' and SmtSolver.name == 'z3'; "
        "assert 'z3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_no_solver_is_not_exported() -> None:
    with pytest.raises(AttributeError, match="NoSolver"):
        _ = orders.NoSolver
