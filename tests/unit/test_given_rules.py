# SPDX-License-Identifier: Apache-2.0
"""Rules that hold in every trial of an experiment about something else."""

from types import SimpleNamespace

from unsnarl.execution.trials import Trials
from unsnarl.experiments.rules import apart
from unsnarl.model.plan import Match, Plan, Rule

OWN = Rule(hold=Match((1,)), until=Match((2,)))
REGION = Rule(when=Match((3,)), until=Match((4,), who="self"), exclusive=1)


class FakeRunner:
    """Every rule of a plan has an effect: itself."""

    reads_output = False
    pace = SimpleNamespace(for_trial=lambda seconds: seconds)

    def __init__(self):
        self.plans = []

    def run(self, plans, check):
        for plan in plans:
            self.plans.append(plan)
            yield SimpleNamespace(plan=plan, run=SimpleNamespace(rules=plan.rules))


def test_given_rules_come_last_and_are_left_out_of_what_is_asked(tmp_path):
    runner = FakeRunner()
    given = apart([[REGION]], first=32)
    trials = Trials(runner, tmp_path, "gil", 1.0).under(given)
    (trial,) = trials.run([Plan(strategy="walk", seed=1, rules=(OWN,))])
    assert runner.plans[0].rules == (OWN, *given)
    assert trial.run.rules == (OWN,)


def test_without_given_rules_a_plan_is_run_as_it_is(tmp_path):
    runner = FakeRunner()
    (trial,) = Trials(runner, tmp_path, "gil", 1.0).run(
        [Plan(strategy="walk", seed=1, rules=(OWN,))]
    )
    assert runner.plans[0].rules == trial.run.rules == (OWN,)


def test_locks_of_what_is_given_have_numbers_of_their_own():
    assert [rule.exclusive for rule in apart([[REGION], [OWN, REGION]], first=32)] == [32, None, 33]
