# SPDX-License-Identifier: Apache-2.0
"""Arms that end where their rest could not change the verdict, and group testing over findings."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsnarl.execution.budget import OutOfTimeError
from unsnarl.execution.symptom import Symptom
from unsnarl.experiments.arms import (
    ENOUGH,
    FEW,
    RUNS,
    Series,
    half_decides,
    has_failed,
    never,
)
from unsnarl.experiments.halving import suspects
from unsnarl.experiments.rules import apart
from unsnarl.experiments.verdict import concluded, judge
from unsnarl.model.plan import Match, Rule

OUTCOMES = st.lists(st.booleans(), min_size=1, max_size=RUNS)
# Rates as arms have them: never, always, and anything between.
RATES = st.sampled_from((0.0, 0.05, 0.3, 0.5, 0.7, 0.95, 1.0))


class FakeTrials:
    """A plan is its own trial: whether it fails, and whether its rules are kept."""

    def __init__(self):
        self.made = 0

    def run(self, plans, until):
        ended = []
        for plan in plans:
            self.made += 1
            ended.append(plan)
            if until(ended):
                break
        return ended


def trial(fails, label="fail", kept=True):
    effect = SimpleNamespace(satisfied=kept, released=0)
    run = SimpleNamespace(rules=(effect,))
    return SimpleNamespace(label=label if fails else "pass", run=run, fails_as=lambda _: fails)


def series(outcomes, trials=None, **fields):
    return Series(
        trials or FakeTrials(), Symptom("boom"), [trial(one, **fields) for one in outcomes]
    )


def whole(outcomes, **fields):
    return series(outcomes, **fields).until(never)


def drawn(draw, rate, size):
    return [draw.draw(st.floats(0, 1, exclude_max=True)) < rate for _ in range(size)]


@given(st.data(), st.tuples(RATES, RATES, RATES), st.integers(1, RUNS), st.booleans())
def test_short_arms_give_the_status_of_whole_ones(data, rates, size, kept):
    sizes = (RUNS, size, size)
    forced, forbidden, control = map(drawn, [data] * 3, rates, sizes)
    expected = judge(whole(forced, kept=kept), whole(forbidden), whole(control))
    verdict = concluded(
        series(forced, kept=kept),
        series(forbidden),
        lambda: (arm := series(control)).until(half_decides(arm.size)),
    )
    assert verdict.status == expected.status


def test_a_confirmed_finding_takes_two_thirds_of_the_trials():
    trials = FakeTrials()
    forced, forbidden, control = (
        series(outcomes, trials) for outcomes in ([True] * RUNS, [False] * RUNS, [True] * RUNS)
    )
    verdict = concluded(forced, forbidden, lambda: control.until(half_decides(RUNS)))
    assert verdict.status == "confirmed"
    assert trials.made == RUNS + RUNS // 2 + RUNS // 2


def test_a_finding_without_which_runs_fail_takes_two():
    trials = FakeTrials()
    always = [True] * RUNS
    verdict = concluded(series(always, trials), series(always, trials), lambda: None)
    assert (verdict.status, trials.made) == ("inconclusive", 2)


def test_an_arm_goes_on_with_what_was_begun():
    trials = FakeTrials()
    begun = [trial(True)] * 3
    arm = Series(trials, Symptom("boom"), [trial(True)] * RUNS, begun).until(half_decides(RUNS))
    assert (arm.fail, arm.runs, trials.made) == (10, 10, 7)


def test_if_the_first_few_hang_the_others_are_not_made():
    arm = series([True] * RUNS, label="hang").until(never)
    assert arm.runs == FEW


@given(OUTCOMES)
def test_what_is_clear_takes_no_more_trials(outcomes):
    trials = FakeTrials()
    one = series(outcomes, trials)
    first = one.until(has_failed)
    made = trials.made
    assert one.until(has_failed) == first and trials.made == made


def test_an_arm_is_made_longer_by_more_plans_and_keeps_its_trials():
    trials = FakeTrials()
    one = series([False] * 2, trials)
    one.until(has_failed)
    more = one.longer([trial(False), trial(True), trial(False)])
    assert more.until(has_failed).runs == trials.made == 4
    assert (one.size, more.size) == (2, 5)


def test_plans_of_an_arm_have_rules_in_common_or_none():
    def arm_of(*points):
        plans = [SimpleNamespace(rules=(Rule(hold=Match((point,))),)) for point in points]
        return Series(FakeTrials(), Symptom("boom"), plans)

    assert arm_of(1, 1).rules == (Rule(hold=Match((1,))),)
    assert arm_of(1, 2).rules is None


class ShortOfTime(FakeTrials):
    """So many trials, and the time is over."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def run(self, plans, until):
        def made(ended):
            if until(ended):
                return True
            if self.made >= self.most:
                raise OutOfTimeError
            return False

        return super().run(plans, made)


def test_an_arm_without_time_counts_as_far_as_it_went():
    one = series([False] * RUNS, ShortOfTime(ENOUGH))
    assert one.until(has_failed, least=ENOUGH).runs == ENOUGH
    assert one.until(has_failed).runs == ENOUGH, "it is over: nobody goes on with it"


def test_an_arm_of_too_few_trials_says_nothing():
    with pytest.raises(OutOfTimeError):
        series([False] * RUNS, ShortOfTime(ENOUGH - 1)).until(has_failed, least=ENOUGH)
    with pytest.raises(OutOfTimeError):
        series([False] * RUNS, ShortOfTime(RUNS - 1)).until(has_failed)


def searched(count, cause):
    """The suspects of so many findings, and how many group tests it took up to the cause."""
    tests = []

    def are_excluded(group):
        tests.append(tuple(group))
        return cause not in group

    found = []
    for one in suspects(range(count), are_excluded):
        found.append(one)
        if one == cause:
            break
    return found, tests


def test_the_cause_is_found_in_a_logarithm_of_tests():
    for cause in range(16):
        found, tests = searched(16, cause)
        assert found == [cause]
        assert len(tests) <= 5


def test_one_test_excludes_all():
    found, tests = searched(16, None)
    assert (found, len(tests)) == ([], 1)


def test_where_nothing_is_clear_all_are_suspects_in_their_order():
    assert list(suspects("abcde", lambda group: False)) == list("abcde")


@given(st.sets(st.integers(0, 30)), st.integers(1, 31))
def test_none_of_several_causes_is_left_out(causes, count):
    causes = {one for one in causes if one < count}
    found = list(suspects(range(count), lambda group: not causes.intersection(group)))
    assert found == sorted(found) and causes <= set(found)


def test_the_regions_of_several_answers_have_locks_of_their_own():
    region = Rule(when=Match((1,)), until=Match((2,), who="self"), exclusive=1)
    order = Rule(hold=Match((3,)), until=Match((4,)))
    rules = apart([[region, region], [order], [region]])
    assert [rule.exclusive for rule in rules] == [1, 1, None, 3]


def test_a_trial_that_is_left_out_takes_its_plan_along():
    arm = series([False, False, True, False])
    arm.until(has_failed)
    rest = arm.without_latest()
    assert (rest.size, rest.left_out, rest.arm.runs) == (3, 1, 2)
    assert rest.until(has_failed).fail == 0
    assert rest.arm.runs == 3
    assert rest.longer([trial(False)]).left_out == 1
