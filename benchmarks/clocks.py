# SPDX-License-Identifier: Apache-2.0
"""The clocks of this machine's cores: is their range narrow, does it ever lie, what costs a read?

A message test: a thread on one core stamps and sends, a thread on another receives and stamps. A
range that would prove that it was received before it was sent is wrong. The range is measured once,
before all messages; they are sent in chunks, so that the host has time to move the cores.

An unseen write is figure 2(b) of ReCBuLC: a thread writes and stamps, another stamps and reads the
old value. If the stamps prove that the write came first, they lie: the write was still on its way.
This is what the fences of figure 2(c) are for, and where cheaper reads must not be trusted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.figures import Figure, median, ratios
from unsnarl import _core
from unsnarl.recording.clocks import Clocks, machine
from unsnarl.recording.clocks.measure import How, measure
from unsnarl.recording.clocks.observed import Reading, Test, observe, ping_pong

WIDTH = 300  # cycles: the bar
MESSAGES = 10_000_000
UNSEEN = 4_000_000
CHUNK = 500_000  # rounds; of two messages each
READS = {
    Reading.FULL: "figure 2(c)",
    Reading.DRAINED: "write buffer known to be empty",
    Reading.BARE: "no fences",
}


def figures(quick: bool) -> Iterator[Figure]:
    """The width, the message tests with all three reads, the cost of a read."""
    how = How(patience=10.0) if quick else How()
    known = measure(machine.read(), how)
    yield Figure(
        "clocks: width of the widest range",
        known.widest,
        known.widest,
        known.widest,
        unit="cycles",
        bar=WIDTH,
        details={"ranges": [(r.first, r.second, r.low, r.high) for r in known.ranges]},
    )
    yield from message_tests(known, 1_000_000 if quick else MESSAGES, Reading.FULL, bar=0)
    for reading in (Reading.DRAINED, Reading.BARE):
        yield from message_tests(known, 1_000_000, reading, bar=None)
    for reading in READS:
        bar = 0 if reading is Reading.FULL else None
        yield unseen_writes(known, 500_000 if quick else UNSEEN, reading, bar)
    yield from costs(5 if quick else 15)


def message_tests(
    known: Clocks, wanted: int, reading: Reading, bar: float | None
) -> Iterator[Figure]:
    """How many messages the range orders wrongly, and how many rightly."""
    begin, sent, wrong, right = time.monotonic(), 0, 0, 0
    first, second = known.ranges[0].first, known.ranges[0].second
    while sent < wanted:
        stamps = ping_pong(reading, (first, second), min(CHUNK, (wanted - sent + 3) // 2))
        if not len(stamps):
            raise RuntimeError("no messages pass between the cores: the machine is too busy")
        for one, other in ((first, second), (second, first)):
            mine = stamps[(stamps["first_core"] == one) & (stamps["second_core"] == other)]
            there = known.range(one, other)
            assert there is not None
            right += int(np.count_nonzero(there.before(mine["first"], mine["second"])))
            wrong += int(np.count_nonzero(there.flipped().before(mine["second"], mine["first"])))
            sent += len(mine)
    name = f"clocks: {sent / 1e6:.1f} million messages, {READS[reading]}"
    seconds = round(time.monotonic() - begin, 1)
    more = {"sent": sent, "wrong": wrong, "right": right, "seconds": seconds}
    yield Figure(f"{name}: ordered wrongly", wrong, wrong, wrong, "", bar, details=more)
    share = 100 * right / sent
    yield Figure(f"{name}: proved", share, share, share, "%", at_least=True, details=more)


def unseen_writes(known: Clocks, wanted: int, reading: Reading, bar: float | None) -> Figure:
    """How many writes the stamps would put before a read that did not see them."""
    pair = known.ranges[0].first, known.ranges[0].second
    unseen = wrong = 0
    worst: list[int] = []
    while unseen < wanted:
        for writer, reader in (pair, pair[::-1]):
            stamps = observe(Test.UNSEEN, reading, (writer, reader), min(CHUNK, wanted))
            if not len(stamps):
                raise RuntimeError("nothing passes between the cores: the machine is too busy")
            there = known.range(writer, reader)
            assert there is not None
            wrong += int(np.count_nonzero(there.before(stamps["second"], stamps["first"])))
            worst.append(int((stamps["first"] - stamps["second"]).max()) - there.high)
            unseen += len(stamps)
    name = f"clocks: {unseen / 1e6:.1f} million unseen writes, {READS[reading]}: ordered wrongly"
    details = {"unseen": unseen, "wrong": wrong, "beyond the range": max(worst)}
    return Figure(name, wrong, wrong, wrong, "", bar, details=details)


def costs(rounds: int) -> Iterator[Figure]:
    """One read of each kind, in nanoseconds and relative to the kernel's clock."""
    count = 20_000
    spent = {
        reading: [_core.clock_cost(reading, count) / count for _ in range(rounds)]
        for reading in Reading
    }
    for reading, name in READS.items():
        yield median(f"clocks: one read, {name}", spent[reading], unit="ns")
        against = ratios(spent[reading], spent[Reading.KERNEL])
        yield median(f"clocks: one read, {name}, relative to clock_gettime", against)
