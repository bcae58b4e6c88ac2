# SPDX-License-Identifier: Apache-2.0
"""The ledger of a watched program: nothing is spent that the budget has not earned."""

import time

import pytest

from unsnarl.watch.ledger import Ledger


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])
    return now


def test_time_before_the_start_earns_nothing(clock: list[float]) -> None:
    assert not Ledger(0.05).affords(0.001)


def test_what_is_spent_stays_within_the_budget(clock: list[float]) -> None:
    ledger = Ledger(0.05)
    for _ in range(10_000):
        clock[0] += 0.01
        if ledger.affords(0.004):
            clock[0] += 0.004
            ledger.spent += 0.004
    assert 0.04 < ledger.overhead <= 0.05


def test_one_waits_until_it_is_affordable(clock: list[float]) -> None:
    ledger = Ledger(0.1)
    clock[0] += ledger.wait_for(0.01) * 1.2
    assert ledger.affords(0.01)


def test_the_set_up_is_charged_unless_the_program_is_short_lived(clock: list[float]) -> None:
    ledgers = [Ledger(0.05, short_lived=one) for one in (False, True)]
    clock[0] += 1.1
    for one in ledgers:
        one.spent = one.set_up = 0.1
    assert [one.affords(0.01) for one in ledgers] == [False, True]
    assert ledgers[1].overhead == pytest.approx(0.1)
