# SPDX-License-Identifier: Apache-2.0
import itertools
import random
from types import SimpleNamespace

import pytest

from unsnarl.campaigns.campaign import Campaign
from unsnarl.campaigns.lessons import LEAST_AHEAD, MOST_AHEAD, InOrder, Lesson, Lessons, last_taught
from unsnarl.campaigns.neighbours import Neighbours
from unsnarl.campaigns.rotation import Rotation
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import HUNT, Tally
from unsnarl.config import Settings
from unsnarl.execution.labels import Judgement
from unsnarl.execution.pace import RunPace
from unsnarl.execution.result import Result
from unsnarl.execution.server import Done
from unsnarl.model.plan import Plan

RUNS = 400


def result(number: int, label: str = "pass") -> Result:
    return Result(
        Plan(strategy="pos", seed=0, number=number, switch="gil"), Done(number), Judgement(label)
    )


def simulated(jobs: int, chance: random.Random) -> list[tuple[int, list[int]]]:
    """What each plan could depend on, of runs that end in any order, so many at once."""
    order, flying, taken, taught = InOrder(), [], [], []
    number = 1
    while number <= RUNS:
        while len(flying) < jobs and order.may_plan(number):
            taught.append((number, [one for one in taken if one <= last_taught(number)]))
            order.submitted(number)
            flying.append(number)
            number += 1
        ended = [flying.pop(chance.randrange(len(flying)))]
        taken += [one.plan.number for one in order.take(map(result, ended))]
    return taught[:RUNS]


@pytest.mark.parametrize("jobs", [2, 4, 7, 50])
def test_what_a_plan_depends_on_does_not_depend_on_which_run_ends_first(jobs):
    alone = simulated(1, random.Random(0))
    assert all(simulated(jobs, random.Random(seed)) == alone for seed in range(5))
    # Every plan depends on all runs up to the last that may teach it.
    assert all(before == list(range(1, last_taught(number) + 1)) for number, before in alone)


def test_first_runs_teach_soon_and_many_can_be_made_at_once_later():
    ahead = [number - last_taught(number) for number in range(1, RUNS)]
    assert ahead[:3] == [1, 1, LEAST_AHEAD]  # the second waits for the first
    assert ahead[-1] == MOST_AHEAD
    assert all(0 <= later - earlier <= 1 for earlier, later in itertools.pairwise(ahead))


def test_dropped_runs_do_not_come_back():
    order = InOrder()
    for number in (1, 2, 3):
        order.submitted(number)
    assert not list(order.take([result(2)]))
    order.drop()
    order.submitted(40)
    assert [one.plan.number for one in order.take([result(1), result(40)])] == [40]


def test_a_run_counts_when_a_plan_may_depend_on_it_and_not_before():
    lessons = Lessons(Tally(5, 5, 0), Rotation(0), Neighbours(0))
    for number in (1, 2, 3):
        lessons.add(Lesson(result(number, "fail").record(number), HUNT))
    lessons.teach(2 + LEAST_AHEAD)
    assert lessons.tally.labels == {"fail": 2}
    lessons.teach(3 + LEAST_AHEAD)
    assert lessons.tally.first_failing == result(1, "fail").record(1)
    assert lessons.tally.total == 3


@pytest.mark.parametrize("reads_output", [False, True])
def test_only_the_first_failures_are_printed_unless_the_output_decides(tmp_path, reads_output):
    store = Store.create(tmp_path, ("a.py",), tmp_path, tmp_path, options={}, python="3.11.7")
    campaign = Campaign(store, None, Settings())
    runner = SimpleNamespace(pace=RunPace(), reads_output=reads_output)
    assert not campaign._fields(1, "gil", runner)["brief"]
    campaign._lessons.tally.count(result(1, "fail").record(1), HUNT)
    assert campaign._fields(2, "gil", runner)["brief"] is not reads_output
