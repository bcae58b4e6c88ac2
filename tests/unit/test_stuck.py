# SPDX-License-Identifier: Apache-2.0
"""Runs in which nobody could go on, as answers."""

from tests.unit.test_reports_build import Table, at, graph

from unsnarl.analyses.stuck import Stuck, stuck_answer, stuck_steps
from unsnarl.model.run import Wait
from unsnarl.model.site import Op

READ, WRITE, WAIT, TAKEN, OTHER = range(5)
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


def test_a_lost_wake_up_is_told_from_the_stale_read_on():
    edges = graph(((READ, 1, 10), (WRITE, 2, 20)), ((READ, 2, 5), (WRITE, 1, 6)))
    steps = stuck_steps(Stuck(edges, (Wait(1, WAIT, -1, 0xC),)), TABLE.point)
    assert places(steps) == [(1, READ), (2, WRITE), (1, WAIT)]


def test_a_run_that_waits_for_nothing_is_not_stuck():
    assert stuck_steps(Stuck(graph(), ()), TABLE.point) == []
    assert stuck_answer([Stuck(graph(), ())], TABLE.point, "joined", 3) is None


def test_runs_that_got_stuck_elsewhere_are_not_of_the_answer():
    other = (Wait(1, OTHER, 2, 0xB, TAKEN, 20), Wait(2, WAIT, 1, 0xA, TAKEN, 10))
    ends = [Stuck(graph(), waits) for waits in (CYCLE, other, CYCLE)]
    answer = stuck_answer(ends, TABLE.point, "joined", 3)
    assert answer.runs == (0, 2) and answer.is_stuck and answer.score == 4.0
    assert [line.role for line in answer.lines] == [1, 2, 1, 2]
    assert answer.threads[2] == {0: 1, 1: 2}
