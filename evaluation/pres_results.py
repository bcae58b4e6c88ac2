# SPDX-License-Identifier: Apache-2.0
"""What `evaluation.pres` measures, as plain values; and the paper's own figures."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from unsnarl.model.choices import Level, Order

# ReCBuLC, table III: tries of PRES-impl and of PRES-tc (both ways to know the skew) at SYNC, FUNC,
# BB and RW; None: not within 1000.
Tries = tuple[int | None, int | None]
PAPER: dict[str, tuple[Tries, Tries, Tries, Tries]] = {
    "apachelog": ((69, 69), (5, 5), (1, 1), (1, 1)),
    "cherokee": ((46, 46), (21, 21), (8, 8), (1, 1)),
    "pbzip2": ((3, 3), (3, 3), (2, 2), (1, 1)),
    "pfscan": ((32, 32), (11, 11), (1, 1), (1, 1)),
    "aget": ((14, 14), (9, 9), (1, 3), (1, 1)),
    "barnes": ((12, 12), (4, 4), (1, 1), (1, 1)),
    "lu": ((3, 10), (6, 6), (1, 1), (1, 1)),
    "radiosity": ((None, None), (98, 98), (1, 1), (1, 1)),
}
# ... and the additional unordered accesses of PRES-tc, in percent, with the wider range.
PAPER_UNORDERED: dict[str, tuple[float, float, float, float]] = {
    "apachelog": (0.0, 0.01, 0.07, 0.09),
    "cherokee": (0.0, 0.0, 0.0, 0.03),
    "pbzip2": (0.0, 0.0, 0.0, 0.0),
    "pfscan": (0.0, 0.0, 0.18, 4.42),
    "aget": (0.0, 0.0, 0.0, 0.0),
    "barnes": (0.0, 0.0, 0.0, 0.36),
    "lu": (0.0, 0.15, 0.79, 25.5),
    "radiosity": (0.0, 0.03, 0.21, 4.88),
}


class Unordered(NamedTuple):
    """Shared accesses, and how many have a conflicting one whose order a sketch leaves open.

    `total` is of a sketch with the same events in one order.
    """

    shared: int
    clocks: int
    total: int


class Reproduced(msgspec.Struct, frozen=True):
    """One record and what came of it.

    Attributes:
        runs: Recorded until one failed.
        tries: None if it was not reproduced.
        replayed: Of 20 replays of the schedule.
    """

    level: Level
    order: Order
    runs: int
    events: int
    tries: int | None
    replayed: int = 0
    flaky: int = 0
    unordered: Unordered = Unordered(0, 0, 0)
    seconds: float = 0.0


class Bug(msgspec.Struct, frozen=True):
    """All records of one bug.

    Attributes:
        alone: Whether it failed without noise in the runs that were given to it.
        met: Of so many `random` schedules without any record, those that failed as recorded.
    """

    name: str
    language: str
    switch: str
    alone: bool
    records: tuple[Reproduced, ...]
    met: int = 0
    random: int = 0

    def by_chance(self, tries: int) -> float | None:
        """How likely so many random schedules fail as recorded; None if that was not measured."""
        return 1 - (1 - self.met / self.random) ** tries if self.random else None

    def of(self, level: Level, order: Order) -> list[Reproduced]:
        """Its records of one kind."""
        return [one for one in self.records if (one.level, one.order) == (level, order)]


class Measured(msgspec.Struct, frozen=True):
    """The whole evaluation."""

    command: str
    date: str
    python: str
    seconds: float
    tries: int
    clocks: int  # width of the widest range, in ticks; -1 if they were not measured
    bugs: tuple[Bug, ...]
