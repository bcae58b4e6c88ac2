# SPDX-License-Identifier: Apache-2.0
"""What the judge forgives: the order of a deadlock's last waits, and the mark of the failure."""

import itertools

import pytest
from evaluation.truth import Cause, TruePoint, judge

from unsnarl.model.report import FindingPoint

STEPS = [("first", "acquire", 1), ("first", "acquire", 2), ("next", "wait", 1), ("next", "wait", 2)]
CAUSE = Cause("deadlock", tuple(TruePoint("a.py", "f", *step) for step in STEPS))


def told(*order: int) -> list[FindingPoint]:
    points = []
    for time, place in enumerate(order):
        text, op, role = STEPS[place]
        points.append(
            FindingPoint("a.py", 1, "f", "0.1", role, op, "", "body", 1.0, text=text, time=time)
        )
    return points


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_only_the_waits_may_change_places(order, tmp_path):
    # the two acquires differ in their threads alone, and the roles may be named the other way
    waits_last = set(order[2:]) == {2, 3}
    assert judge(CAUSE, told(*order), tmp_path).matches == waits_last


def test_the_mark_of_the_failure_is_no_point(tmp_path):
    failure = FindingPoint("a.py", 2, "f", "0.1", 1, "fail", "", "suffix", 1.0, text="raise")
    verdict = judge(CAUSE, [*told(0, 1, 3, 2), failure], tmp_path)
    assert verdict.matches and verdict.points == verdict.needed == 4
