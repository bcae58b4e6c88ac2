# SPDX-License-Identifier: Apache-2.0
"""Runs in which nobody could go on, as answers."""

from tests.unit.test_reports_build import Table, at, graph

from unsnarl.analyses.stuck import CellAccess, Stuck, common_edges, stuck_answer, stuck_steps
from unsnarl.model.event import Op
from unsnarl.model.run import Wait
from unsnarl.model.site import UNKNOWN_SITE, Point

READ, WRITE, WAIT, TAKEN, OTHER, OTHER_WRITE = range(6)
TABLE = Table(
    at(1, Op.READ, "done"),
    at(2, Op.WRITE, "done"),
    at(3, Op.WAIT),
    at(4, Op.ACQUIRE),
    at(5, Op.WAIT),
)
CYCLE = (Wait(1, WAIT, 2, 0xB, TAKEN, 20), Wait(2, OTHER, 1, 0xA, TAKEN, 10))


def places(steps):
    return [(step.thread, step.point) for step in steps]


def test_a_cycle_is_told_by_who_took_what_then_who_waits():
    steps = stuck_steps(Stuck(graph(), CYCLE), TABLE.point)
    assert places(steps) == [(1, TAKEN), (2, TAKEN), (1, WAIT), (2, OTHER)]
    assert [step.object for step in steps] == [0xA, 0xB, 0xB, 0xA]


def test_a_lock_taken_at_the_first_point_of_all_is_a_step():
    table = Table(at(4, Op.ACQUIRE), at(3, Op.WAIT), at(5, Op.WAIT), at(6, Op.ACQUIRE))
    cycle = (Wait(1, 1, 2, 0xB, 3, 20), Wait(2, 2, 1, 0xA, 0, 10))
    assert places(stuck_steps(Stuck(graph(), cycle), table.point)) == [
        (1, 0),
        (2, 3),
        (1, 1),
        (2, 2),
    ]


def test_a_thread_that_is_joined_took_nothing():
    table = Table(Point(UNKNOWN_SITE, Op.READ), at(3, Op.WAIT), at(5, Op.JOIN), at(6, Op.ACQUIRE))
    cycle = (Wait(1, 1, 2, 0xB, 3, 20), Wait(2, 2, 1, 0xA, 0, 10))
    assert places(stuck_steps(Stuck(graph(), cycle), table.point)) == [(2, 3), (1, 1), (2, 2)]


def test_a_lock_held_by_who_waits_is_a_step_before_both_waits():
    waits = (Wait(1, WAIT, -1, 0xC), Wait(2, OTHER, 1, 0xA, TAKEN, 10))
    steps = stuck_steps(Stuck(graph(), waits), TABLE.point)
    assert places(steps) == [(1, TAKEN), (1, WAIT), (2, OTHER)]
    assert [step.object for step in steps] == [0xA, 0xC, 0xA]


def test_who_joins_a_thread_that_waits_is_kept_by_no_lock():
    table = Table(at(3, Op.WAIT), at(5, Op.JOIN), Point(UNKNOWN_SITE, Op.READ))
    waits = (Wait(1, 0, -1, 0xC), Wait(0, 1, 1, 0xA, 2))
    assert places(stuck_steps(Stuck(graph(), waits), table.point)) == [(1, 0)]


def test_a_lost_wake_up_is_told_from_the_stale_read_on():
    edges = graph(((READ, 1, 10), (WRITE, 2, 20)), ((READ, 2, 5), (WRITE, 1, 6)))
    steps = stuck_steps(Stuck(edges, (Wait(1, WAIT, -1, 0xC),)), TABLE.point)
    assert places(steps) == [(1, READ), (2, WRITE), (1, WAIT)]


def test_a_lock_that_nobody_will_release_comes_with_what_its_taker_changed():
    """The taker is gone: it is none of those that wait."""
    stale = ((READ, 1, 10), (WRITE, 2, 40)), ((READ, 1, 12), (WRITE, 2, 20))
    waits = (Wait(0, WAIT, 1, 0xE), Wait(1, OTHER, 2, 0xA, TAKEN, 30))
    table = Table(
        *(TABLE.point(at) for at in (READ, WRITE)), at(3, Op.JOIN), *map(TABLE.point, (3, 4))
    )
    steps = stuck_steps(Stuck(graph(*stale), waits), table.point)
    assert places(steps) == [(1, READ), (2, TAKEN), (2, WRITE), (1, OTHER)]


def test_what_the_waiter_changed_and_the_taker_saw_is_the_second_choice():
    waits = (Wait(1, OTHER, 2, 0xA, TAKEN, 30), Wait(3, OTHER, 2, 0xA, TAKEN, 30))
    steps = stuck_steps(Stuck(graph(((WRITE, 3, 35), (READ, 2, 40))), waits), TABLE.point)
    assert places(steps) == [(2, TAKEN), (3, WRITE), (2, READ), (3, OTHER)]


def test_a_worker_that_waits_for_work_is_not_why_nobody_goes_on():
    """Neither in code that is not the target's, nor in its own."""
    table = Table(at(3, Op.WAIT), at(5, Op.JOIN), Point(UNKNOWN_SITE, Op.WAIT), at(7, Op.WAIT))
    joins, stuck, pooled, idle = (
        Wait(0, 1, 1, 0xA),
        Wait(1, 0, -1, 0xC),
        Wait(2, 2, -1, 0xD),
        Wait(3, 3, -1, 0xE),
    )
    assert places(stuck_steps(Stuck(graph(), (joins, stuck, pooled, idle)), table.point)) == [
        (1, 0)
    ]
    assert stuck_steps(Stuck(graph(), (pooled,)), table.point) == []


def test_who_waits_for_the_result_of_a_thread_that_missed_its_signal_is_no_step():
    table = Table(*(TABLE.point(at) for at in range(3)), at(9, Op.WAIT))
    waits = (Wait(0, 3, -1, 0xD), Wait(1, WAIT, -1, 0xC))
    stale = graph(((READ, 1, 10), (WRITE, 2, 20)))
    expected = [(1, READ), (2, WRITE), (1, WAIT)]
    assert places(stuck_steps(Stuck(stale, waits), table.point)) == expected


def test_what_most_passing_runs_have_says_nothing_about_a_wait():
    old, new = ((READ, 1, 10), (WRITE, 2, 20)), ((READ, 1, 5), (OTHER_WRITE, 2, 6))
    table = Table(*(TABLE.point(at) for at in range(5)), at(6, Op.WRITE, "done"))
    end = Stuck(graph(new, old), (Wait(1, WAIT, -1, 0xC),))
    common = common_edges([graph(old), graph(old, new), graph(old), graph()])
    assert common == {(READ, WRITE)}
    steps = stuck_steps(end, table.point, common)
    assert places(steps) == [(1, READ), (2, OTHER_WRITE), (1, WAIT)]
    both = {(READ, WRITE), (READ, OTHER_WRITE)}
    bare = stuck_answer([end], table.point, "joined", 4, common=both)
    assert bare.is_bare
    assert not stuck_answer([end], table.point, "joined", 4, common=common).is_bare


def test_a_run_that_waits_for_nothing_is_not_stuck():
    assert stuck_steps(Stuck(graph(), ()), TABLE.point) == []
    assert stuck_answer([Stuck(graph(), ())], TABLE.point, "joined", 3) is None


def test_runs_that_got_stuck_elsewhere_are_not_of_the_answer():
    other = (Wait(1, OTHER, 2, 0xB, TAKEN, 20), Wait(2, WAIT, 1, 0xA, TAKEN, 10))
    ends = [Stuck(graph(), waits) for waits in (CYCLE, other, CYCLE)]
    answer = stuck_answer(ends, TABLE.point, "joined", 3)
    assert answer.runs == (0, 2) and answer.is_stuck and answer.score == 4.0
    assert [line.role for line in answer.lines] == [1, 2, 1, 2]
    assert answer.passing == 0
    assert answer.threads[2] == {0: 1, 1: 2}
    assert stuck_answer(ends, TABLE.point, "joined", 3, 2).passing == 2


def test_the_way_of_most_runs_is_the_answer():
    other = (Wait(1, OTHER, 2, 0xB, TAKEN, 20), Wait(2, WAIT, 1, 0xA, TAKEN, 10))
    ends = [Stuck(graph(), waits) for waits in ((), other, CYCLE, CYCLE)]
    assert stuck_answer(ends, TABLE.point, "joined", 3).runs == (2, 3)


def test_what_passing_runs_have_too_is_told_if_it_came_between_the_last_look_and_the_wait():
    """A stop flag: whoever is woken up by it has looked at it before, as the one who is not."""
    wait = (Wait(1, WAIT, -1, 0xC),)
    looked, written = CellAccess(1, 30, READ, 7), CellAccess(2, 31, WRITE, 7)
    earlier = CellAccess(1, 10, READ, 7), CellAccess(2, 11, WRITE, 7)
    steps = stuck_steps(Stuck(graph(), wait, (*earlier, looked, written)), TABLE.point)
    assert places(steps) == [(1, READ), (2, WRITE), (1, WAIT)]
    # It had looked again since: then it knew.
    steps = stuck_steps(Stuck(graph(), wait, (*earlier, looked)), TABLE.point)
    assert places(steps) == [(1, WAIT)]
    # A look of somebody else, or at something else, says nothing.
    for one in (looked._replace(thread=3), looked._replace(cell=8)):
        steps = stuck_steps(Stuck(graph(), wait, (one, written)), TABLE.point)
        assert places(steps) == [(1, WAIT)]
