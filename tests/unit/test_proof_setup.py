# SPDX-License-Identifier: Apache-2.0
"""What of a proof is set-up, and what is all that there is to show."""

from types import SimpleNamespace

import pytest

from unsnarl.model.event import Op, with_op
from unsnarl.reports.proof_facts import _all_there_is


def event(key, op):
    return SimpleNamespace(key=key, op=op, is_access=not op.is_sync, point=with_op(0, op))


CHECK, CHANGE, ACT = (event(name, Op.READ) for name in ("check", "change", "act"))
TAKE, WAIT = event("take", Op.ACQUIRE), event("wait", Op.ACQUIRE)


def proof(*events, pending=(WAIT,)):
    orders = [
        SimpleNamespace(before=CHECK, after=CHANGE),
        SimpleNamespace(before=CHANGE, after=ACT),
    ]
    timeline = SimpleNamespace(pending=list(pending), meaning=lambda one: one)
    minimal = SimpleNamespace(timeline=timeline, constraints=orders)
    return SimpleNamespace(minimal=minimal, failing=SimpleNamespace(events=[*events, *pending]))


ORDERED = {"check", "change", "act"}


def test_where_only_waits_would_be_left_what_was_proved_is_shown():
    assert _all_there_is(proof(CHECK, CHANGE, ACT), ORDERED) == ORDERED


@pytest.mark.parametrize("left", [TAKE, event("other", Op.WRITE)])
def test_where_a_lock_or_data_explains_the_waits_it_stays_set_up(left):
    assert _all_there_is(proof(CHECK, CHANGE, left, ACT), ORDERED) == set()


def test_without_waits_nothing_changes():
    assert _all_there_is(proof(CHECK, CHANGE, ACT, pending=()), ORDERED) == set()
