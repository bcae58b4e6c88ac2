# SPDX-License-Identifier: Apache-2.0
"""What of a proof is set-up, and what is all that there is to show."""

from types import SimpleNamespace

import pytest

from unsnarl.model.event import Event, Op, with_op
from unsnarl.reports.proof_facts import _all_there_is, _setup


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


def at(number, path, op, cell):
    return Event(number, path, number << 4 | op, 1, cell)


READ, LATE = at(1, "0.1", Op.READ, 7), at(6, "0", Op.WRITE, 7)
CLEARED, SET = at(3, "0", Op.WRITE, 8), at(8, "0.1", Op.WRITE, 8)


def certain(*orders, occurrence=()):
    timeline = SimpleNamespace(pending=[], meaning=lambda one: one, failing=lambda _: [])
    constraints = [SimpleNamespace(before=one, after=other) for one, other in orders]
    minimal = SimpleNamespace(
        timeline=timeline, constraints=constraints, occurrence=occurrence, failing=None
    )
    return SimpleNamespace(
        minimal=minimal, failing=SimpleNamespace(events=(READ, CLEARED, LATE, SET))
    )


class Sites:
    """Each event is at a line of its own."""

    def indexes(self, raw, run):
        return raw

    def point(self, at):
        return SimpleNamespace(site=SimpleNamespace(file="m.py", line=int(at)))


def test_an_order_that_is_a_conflict_is_shown_and_what_completes_another_one_is_not():
    found = _setup(certain((CLEARED, SET)), None, Sites())
    assert found == {READ.key, LATE.key}


def test_what_was_ranked_and_proved_is_shown():
    found = _setup(certain((CLEARED, SET), occurrence=(READ, LATE)), None, Sites())
    assert not found & {READ.key, LATE.key}
