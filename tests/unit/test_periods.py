# SPDX-License-Identifier: Apache-2.0
"""Which waits with a short time limit are sleeps, by what their code does with the outcome."""

import threading

import pytest

from unsnarl.probes.python import periods

NOW = 0.001
pytestmark = pytest.mark.core


class Asking(threading.Event):
    """An event whose lock asks as the gate would, when somebody waits."""

    def __init__(self):
        super().__init__()
        self.answers = []
        self._cond._waiters = _Waiters(self)


class _Waiters:
    """Stands for a Condition's queue of waiters: what is appended to it is about to wait."""

    def __init__(self, event):
        self.event = event

    def append(self, waiter):
        self.event.answers.append(periods.is_period_of(periods.sys._getframe(1)))

    def remove(self, waiter):
        pass


def loops(event):
    rounds = 0
    while not event.wait(NOW):
        rounds += 1
        if rounds == 2:
            return


def leaves_by_it(event):
    for _ in range(2):
        if event.wait(NOW):
            break


def ignores(event):
    event.wait(NOW)


def asserts(event):
    found = event.wait(NOW)
    assert not found


def looks_once(event):
    if event.wait(NOW):
        raise AssertionError


def hands_on(event):
    return event.wait(NOW)


def waits_for(event):
    event._cond.acquire()
    event._cond.wait_for(lambda: False, NOW)
    event._cond.release()


@pytest.mark.parametrize("function", [loops, leaves_by_it, ignores])
def test_who_goes_on_as_before_sleeps(function):
    event = Asking()
    function(event)
    assert event.answers
    assert all(event.answers)


@pytest.mark.parametrize("function", [asserts, looks_once, hands_on, waits_for])
def test_who_looks_at_the_outcome_is_patient(function):
    event = Asking()
    function(event)
    assert event.answers
    assert not any(event.answers)
