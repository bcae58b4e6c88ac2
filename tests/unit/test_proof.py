# SPDX-License-Identifier: Apache-2.0
"""Only what is confirmed has a proof; what is not is tested first."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from unsnarl.errors import UsageError
from unsnarl.workflows import proof


def numbered(status: str, replay: str = "", own: str = ""):
    finding = SimpleNamespace(id="size-1", status=status, why="nobody came", replay=own or None)
    failure = SimpleNamespace(findings=[finding], replay=replay or None)
    return SimpleNamespace(finding=finding, failure=failure)


@pytest.mark.parametrize(
    ("before", "after", "confirmed"),
    [
        ("confirmed", "", True),
        ("untested", "confirmed", True),
        ("inconclusive", "confirmed", True),
        ("refuted", "refuted", False),
    ],
)
def test_a_finding_is_tested_before_it_is_refused(monkeypatch, before, after, confirmed):
    made = []

    def confirm(*words):
        made.append(words)
        return SimpleNamespace(chosen=numbered(after))

    monkeypatch.setattr(proof, "confirm", confirm)
    if confirmed:
        proof.check_confirmed(numbered(before), "campaign", 5.0)
    else:
        with pytest.raises(UsageError, match="refuted"):
            proof.check_confirmed(numbered(before), "campaign", 5.0)
    assert bool(made) == (before != "confirmed")


def test_the_failure_speaks_for_its_first_finding_only():
    first = numbered("confirmed", replay="that of the failure")
    assert proof.replay_of(first) == "that of the failure"
    second = numbered("confirmed", replay="that of the failure")
    second.failure.findings.insert(0, object())
    assert proof.replay_of(second) is None
    assert proof.replay_of(numbered("confirmed", own="its own")) == "its own"
