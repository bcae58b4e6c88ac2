# SPDX-License-Identifier: Apache-2.0
"""Estimates of the skew with their confidence: figure 6 where there are three cores.

On two cores the ping-pong's messages stand in for it; `statistics` says why they may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from unsnarl.reproduce.clocks import statistics
from unsnarl.reproduce.clocks.machine import Machine
from unsnarl.reproduce.clocks.observed import Observed, Test, differences, observe, reading_for
from unsnarl.reproduce.clocks.ranges import Estimate, Source

if TYPE_CHECKING:
    from unsnarl.reproduce.clocks.statistics import Numbers

N, M = 1000, 20  # runs behind a sample, samples (table V)
TRIGGER_RUNS = 2 * N * M


def estimates(
    pairs: Iterable[tuple[int, int]],
    machine: Machine,
    pinned: bool,
    source: Source,
    observed: Observed,
) -> Iterator[Estimate]:
    """For each of the pairs of cores an estimate with each of the confidence coefficients."""
    messages = np.concatenate(observed.messages) if observed.messages else None
    for first, second in pairs:
        third = next((core for core in machine.cores if core not in (first, second)), None)
        if third is not None and pinned:
            sides = figure_6(first, second, third, source)
            yield from told("figure 6", first, second, *sides)
        elif messages is not None:
            sides = differences(messages, first, second)
            yield from told("messages", first, second, *map(_near, sides))


def _near(side: Numbers) -> Numbers:
    return statistics.near(side) if len(side) else side


def figure_6(first: int, second: int, third: int, source: Source) -> tuple[Numbers, Numbers]:
    """Both workers' differences, told apart by who was first (figure 7)."""
    reading = reading_for(Test.TRIGGER, source)
    stamps = observe(Test.TRIGGER, reading, (first, second, third), TRIGGER_RUNS)
    between = stamps["second"] - stamps["first"]
    return statistics.split(between) if len(between) else (between, between)


def told(
    scheme: str, first: int, second: int, first_first: Numbers, second_first: Numbers
) -> Iterator[Estimate]:
    """One row of table V; nothing if there were too few runs."""
    values = statistics.samples(first_first, second_first, N, M)
    if len(values) < 2:
        return
    middle = float(np.mean(values))
    for confidence in statistics.CONFIDENCES:
        low, high = statistics.interval(values, confidence)
        yield Estimate(scheme, first, second, middle, confidence, low, high, N, len(values))
