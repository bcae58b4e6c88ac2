# SPDX-License-Identifier: Apache-2.0
"""Measuring machines of many cores, which are simulated: their skews are known."""

from itertools import combinations

import msgspec
import numpy as np
import pytest
from evaluation.simulated_clocks import SimulatedClock, Trigger, messages

from unsnarl.errors import ToolError
from unsnarl.recording.clocks import estimates, observed
from unsnarl.recording.clocks.machine import Machine
from unsnarl.recording.clocks.measure import FEW_CORES, How, measure, pairs
from unsnarl.recording.clocks.observed import STAMPS, Observed, Test

QUICK = How(runs=40, windows=2, patience=0.0)


def machine_of(count):
    flags = frozenset({"constant_tsc", "nonstop_tsc", "rdtscp"})
    sources = ("tsc", "arch_sys_counter")
    return Machine("x86_64", flags, sources, "11111111-2222", 0.0, tuple(range(count)))


def chip(core):
    return core // 4 % 2


def skew(first, second):
    return 1000 * second % 377 - 1000 * first % 377


@pytest.fixture
def loops(monkeypatch):
    """The native loops on simulated clocks; gives the pairs of cores that they ran on."""
    used = []

    def observe(test, reading, cores, runs, seconds=0.0):
        used.append(tuple(sorted(cores[:2])))
        if test is Test.TRIGGER:
            found = np.zeros(runs, STAMPS)
            near = chip(cores[2]) - chip(cores[1]), chip(cores[2]) - chip(cores[0])
            first = 0.5 if near[0] == near[1] else 0.95 if near[0] else 0.05
            found["second"] = Trigger(skew(*cores[:2]), first=first).differences(runs, 1)
            return found
        clocks = tuple(SimulatedClock(10**6 + 1000 * core % 377) for core in cores)
        sent = [(run % 2, 1000 * run, 100 + run % 7) for run in range(runs)]
        found = messages(clocks, sent)
        for column in ("first_core", "second_core"):
            found[column] = np.asarray(cores)[found[column]]
        return found

    monkeypatch.setattr(observed, "observe", observe)
    monkeypatch.setattr(estimates, "observe", observe)
    monkeypatch.setattr(estimates, "TRIGGER_RUNS", 4000)
    return used


def test_of_64_cores_a_few_are_measured_against_all(loops):
    here = machine_of(64)
    found = measure(here, QUICK)
    assert set(loops) == {pair for pair in combinations(range(64), 2) if {0, 32, 63} & {*pair}}
    assert len(set(loops)) == 186
    assert len(found.ranges) == 2016
    assert all(one.low <= skew(one.first, one.second) <= one.high for one in found.ranges)
    direct, summed = found.range(0, 5), found.range(5, 6)
    assert direct.width < summed.width <= 2 * direct.width + 4 * found.margin
    assert any("0, 32, 63" in note and "--all-pairs" in note for note in found.notes)
    assert {(one.first, one.second) for one in found.estimates} == set(loops)


def test_all_pairs_of_many_cores_if_wanted(loops):
    found = measure(machine_of(10), How(runs=40, windows=1, patience=0.0, all_pairs=True))
    assert len(set(loops)) == len(found.ranges) == 45
    assert not found.notes


def test_few_cores_are_all_measured_against_each_other():
    every = [*combinations(range(FEW_CORES), 2)]
    assert pairs(machine_of(FEW_CORES), QUICK) == every
    assert len(pairs(machine_of(FEW_CORES + 1), QUICK)) == 3 * FEW_CORES - 3


def test_the_trigger_of_figure_6_is_near_each_of_two_workers_in_turn(loops):
    """A worker on its chip hears of it first: one place alone would leave too few runs to split."""
    here = msgspec.structs.replace(machine_of(8), chips=tuple(map(chip, range(8))))
    assert here.triggers(0, 1) == (2,)
    assert here.triggers(0, 5) == (1, 4)
    assert machine_of(3).triggers(0, 1) == (2,)
    assert machine_of(2).triggers(0, 1) == ()
    first_first, second_first = estimates.figure_6(0, 5, here.triggers(0, 5), "counter")
    share = len(first_first) / (len(first_first) + len(second_first))
    assert share == pytest.approx(0.5, abs=0.03)
    found = (first_first.mean() + second_first.mean()) / 2
    assert found == pytest.approx(skew(0, 5), abs=2)


def test_a_core_that_is_taken_away_is_told(monkeypatch):
    def observe(*_):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(observed, "observe", observe)
    with pytest.raises(ToolError, match="cannot run on the cores") as raised:
        measure(machine_of(2), QUICK)
    assert raised.value.slug == "clocks-not-bound"


def test_messages_are_kept_for_estimates_only_and_not_without_end(monkeypatch):
    monkeypatch.setattr(observed, "MOST_MESSAGES", 5)
    sent = messages((SimulatedClock(), SimulatedClock()), [(0, 10, 100), (1, 70, 60), (0, 99, 60)])
    for seen, kept in ((Observed(), 6), (Observed(messages=False), 0)):
        seen.begin_window()
        for _ in range(4):
            seen.include(Test.PING_PONG, sent)
        assert sum(map(len, seen.messages)) == kept
        assert seen.gaps() == {(0, 1): 60, (1, 0): 60}
