# SPDX-License-Identifier: Apache-2.0
"""A recorded run: what its threads logged while they truly overlapped (ReCBuLC IV)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from unsnarl.model.choices import Level, Order

# Those that PRES is measured with; CLAP is, with functions and loops (ReCBuLC V.A, V.B).
PRES_LEVELS: tuple[Level, ...] = ("sync", "func", "block", "access")
CLAP_LEVELS: tuple[Level, ...] = ("func", "loop", "funcloop")

# By the records of format.h; points are raw (site << 4 | operation).
LOG = np.dtype([("stamp", "<u8"), ("point", "<u4"), ("thread", "<u2"), ("core", "<u2")])
VALUE = np.dtype(
    [
        ("cell", "<u8"),
        ("value", "<u8"),
        ("point", "<u4"),
        ("position", "<u4"),
        ("thread", "<u2"),
        ("flags", "<u2"),
        ("reserved", "<u4"),
    ]
)
BRANCH = np.dtype([("bits", "<u8"), ("position", "<u4"), ("thread", "<u2"), ("count", "<u2")])
MOST_BRANCHES = 64

Log = npt.NDArray[Any]
Values = npt.NDArray[Any]


class Recorded(msgspec.Struct, frozen=True):
    """How a run was recorded; a note of its run file.

    Attributes:
        fenced: Every stamp proves an order between cores. Otherwise only those of acquired locks,
            and of threads that begin and end, do; the others may be off by `slack` ticks.
        accesses: Besides, everything that the tracker was given is in a trace of its own.
        clocks: What is known of the cores' clocks, as recording.clocks keeps it; empty if nothing.
    """

    level: Level
    order: Order = "clocks"
    fenced: bool = False
    values: bool = False
    branches: bool = False
    accesses: bool = False
    slack: int = 0
    clocks: Mapping[str, Any] = {}

    @property
    def loops(self) -> bool:
        """Whether it has events of loops."""
        return self.level in ("loop", "funcloop")


class ThreadLog(msgspec.Struct, frozen=True):
    """What one thread logged, in its own order.

    Attributes:
        events: Rows of LOG.
        values: Rows of VALUE: what its accesses found or left. `position` says how many of its
            events came before.
        branches: The outcomes of its branches.
    """

    thread: int
    path: str
    events: Log
    values: Values
    branches: npt.NDArray[np.bool_]


class Record(msgspec.Struct, frozen=True):
    """A recorded run: the logs of its threads, by index."""

    how: Recorded
    threads: tuple[ThreadLog, ...]

    @property
    def events(self) -> int:
        """The events of all threads."""
        return sum(len(thread.events) for thread in self.threads)


def outcomes(rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """The branches of one thread as booleans, first one first, from rows of BRANCH."""
    positions = np.arange(MOST_BRANCHES, dtype=np.uint64)
    bits = (rows["bits"][:, None] >> positions) & np.uint64(1)
    used = positions < rows["count"][:, None].astype(np.uint64)
    return bits[used].astype(np.bool_)
