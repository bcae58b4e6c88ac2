# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace
from types import SimpleNamespace

import pytest

from unsnarl.experiments import prove
from unsnarl.experiments.arms import NO_ARM
from unsnarl.experiments.prove import FURTHER, Prover
from unsnarl.experiments.verdict import Verdict
from unsnarl.model.report import Arm


class FakeExperimenter:
    """One of the answers is the cause; forbidding others together excludes them."""

    def __init__(self, cause):
        self.cause = cause
        self.tested = []

    def test(self, answer):
        self.tested.append(answer)
        if answer == self.cause:
            return _verdict("confirmed")
        return replace(_verdict("inconclusive"), forbidden=Arm(1, 1))

    def excluded(self, answers):
        return None if self.cause in answers else _verdict("inconclusive")


def _verdict(status):
    return Verdict(status, NO_ARM, NO_ARM, NO_ARM, 1.0)


@pytest.fixture(autouse=True)
def _placeable(monkeypatch):
    monkeypatch.setattr(prove, "is_placeable", lambda answer, interner: True)
    monkeypatch.setattr(prove, "enclosing", lambda *_: ())


def proven_with(cause, findings=5, answers=40):
    experimenter = FakeExperimenter(cause)
    prover = Prover(SimpleNamespace(), None, 10.0, findings=findings)
    names = [f"answer {at}" for at in range(answers)]
    proven = prover._tested(experimenter, names, None, min(findings, answers))
    return experimenter, [one.answer for one in proven if one.is_confirmed]


@pytest.mark.parametrize("at", [0, 3, 4, 5, 14])
def test_a_cause_that_is_ranked_low_is_tested_if_no_other_is_confirmed(at):
    experimenter, confirmed = proven_with(f"answer {at}")
    assert confirmed == [f"answer {at}"]
    # The first by itself; of the others only what a group could not exclude.
    assert experimenter.tested == list(dict.fromkeys(["answer 0", f"answer {at}"]))


def test_what_lies_around_the_first_is_tested_next_if_runs_fail_without_it(monkeypatch):
    monkeypatch.setattr(prove, "enclosing", lambda *_: ("answer 30", "answer 31"))
    experimenter, confirmed = proven_with("answer 31")
    assert confirmed == ["answer 31"]
    assert experimenter.tested == ["answer 0", "answer 30", "answer 31"]


def test_there_is_an_end_to_it():
    assert proven_with(f"answer {FURTHER * 5}")[1] == []


def test_who_asks_about_one_finding_gets_that_one():
    experimenter, _ = proven_with("answer 3", findings=1)
    assert experimenter.tested == ["answer 0"]
