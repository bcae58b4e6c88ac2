# SPDX-License-Identifier: Apache-2.0
"""Events: what threads did, one by one, in a run.

A point is a site and an operation in one number, as the probes count them: the operation in the low
four bits (format.h, enum uns_op). These functions are the only ones that know that. Used inside
targets as well: standard library only.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # targets import this module, and may have no numpy
    import numpy.typing as npt

OP_BITS = 4
# Sites from here on belong to code that one run loaded: in another run they are other code.
PRIVATE_SITES = 1 << 27
_OP_MASK = (1 << OP_BITS) - 1

# Thread path, point and occurrence: what an event is called in every run.
EventKey = tuple[str, int, int]


class Op(enum.IntEnum):
    """What was done at a site; the low four bits of a point (format.h, enum uns_op)."""

    READ = 0
    WRITE = 1
    ACQUIRE = 2
    RELEASE = 3
    WAIT = 4
    START = 5
    BEGIN = 6
    END = 7
    JOIN = 8
    SLEEP = 9
    CALL = 10
    ENTER = 11
    EXIT = 12
    BLOCK = 13

    @property
    def is_sync(self) -> bool:
        """Whether the operation is on a lock or a thread rather than on data."""
        # In format.h these are numbered consecutively.
        return Op.ACQUIRE <= self <= Op.SLEEP

    @property
    def word(self) -> str:
        """The word that reports use."""
        return self.name.lower()


# By number: making an enumeration's member from a number takes ten times as long.
_OPS = tuple(Op)
_IS_ACCESS = tuple(not op.is_sync for op in _OPS)


def site_of(point: int) -> int:
    """The site of a point; 0 where no code of the target is on the stack."""
    return point >> OP_BITS


def op_of(point: int) -> Op:
    """The operation of a point."""
    return _OPS[point & _OP_MASK]


def sites_of(points: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The sites of an array of points."""
    sites: npt.NDArray[Any] = points >> OP_BITS
    return sites


def ops_of(points: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The operations of an array of points, as numbers."""
    ops: npt.NDArray[Any] = points & _OP_MASK
    return ops


def point_of(site: int, op: Op) -> int:
    """The point of a site and an operation."""
    return site << OP_BITS | op


def with_op(point: int, op: Op) -> int:
    """The point of the same site with another operation."""
    return point & ~_OP_MASK | op


class Event(NamedTuple):
    """One event of a traced run: the `occurrence`-th of its point in its thread.

    Attributes:
        at: Its index in the trace: its time.
        path: Its thread.
    """

    at: int
    path: str
    point: int
    occurrence: int
    cell: int

    @property
    def key(self) -> EventKey:
        """What it is called in every run."""
        return (self.path, self.point, self.occurrence)

    @property
    def site(self) -> int:
        """Its site; 0 where no code of the target is on the stack."""
        return site_of(self.point)

    @property
    def op(self) -> Op:
        """What was done."""
        return _OPS[self.point & _OP_MASK]  # not op_of(): traces are long

    @property
    def writes(self) -> bool:
        """Whether it changes its cell; lock operations do."""
        return self.op is not Op.READ

    @property
    def is_access(self) -> bool:
        """Whether it is about data rather than about a lock or a thread."""
        return _IS_ACCESS[self.point & _OP_MASK]
