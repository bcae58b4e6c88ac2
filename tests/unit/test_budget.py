# SPDX-License-Identifier: Apache-2.0
"""The budget of a command, on a clock that only moves when somebody works."""

from __future__ import annotations

import time
from functools import partial

import pytest

from unsnarl.errors import ToolError
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.execution.pace import FEWEST, RunPace
from unsnarl.workflows.campaign_report import share_of
from unsnarl.workflows.unfinished import unfinished_notices

NONE: list[str] = []


class Clock:
    """A clock, and work that takes time on it."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def work(self, budget: Budget, runs: int, seconds: float = 1.0) -> int:
        """So many runs, if there is time for them; like everybody who makes runs, it asks first."""
        for _ in range(runs):
            budget.check()
            self.now += seconds
            budget.count_trial()
        return runs


@pytest.fixture
def clock():
    return Clock()


def test_parts_share_what_is_left_and_give_on_what_they_do_not_use(clock):
    budget = Budget(20.0, clock=clock)
    assert budget.part("confirm", "one", lambda: clock.work(budget, 4), 0, share=0.5) == 4
    assert budget.left == 16.0  # six of its ten seconds are given on
    assert budget.part("minimise", "two", lambda: clock.work(budget, 9), 0, share=0.5) == 0
    assert budget.left == 8.0
    assert budget.part("fix", "three", lambda: clock.work(budget, 8), 0) == 8
    assert budget.part("capture", "four", lambda: clock.work(budget, 1), 0) == 0
    cut = [(one.phase, one.what, one.why) for one in budget.unfinished]
    assert cut == [("minimise", "two", "time"), ("capture", "four", "time")]
    assert budget.spent == 20.0
    assert budget.phases == {"confirm": 4.0, "minimise": 8.0, "fix": 8.0}


def test_all_is_over_at_most_one_run_after_the_limit(clock):
    budget = Budget(10.0, clock=clock)
    for _ in range(20):
        budget.part("confirm", "x", lambda: clock.work(budget, 50, 3.0), 0, share=0.5)
    assert budget.spent <= 10.0 + 3.0


def test_time_runs_since_its_start(clock):
    clock.now = 30.0
    budget = Budget(100, clock=clock, start=10.0)
    assert (budget.spent, budget.left) == (20, 80)


def test_a_limit_can_come_nearer_but_not_move_away(clock):
    budget = Budget(20.0, clock=clock)
    budget.limit(5.0)
    budget.limit(50.0)
    assert budget.left == 5.0
    with budget.share(0.5), budget.share(0.5):
        assert budget.left == 1.25
    assert budget.left == 5.0


def test_a_part_that_fails_costs_its_own_result(clock):
    written = []

    def keep(part: str, error: Exception) -> str:
        written.append((part, str(error)))
        return "internal-error-1.txt"

    budget = Budget(10.0, clock=clock, on_error=keep)
    assert budget.part("fix", "looking", lambda: str(NONE[1]), "nothing") == "nothing"
    assert budget.part("fix", "trying", lambda: "done", "nothing") == "done"
    assert written == [("fix: looking", "list index out of range")]
    (notice,) = unfinished_notices(budget.unfinished)
    assert notice.slug == "part-failed"
    assert notice.message == (
        "looking failed (IndexError: list index out of range); for a bug report: "
        "internal-error-1.txt"
    )


def test_an_error_for_users_needs_no_bug_report(clock):
    budget = Budget(10.0, clock=clock, on_error=lambda part, error: pytest.fail(part))

    def die() -> str:
        raise ToolError("server-failed", "the fork server died")

    assert budget.part("confirm", "testing", die, "") == ""
    assert budget.unfinished[0].message == "the fork server died [server-failed]"


def test_an_interrupt_ends_what_makes_runs_but_not_what_only_computes(clock):
    budget = Budget(10.0, clock=clock)

    def press() -> str:
        raise KeyboardInterrupt

    assert budget.part("confirm", "testing", press, "") == ""
    assert budget.part("fix", "looking", lambda: "made runs", "") == ""
    assert budget.part("report", "naming", lambda: "named", "", quick=True) == "named"
    assert [one.why for one in budget.unfinished] == ["interrupted", "interrupted"]
    (notice,) = unfinished_notices(budget.unfinished)
    assert notice.message == "interrupted: testing; looking"


def test_what_only_computes_is_done_when_the_time_is_over(clock):
    budget = Budget(1.0, clock=clock)
    clock.now += 5.0
    assert budget.part("rank", "ranking", lambda: "ranked", "", quick=True) == "ranked"


def test_what_does_not_ask_is_stopped_from_outside():
    budget = Budget(0.0)
    start = time.process_time()

    def spin() -> str:
        while time.process_time() < start + 120:
            pass
        return "to the end"

    budget.limit(0.0)
    with pytest.raises(OutOfTimeError), budget.alarm():
        spin()


def test_phases_within_phases_are_not_counted_twice(clock):
    budget = Budget(clock=clock)
    with budget.phase("confirm", "outer"):
        clock.now += 1.0
        with budget.phase("fix", "inner"):
            clock.now += 2.0
        clock.now += 4.0
    assert budget.phases == {"confirm": 5.0, "fix": 2.0}


def test_progress_names_the_part_and_what_it_does(clock):
    seen = []
    budget = Budget(clock=clock, on_change=seen.append)

    def work() -> None:
        budget.doing("forcing")
        budget.count_trial()

    budget.part("confirm", "testing finding 1 of 3", work, None)
    shown = [(one.doing, one.detail, one.trials) for one in seen]
    assert shown == [
        ("testing finding 1 of 3", "", 0),
        ("testing finding 1 of 3", "forcing", 0),
        ("testing finding 1 of 3", "forcing", 1),
    ]


def test_trials_are_counted_by_the_phase_that_needed_them():
    budget = Budget()
    for count in (3, 4):
        budget.part("confirm", "testing", partial(budget.use_trials, count), None)
    budget.part("fix", "looking for a fix", partial(budget.use_trials, 5), None)
    assert budget.trials == {"confirm": 7, "fix": 5}


def test_a_run_hangs_when_it_takes_a_multiple_of_the_usual():
    pace = RunPace()
    assert pace.for_hunt(10.0) == pace.for_trial(10.0) == 10.0  # nothing is usual yet
    for _ in range(FEWEST):
        pace.take(0.05)
    assert (pace.for_hunt(10.0), pace.for_trial(10.0)) == (5.0, 2.0)
    assert (pace.for_hunt(1.0), pace.for_trial(1.0)) == (1.0, 1.0)
    slow = RunPace()
    for _ in range(FEWEST):
        slow.take(0.2)
    assert (slow.for_hunt(60.0), slow.for_trial(60.0)) == (10.0, 4.0)


def test_one_more_run_fits_while_there_is_time_for_everything(clock):
    budget = Budget(20.0, clock=clock)
    with budget.within(5.0):
        clock.now += 6.0
        assert budget.left == 0.0
        assert budget.has_time
        assert budget.part("capture", "x", lambda: clock.work(budget, 1), 0, quick=True) == 1
    clock.now += 20.0
    assert not budget.has_time
    interrupted = Budget(20.0, clock=clock)
    interrupted.interrupt(KeyboardInterrupt())
    assert not interrupted.has_time


def test_what_is_under_way_may_go_on_when_nothing_new_is_begun(clock):
    budget = Budget(20.0, clock=clock)
    with budget.beginning(5.0):
        assert budget.may_begin
        clock.work(budget, 6)
        assert not budget.may_begin and budget.left == 14.0
    assert budget.may_begin
    clock.work(budget, 14)
    assert not budget.may_begin


@pytest.mark.parametrize(
    ("counts", "share"),
    [([3], 1.0), ([79, 1], 0.8), ([55, 17], 55 / 72), ([9, 8, 7], 0.5), ([0, 0], 0.5)],
)
def test_a_frequent_failure_may_take_more_of_the_time_than_a_rare_one(counts, share):
    assert share_of(counts) == share


def test_what_must_not_be_lost_may_take_longer_than_other_quick_parts(clock):
    budget = Budget(0.0, clock=clock)
    long = partial(clock.work, budget, 5)
    assert budget.part("report", "naming", long, 0, quick=True) == 0
    assert budget.part("report", "naming", long, 0, quick=True, least=15.0) == 5
