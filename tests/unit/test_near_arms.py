# SPDX-License-Identifier: Apache-2.0
"""Both arms near one failing run, where the order alone does not bring the failure."""

from types import SimpleNamespace

from unsnarl.execution.budget import Budget
from unsnarl.execution.symptom import Symptom
from unsnarl.experiments.arms import ENOUGH, RUNS, Series
from unsnarl.experiments.confirm import Experimenter
from unsnarl.model.plan import Match, Plan, Rule
from unsnarl.model.schedule import Segment

SCHEDULE = tuple(Segment(f"0.{at % 2}", at, at) for at in range(40))
FORCE, FORBID = Rule(hold=Match((1,))), Rule(exclusive=1)
ORDER = [SimpleNamespace(rule=FORCE)]


class FakeTrials:
    """Runs in which the order is forced fail; with it forbidden some do, if `leaks`."""

    def __init__(self, forced=True, leaks=False):
        self.budget = Budget()
        self.forced = forced
        self.leaks = leaks
        self.made = []

    def run(self, plans, until):
        ended = []
        for plan in plans:
            self.made.append(plan)
            fails = self.forced if FORCE in plan.rules else self.leaks
            run = SimpleNamespace(rules=(SimpleNamespace(satisfied=1, released=0),))
            label = "fail" if fails else "pass"
            ended.append(SimpleNamespace(label=label, run=run, fails_as=lambda _, f=fails: f))
            if until(ended):
                break
        return ended


def near(trials):
    run = SimpleNamespace(schedule=SCHEDULE)
    compared = SimpleNamespace(
        runs=(run,), records=(SimpleNamespace(seed=5),), signature="boom", symptom=Symptom("boom")
    )
    experimenter = Experimenter(trials, compared, None)
    traced = SimpleNamespace()
    experimenter.traces[0] = traced
    forbidden = [Plan(strategy="replay", seed=5, schedule=SCHEDULE, rules=(FORBID,))] * ENOUGH
    arms = [Series(trials, compared.symptom, plans) for plans in ([], forbidden)]
    return arms, experimenter._near(traced, ORDER, *arms)


def test_an_order_that_brings_the_failure_there_is_forbidden_in_the_same_runs():
    trials = FakeTrials()
    _, (forcing, forbidding) = near(trials)
    assert forcing.arm.fail == forcing.arm.runs >= RUNS / 2
    assert forbidding.arm.runs == 2 * ENOUGH and not forbidding.arm.fail
    forced = [plan.schedule for plan in trials.made if FORCE in plan.rules]
    forbidden = [plan.schedule for plan in trials.made if plan.schedule != SCHEDULE]
    assert SCHEDULE not in forced
    assert forbidden[len(forced) :] == forced[:ENOUGH]


def test_a_run_near_the_failing_one_that_fails_without_the_order_counts():
    _, (_, forbidding) = near(FakeTrials(leaks=True))
    assert forbidding.arm.fail


def test_an_order_that_does_not_leaves_the_arms_as_they_were():
    arms, after = near(FakeTrials(forced=False))
    assert list(after) == arms
