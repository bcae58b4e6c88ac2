# SPDX-License-Identifier: Apache-2.0
"""Access patterns: two or three accesses of one cell by alternating threads (Falcon 2.1)."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import numpy.typing as npt


class PatternKind(enum.IntEnum):
    """Falcon's tables 1 and 2; letters are reads and writes, the first and the last by one thread.

    The numbers are those of enum uns_pattern_kind in format.h.
    """

    RW = 1
    WR = 2
    WW = 3
    RWR = 4
    WWR = 5
    WRW = 6
    RWW = 7
    WWW = 8

    @property
    def is_triple(self) -> bool:
        """Whether it is an unserialisable triple (table 2) rather than a conflicting pair."""
        return self >= PatternKind.RWR

    @property
    def notation(self) -> str:
        """As the paper writes it: R1-W2-R1."""
        return "-".join(f"{op}{1 + at % 2}" for at, op in enumerate(self.name))


# Added to a kind: the pattern joins accesses that Falcon's windows merge away (windows.c).
FINE = 16

# One row per pattern of a run, unique by its points; times and threads are those of its latest
# occurrence. A pair has no last access: its point and time are 0. `span` is the smallest window
# that shows it. As in a graph, points are campaign-wide indexes.
PATTERN = np.dtype(
    [
        ("first_point", "<u4"),
        ("other_point", "<u4"),
        ("last_point", "<u4"),
        ("first_thread", "<u2"),
        ("other_thread", "<u2"),
        ("first_time", "<u8"),
        ("other_time", "<u8"),
        ("cell", "<u8"),
        ("count", "<u4"),
        ("kind", "<u2"),
        ("span", "<u2"),
        ("last_time", "<u8"),
    ]
)

Patterns = npt.NDArray[Any]


def falcon_only(patterns: Patterns) -> Patterns:
    """The patterns that Falcon's own windows show (3.1)."""
    kept: Patterns = patterns[patterns["kind"] < FINE]
    return kept


def kinds_of(patterns: Patterns) -> npt.NDArray[np.uint16]:
    """Every pattern's kind, whichever window showed it."""
    kinds: npt.NDArray[np.uint16] = patterns["kind"] % FINE
    return kinds
