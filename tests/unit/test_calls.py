# SPDX-License-Identifier: Apache-2.0
"""Calls that get into each other's way by the state that they keep in one object."""

import pytest
from tests.unit.test_experiments import timeline

from unsnarl.experiments.calls import apart_as_calls, interfering_calls, taken_over
from unsnarl.model.event import Op
from unsnarl.placement.code_context import Span
from unsnarl.placement.line_points import NOWHERE, LinePoints

STATE, OTHER, RESULT = 1, 2, 3
SET, STEP, USED, RESET, READ_BACK, STORED = 11, 12, 15, 13, 16, 40
CALL = (10, 20)


def line(site, op, role):
    point = (site << 4 | op,)
    return LinePoints(point, point, role, CALL)


LINES = [line(SET, Op.WRITE, 1), line(SET, Op.WRITE, 2), line(USED, Op.READ, 1)]
TAKEN_OVER = (1, Op.WRITE, SET, STATE), (2, Op.WRITE, SET, STATE), (1, Op.READ, USED, STATE)
STORES = (1, Op.WRITE, STORED, RESULT), (2, Op.WRITE, STORED, RESULT)


def calls_into(*events, lines=LINES, code=CALL):
    def calls_of(first, _):
        return [(Span(code, "scanner.py", "scan", 1, 2), first)]

    return interfering_calls(timeline(*events), {STORED}, lines, calls_of)


def test_a_call_reads_what_another_one_wrote_over_its_own():
    ((span, begins),) = calls_into(*TAKEN_OVER, *STORES)
    assert (span.code, begins.site) == (CALL, SET)


def test_calls_that_are_all_that_their_threads_share_are_left_alone():
    assert not calls_into(*TAKEN_OVER)
    assert not calls_into(*TAKEN_OVER, STORES[0])


def test_the_call_must_be_known():
    assert not calls_into(*TAKEN_OVER, *STORES, code=NOWHERE)


@pytest.mark.parametrize(
    ("first", "last"),
    [(Op.READ, Op.WRITE), (Op.READ, Op.READ), (Op.WRITE, Op.WRITE)],
    ids=["counter", "checked twice", "lost update"],
)
def test_what_is_not_read_back_is_no_state_of_a_call(first, last):
    events = (1, first, SET, STATE), (2, Op.WRITE, SET, STATE), (1, last, USED, STATE)
    lines = [line(SET, first, 1), LINES[1], line(USED, last, 1)]
    assert not calls_into(*events, *STORES, lines=lines)


def others(*events):
    found = taken_over(timeline(*events), CALL, LINES)
    return [[event.site for event in one] for one in found]


def test_other_state_of_the_same_calls_is_found():
    again = (1, Op.WRITE, RESET, OTHER), (2, Op.WRITE, RESET, OTHER), (1, Op.READ, READ_BACK, OTHER)
    assert others(*TAKEN_OVER, *again) == [[RESET, RESET, READ_BACK]]


def test_the_finding_itself_and_what_is_read_by_its_writer_are_not():
    own = (1, Op.WRITE, RESET, OTHER), (2, Op.WRITE, RESET, OTHER), (2, Op.READ, READ_BACK, OTHER)
    assert not others(*TAKEN_OVER)
    assert not others(*TAKEN_OVER, *own)


def test_what_threads_do_before_they_come_to_the_call_does_not_count():
    outside = (1, Op.WRITE, 50, OTHER), (2, Op.WRITE, 51, OTHER), (1, Op.READ, 52, OTHER)
    assert not others(*outside, *TAKEN_OVER)


def test_no_two_threads_are_in_the_function():
    (rule,) = apart_as_calls(LINES[0], CALL)
    assert (rule.when.points, rule.until, rule.leave) == (LINES[0].points, None, CALL)
    assert rule.exclusive is not None
