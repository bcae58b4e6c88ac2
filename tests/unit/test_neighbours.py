# SPDX-License-Identifier: Apache-2.0
import random
from collections import Counter

import pytest

from unsnarl.campaigns.neighbours import LEAST_RUNS, NEAR, SHARE, Neighbours, changed
from unsnarl.model.run import RunRecord
from unsnarl.model.schedule import Segment

SCHEDULE = tuple(Segment(f"0.{at % 3}", 10 * at + 10, at) for at in range(30))


def record(number, label="pass", strategy="pos", signature="E"):
    signature = "" if label == "pass" else signature
    return RunRecord(number, label, signature, strategy, number + 7, "gil", 0, 0, 0.1, 3, 3)


def taught(failing, passing, strategy="pos"):
    neighbours = Neighbours(1)
    for number in range(failing):
        neighbours.learn(record(number, "fail", strategy), SCHEDULE)
    for number in range(failing, failing + passing):
        neighbours.learn(record(number), ())
    return neighbours


def plans(neighbours, count=400, switch="gil"):
    return [plan for at in range(count) if (plan := neighbours.plan(at, switch=switch))]


def test_a_changed_schedule_has_the_same_segments_but_a_few():
    for seed in range(100):
        found = changed(SCHEDULE, random.Random(seed))
        assert found != SCHEDULE
        assert not Counter(found) - Counter(SCHEDULE)
        assert len(SCHEDULE) - len(found) <= 6
        assert found[0] == SCHEDULE[0]


@pytest.mark.parametrize("length", [0, 1, 2])
def test_a_short_schedule_stays_as_it_is(length):
    assert changed(SCHEDULE[:length], random.Random(0)) == SCHEDULE[:length]


def test_where_failures_are_rare_part_of_the_runs_follow_one_that_failed():
    found = plans(taught(failing=2, passing=98))
    assert abs(len(found) / 400 - SHARE) < 0.1
    assert {plan.seed for plan in found} == {7, 8}
    assert {plan.strategy for plan in found} == {NEAR}


@pytest.mark.parametrize(("failing", "passing"), [(0, 100), (30, 70), (1, LEAST_RUNS - 2)])
def test_nothing_is_near_where_nothing_failed_or_much_or_little_is_known(failing, passing):
    assert not plans(taught(failing, passing))


def test_runs_near_others_neither_count_nor_have_neighbours():
    neighbours = taught(failing=2, passing=98)
    for number in range(200, 300):
        neighbours.learn(record(number, "fail", NEAR), SCHEDULE[:5])
    assert {plan.seed for plan in plans(neighbours)} == {7, 8}


def test_a_run_is_near_one_of_its_own_mode():
    assert not plans(taught(failing=2, passing=98), switch="free")


def test_the_most_frequent_failure_is_followed():
    neighbours = taught(failing=2, passing=98)
    neighbours.learn(record(300, "fail", signature="other"), SCHEDULE)
    assert {plan.seed for plan in plans(neighbours)} == {7, 8}
    assert [plan.number for plan in plans(neighbours)] == [p.number for p in plans(neighbours)]
