# SPDX-License-Identifier: Apache-2.0
"""Failing runs that do not have what nearly all others have say nothing about it."""

from types import SimpleNamespace

import pytest

from unsnarl.execution.budget import Budget
from unsnarl.execution.symptom import Symptom
from unsnarl.experiments import forbid
from unsnarl.experiments.failing_runs import FailingRuns
from unsnarl.model.plan import Rule

FORBID = Rule(exclusive=1)
RUNS = 20


class FakeTrials:
    """Every run passes under the rules but for those that fail `all_the_same`, by seed."""

    def __init__(self, all_the_same):
        self.budget = Budget()
        self.all_the_same = all_the_same

    def run(self, plans, until=None):
        ended = []
        for plan in plans:
            fails = plan.seed in self.all_the_same
            run = SimpleNamespace(rules=(SimpleNamespace(satisfied=1, released=0),))
            label = "fail" if fails else "pass"
            ended.append(SimpleNamespace(label=label, run=run, fails_as=lambda _, f=fails: f))
            if until is not None and until(ended):
                break
        return ended


@pytest.fixture
def without(monkeypatch):
    """The forbidden arm; `having` are the runs that have the answer, `seen` by their traces."""

    def arm(all_the_same, having, seen=()):
        runs = tuple(SimpleNamespace(schedule=()) for _ in range(RUNS))
        records = tuple(SimpleNamespace(seed=at) for at in range(RUNS))
        compared = SimpleNamespace(
            runs=runs, records=records, signature="boom", symptom=Symptom("boom")
        )
        failing = FailingRuns(FakeTrials(all_the_same), compared, None)
        failing.traces = dict(enumerate(runs))
        monkeypatch.setattr(
            forbid,
            "Timeline",
            SimpleNamespace(of=lambda run: [one is run for one in runs].index(True)),
        )
        monkeypatch.setattr(forbid, "occurrences", lambda at, _: [()] if at in seen else [])
        monkeypatch.setattr(failing, "lines", lambda *_: [])
        return forbid.Forbidder(failing)._without(SimpleNamespace(runs=tuple(having)), [FORBID])

    return arm


def test_a_run_without_the_order_is_left_out(without):
    series = without({7}, set(range(RUNS)) - {7})
    assert (series.arm.fail, series.arm.runs, series.left_out) == (0, RUNS - 1, 1)


def test_a_run_that_has_the_order_counts(without):
    assert without({7}, range(RUNS)).arm.fail
    # What the evidence has lost, the trace may show.
    assert without({7}, set(range(RUNS)) - {7}, seen={7}).arm.fail


def test_where_many_runs_do_not_have_it_none_is_left_out(without):
    assert without({7}, set(range(RUNS)) - {5, 6, 7}).arm.fail
