# SPDX-License-Identifier: Apache-2.0
"""Estimates of the skew with their confidence: figure 6 where there are three cores.

On two cores the ping-pong's messages stand in for it; `statistics` says why they may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unsnarl.recording.clocks import statistics
from unsnarl.recording.clocks.machine import Machine
from unsnarl.recording.clocks.observed import Observed, Test, differences, observe, reading_for
from unsnarl.recording.clocks.ranges import Estimate, Source

if TYPE_CHECKING:
    from unsnarl.recording.clocks.statistics import Numbers

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
        triggers = machine.triggers(first, second)
        if triggers and pinned:
            sides = figure_6(first, second, triggers, source)
            yield from table_5("figure 6", first, second, *sides)
        elif messages is not None:
            sides = differences(messages, first, second)
            yield from table_5("messages", first, second, *map(_near, sides))


def _near(side: Numbers) -> Numbers:
    return statistics.near(side) if len(side) else side


def figure_6(
    first: int, second: int, triggers: Sequence[int], source: Source
) -> tuple[Numbers, Numbers]:
    """Both workers' differences, split by who was first (figure 7).

    A worker on the trigger's own chip hears of the flag sooner. So between chips the trigger is on
    either of them, equally often and in turn (III.B.2): the delays of both are the same, on
    average.
    """
    reading = reading_for(Test.TRIGGER, source)
    runs = TRIGGER_RUNS // len(triggers)
    loops = [observe(Test.TRIGGER, reading, (first, second, one), runs) for one in triggers]
    length = min(map(len, loops))
    stamps = np.stack([loop[:length] for loop in loops], axis=1).ravel()
    between = stamps["second"] - stamps["first"]
    return statistics.split(between) if len(between) else (between, between)


def table_5(
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
