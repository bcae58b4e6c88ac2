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

    # Compared as ranges elsewhere: pairs are below RWR, unserialisable triples from RWR to WWW.
    RW = 1
    WR = 2
    WW = 3
    RWR = 4
    WWR = 5
    WRW = 6
    RWW = 7
    WWW = 8
    UNREAD = 9
    REREAD = 10

    @property
    def is_triple(self) -> bool:
        """Whether it has three accesses rather than two."""
        return self >= PatternKind.RWR

    @property
    def roles(self) -> tuple[int, ...]:
        """The thread of each access, 1 or 2."""
        return _ROLES.get(self, (1, 2, 1))[: 3 if self.is_triple else 2]

    @property
    def notation(self) -> str:
        """As Falcon writes it: R1-W2-R1."""
        letters = _LETTERS.get(self, self.name)
        return "-".join(f"{op}{role}" for op, role in zip(letters, self.roles, strict=True))


# Not in Falcon's tables: nobody came between the thread's two accesses, and somebody should have.
_ROLES = {PatternKind.UNREAD: (1, 1, 2), PatternKind.REREAD: (1, 2, 2)}
_LETTERS = {PatternKind.UNREAD: "WWR", PatternKind.REREAD: "WRR"}


# Added to a kind: the pattern joins accesses that Falcon's windows merge away (windows.c).
FINE = 16

# One row per pattern of a run, unique by its points (in gated runs also by its threads); times and
# threads are those of its latest occurrence. A pair has no last access: its point and time are 0.
# `span` is the smallest window that shows it. As in a graph, points are campaign-wide indexes.
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


def kinds_of(patterns: Patterns) -> npt.NDArray[np.uint16]:
    """Every pattern's kind, whichever window showed it."""
    kinds: npt.NDArray[np.uint16] = patterns["kind"] % FINE
    return kinds
