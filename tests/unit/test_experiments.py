# SPDX-License-Identifier: Apache-2.0
"""Experiments: the test, the rules, the verdict."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import pytest
from tests.unit.traces import run_of

from unsnarl.experiments.forbid import Forbidder
from unsnarl.experiments.prove import ORDER
from unsnarl.experiments.rules import controlling, forbidding, holding, is_intrusion
from unsnarl.experiments.statistics import fisher
from unsnarl.experiments.verdict import judge
from unsnarl.model.event import Op
from unsnarl.model.report import Arm
from unsnarl.placement.line_points import LinePoints, outermost_acquires
from unsnarl.placement.timeline import Timeline

ALWAYS, NEVER = Arm(20, 20, 20), Arm(0, 20, 20)


def line(point, role, hold=None, code=(0, 0)):
    holds = (point if hold is None else hold,)
    return LinePoints((point,), holds, role, code, (point,), (point,))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ((20, 20, 0, 20), 1 / 137846528820),  # 40 choose 20
        ((3, 3, 0, 3), 1 / 20),
        ((0, 5, 0, 5), 1.0),
        ((1, 2, 1, 2), 5 / 6),
    ],
)
def test_fisher_by_hand(table, expected):
    assert fisher(*table) == pytest.approx(expected)


def test_an_empty_arm_proves_nothing():
    assert fisher(0, 0, 0, 0) == 1.0


def test_an_intrusion_is_forbidden_by_regions_that_exclude_each_other():
    first, second = forbidding([line(1, 1, hold=10), line(2, 2, hold=20), line(3, 1)])
    assert first.exclusive == second.exclusive
    assert (first.when.points, first.until.points) == ((1, 10), (3,))
    assert (second.when.points, second.until.points) == ((2, 20), (2,))


def test_a_region_within_one_function_ends_with_it():
    same, other = (7, 9), (20, 30)
    (only,) = forbidding([line(1, 1, 5, same), line(1, 2, 5, same), line(3, 1, code=same)])
    assert only.leave == (7, 9)
    apart = forbidding([line(1, 1, 5, same), line(2, 2, 6), line(3, 1, 7, other)])
    assert apart[0].leave is None


def test_who_does_the_last_access_again_keeps_the_others_out_until_it_ends():
    """Its first read ends the short region, and a later one comes too late."""
    lines = [line(1, 1, hold=10), line(2, 2, hold=20), line(3, 1)]
    lasting, short = forbidding(lines, lasts=True)
    assert (lasting.when.points, lasting.until.points) == ((1, 10), (Op.END,))
    assert (lasting.until.who, lasting.leave) == ("self", None)
    assert short == forbidding(lines)[1]
    assert is_intrusion(lines) and not is_intrusion(lines[:2])


# A worker acknowledges its work before it is done; who waits for that looks at what it did.
ACKNOWLEDGED = [line(1, 1, hold=10), line(2, 2, hold=20), line(3, 2), line(4, 1)]


def test_who_waits_for_the_other_side_is_kept_out_of_its_last_access_only():
    worker, looks = forbidding(ACKNOWLEDGED, briefly=True)
    assert worker == forbidding(ACKNOWLEDGED)[0]
    assert (looks.when.points, looks.until.points) == ((3,), (3,))


@pytest.mark.parametrize("released", [0, 1])
def test_regions_are_shortened_where_they_had_to_be_given_up(released):
    tried = []
    forbidder = Forbidder(SimpleNamespace(lines=lambda *_: ACKNOWLEDGED))
    without = SimpleNamespace(arm=SimpleNamespace(fail=0))
    failed = SimpleNamespace(arm=SimpleNamespace(fail=1, released=released))
    with (
        mock.patch.object(forbidder, "_without", lambda _, rules: tried.append(rules) or without),
        mock.patch.object(forbidder, "_lasting", lambda *_: without),
    ):
        assert forbidder._forbidden_intrusion(None, None, failed) is without
    assert tried == [forbidding(ACKNOWLEDGED, briefly=True)] * released


def test_an_order_is_forbidden_by_the_other_one():
    (forbidden,) = forbidding([line(1, 1), line(2, 2)])
    assert (forbidden.hold.points, forbidden.until.points) == ((1,), (2,))


def test_the_thread_that_came_too_early_can_be_held_alone():
    (rule,) = holding([line(1, 1, hold=10), line(2, 2)], "0.2")
    assert (rule.hold.points, rule.hold.path) == ((10,), "0.2")
    assert (rule.until.points, rule.until.who) == ((2,), "others")


@pytest.mark.parametrize("roles", [(1, 2, 1), (1, 1, 2), (1, 1)])
def test_only_an_order_of_two_accesses_has_such_a_thread(roles):
    assert holding([line(point, role) for point, role in enumerate(roles, 1)], "0.2") == []


def test_two_writes_in_a_row_are_forbidden_by_a_read_between():
    (rule,) = forbidding([line(1, 1), line(1, 1, hold=10), line(2, 2)])
    assert (rule.hold.who, rule.hold.points) == ("self", (10,))
    assert (rule.until.who, rule.until.points) == ("others", (2,))


def test_nothing_elsewhere_no_control():
    assert controlling([line(1, 1), line(2, 2)], ()) == []


def test_who_comes_too_late_again_and_again_must_have_ended():
    """Only others wait for it: it may come by the first access itself."""
    lines = [line(1, 1), line(2, 2)]
    first, second = forbidding(lines, repeaters=(("0.3", "0.1"), ("0.3", "0.2")))
    assert first.hold.points == second.hold.points == (1,)
    assert first.hold.path == second.hold.path == "0.3"
    assert (first.until.points, first.until.path) == ((Op.END,), "0.1")
    assert second.until.path == "0.2"


def timeline(*events):
    return Timeline(run_of(*events))


def test_a_hold_is_lifted_to_the_outermost_acquire():
    around = outermost_acquires(
        timeline(
            (1, Op.ACQUIRE, 5, 100),
            (1, Op.ACQUIRE, 6, 101),
            (1, Op.READ, 7, 1),
            (1, Op.RELEASE, 6, 101),
            (1, Op.RELEASE, 5, 100),
            (1, Op.WRITE, 8, 1),
        )
    )
    assert around[7 << 4 | Op.READ] == {5 << 4 | Op.ACQUIRE}
    assert around[8 << 4 | Op.WRITE] == {0}


def test_who_is_to_release_a_lock_later_must_not_take_it():
    """A release is no switch point: held there, a thread is not held at all."""
    around = outermost_acquires(timeline((1, Op.ACQUIRE, 5, 100), (1, Op.RELEASE, 6, 100)))
    assert around[6 << 4 | Op.RELEASE] == {5 << 4 | Op.ACQUIRE}


def test_a_lock_that_another_thread_releases_is_a_signal_and_guards_nothing():
    around = outermost_acquires(
        timeline(
            (1, Op.ACQUIRE, 5, 100),
            (2, Op.RELEASE, 6, 100),
            (1, Op.ACQUIRE, 5, 100),  # Condition.wait takes its lock twice, and keeps it
            (1, Op.READ, 7, 1),
        )
    )
    assert around[7 << 4] == {0}


def test_a_lock_is_none_of_those_that_had_its_address_before():
    """A Condition makes a lock per wait, which another thread releases; then it is gone."""
    around = outermost_acquires(
        timeline(
            (1, Op.ACQUIRE, 5, 100),
            (2, Op.RELEASE, 6, 100),
            (1, Op.ACQUIRE, 5, 100),
            (2, Op.ACQUIRE, 7, 100),  # of another lock: that one is taken
            (2, Op.WRITE, 8, 1),
            (1, Op.READ, 9, 1),
            (2, Op.RELEASE, 7, 100),
        )
    )
    assert around[8 << 4 | Op.WRITE] == {7 << 4 | Op.ACQUIRE}
    assert around[9 << 4] == {0}


@pytest.mark.parametrize(
    ("calls", "guards"),
    [
        (True, {0}),  # a wait whose time limit ran out has dropped its lock
        (False, {7 << 4 | Op.ACQUIRE}),  # of the program's own, the run may have ended inside
    ],
)
def test_a_lock_that_a_library_never_gives_back_guards_nothing(calls, guards):
    before = [(1, Op.CALL, 6, 2)] if calls else []
    around = outermost_acquires(timeline(*before, (1, Op.ACQUIRE, 7, 100), (1, Op.READ, 30, 1)))
    assert around[30 << 4] == guards


@pytest.mark.parametrize(
    ("forced", "forbidden", "control", "status"),
    [
        (ALWAYS, NEVER, ALWAYS, "confirmed"),
        (ALWAYS, NEVER, NEVER, "inconclusive"),  # holding anything at all prevents it
        (ALWAYS, ALWAYS, ALWAYS, "inconclusive"),  # it brings the failure, but others do as well
        (NEVER, ALWAYS, ALWAYS, "refuted"),
        (Arm(0, 20, 0, 20), ALWAYS, ALWAYS, "infeasible"),
        (Arm(3, 20, 20), NEVER, ALWAYS, "inconclusive"),
        (Arm(2, 2, 2), Arm(0, 2, 2), Arm(2, 2, 2), "inconclusive"),  # too few runs
    ],
)
def test_the_verdict(forced, forbidden, control, status):
    assert judge(forced, forbidden, control).status == status


def test_what_is_confirmed_comes_first():
    assert min(ORDER, key=lambda status: ORDER[status]) == "confirmed"
    assert max(ORDER, key=lambda status: ORDER[status]) == "refuted"


@pytest.mark.parametrize(
    ("arms", "status", "why"),
    [
        ((Arm(20, 20, 20), Arm(0, 20), Arm(20, 20)), "confirmed", ""),
        (
            (Arm(20, 20, 20), Arm(3, 20), Arm(20, 20)),
            "inconclusive",
            "3 of 20 runs fail all the same",
        ),
        ((Arm(6, 20, 20), Arm(0, 20), Arm(20, 20)), "inconclusive", "only 6 of 20 runs fail"),
        ((Arm(20, 20, 20), Arm(0, 20), Arm(4, 20)), "inconclusive", "elsewhere removes"),
        ((Arm(3, 3, 3), Arm(0, 3), Arm(3, 3)), "inconclusive", "too few failing runs"),
        ((Arm(0, 0), Arm(0, 20), Arm(20, 20)), "inconclusive", "in no run"),
        ((Arm(0, 20, 0), Arm(0, 20), Arm(20, 20)), "infeasible", "in any of 20 runs"),
        ((Arm(0, 20, 9), Arm(20, 20), Arm(20, 20)), "refuted", "fail without this order"),
    ],
)
def test_one_rule_gives_the_status_and_says_why(arms, status, why):
    verdict = judge(*arms)
    assert verdict.status == status
    assert why in verdict.why and bool(verdict.why) == (status != "confirmed")
