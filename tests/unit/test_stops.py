# SPDX-License-Identifier: Apache-2.0
"""What must not happen so that a wait ends."""

from tests.unit.test_experiments import timeline
from tests.unit.traces import run_of

from unsnarl.experiments.rules import forbidding
from unsnarl.experiments.stops import taken_last, with_steps_before
from unsnarl.model.event import Op
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.timeline import Timeline

LOCK, SIGNAL, THREAD, FLAG = 100, 200, 300, 400
TAKES, JOINS, WAITS, POLLS, EARLIER, CHANGES = 10, 11, 20, 30, 40, 50


def line(site, op, role):
    point = (site << 4 | op,)
    return LinePoints(point, point, role)


HELD = [line(TAKES, Op.ACQUIRE, 1), line(JOINS, Op.JOIN, 1), line(WAITS, Op.ACQUIRE, 2)]
END = (1, Op.ACQUIRE, TAKES, LOCK), (1, Op.JOIN, JOINS, THREAD), (2, Op.ACQUIRE, WAITS, LOCK)


def steps_before(*events, lines=HELD):
    found = with_steps_before(timeline(*events), lines, lambda event: event.site)
    return [[(one.site, one.op) for one in events] for events in found]


def test_the_step_before_the_wait_is_the_last_line_on_which_its_thread_was():
    polled = (2, Op.READ, POLLS, 2), (2, Op.ACQUIRE, POLLS, SIGNAL), (2, Op.RELEASE, POLLS, SIGNAL)
    (found,) = steps_before((2, Op.READ, EARLIER, 1), *polled, *END)
    assert found == [
        (POLLS, Op.ACQUIRE),
        (TAKES, Op.ACQUIRE),
        (JOINS, Op.JOIN),
        (WAITS, Op.ACQUIRE),
    ]


def test_a_check_further_back_is_of_what_the_taker_changes_and_its_region_ends_before_it_waits():
    checked = (2, Op.READ, EARLIER, FLAG), (2, Op.READ, POLLS, 2)
    taken, *waits = END
    step, check = steps_before(*checked, taken, (1, Op.WRITE, CHANGES, FLAG), *waits)
    region = [(TAKES, Op.ACQUIRE), (CHANGES, Op.WRITE), (WAITS, Op.ACQUIRE)]
    assert step == [(POLLS, Op.READ), *region]
    assert check == [(EARLIER, Op.READ), *region]


def test_what_was_read_after_the_change_is_no_check():
    read = (2, Op.READ, EARLIER, FLAG), (2, Op.READ, POLLS, 2)
    taken, *waits = END
    found = steps_before(taken, (1, Op.WRITE, CHANGES, FLAG), *read, *waits)
    assert [begin for begin, *_ in found] == [(POLLS, Op.READ)]


def test_a_thread_that_did_nothing_before_has_no_such_step():
    assert not steps_before(*END)


def test_two_locks_in_opposite_order_are_no_lock_held_while_waiting():
    crossed = [HELD[0], line(WAITS, Op.ACQUIRE, 2), line(JOINS, Op.ACQUIRE, 1)]
    assert not steps_before((2, Op.READ, EARLIER, 1), *END, lines=crossed)


def test_neither_may_the_lock_be_taken_after_that_step_nor_the_step_before_the_join():
    lines = [line(POLLS, Op.ACQUIRE, 1), line(TAKES, Op.ACQUIRE, 2)]
    rules = forbidding([*lines, line(JOINS, Op.JOIN, 2), line(WAITS, Op.ACQUIRE, 1)])
    regions = [(rule.when.points[0] >> 4, rule.until.points[0] >> 4) for rule in rules]
    assert regions == [(POLLS, WAITS), (TAKES, JOINS)]


def test_where_even_the_first_one_waits_for_the_lock_nobody_comes_last():
    """A barrier that is used again: who is to have come first has come, but not on this line."""
    lines = [line(TAKES, Op.ACQUIRE, 1), line(WAITS, Op.ACQUIRE, 2)]
    taken, waits = (1, Op.ACQUIRE, TAKES, LOCK), (2, WAITS, SIGNAL)
    assert taken_last(Timeline(run_of(taken, waiting=[waits])), lines)
    waiting = [(1, TAKES, LOCK), waits]
    assert taken_last(Timeline(run_of(waiting=waiting)), lines) == []
