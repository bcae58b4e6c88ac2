# SPDX-License-Identifier: Apache-2.0
"""Captures: what a replay noted of single events, values among it (probes/python/capture.py).

A C program's replay notes addresses and bytes; the parent turns them into the same entries
(probes/native/captured.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from unsnarl.model.event import EventKey
from unsnarl.model.run import Frame


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    """One entry of a `values` note, as it is written."""

    event: int
    point: int
    path: str
    value: str
    lock_names: tuple[str, ...] = ()
    variable: str = ""
    held: tuple[tuple[int, int], ...] = ()
    cell: tuple[int, str, int] = (0, "", 0)
    stack: tuple[Frame, ...] = ()


class HeldLock(NamedTuple):
    """A lock that the event's thread held.

    Attributes:
        number: Distinguishes the locks of a run, where names may be shared.
        section: Which time it was taken, counted over all locks.
    """

    name: str
    number: int
    section: int


class Capture(msgspec.Struct, frozen=True):
    """What was noted of one event: the `occurrence`-th of its point in its thread.

    Attributes:
        event: Its index among the events of the run.
        value: What was read, or what a write left; "" if nothing can be shown.
        variable: What the program calls the cell, without the element.
        object: The number of the object that has the cell. Objects are numbered as they are met.
        element: Which element of the object it is, as `['tea']`.
        owner: The number of the object whose attribute `object` is; 0 if there is none.
        stack: The target's own calls that led here, innermost first.
    """

    event: int
    path: str
    point: int
    occurrence: int
    value: str = ""
    variable: str = ""
    object: int = 0
    element: str = ""
    owner: int = 0
    locks: tuple[HeldLock, ...] = ()
    stack: tuple[Frame, ...] = ()

    @property
    def key(self) -> EventKey:
        """What its event is called in every run."""
        return (self.path, self.point, self.occurrence)


def read_captures(values: Sequence[Any]) -> tuple[Capture, ...]:
    """The entries of `values` notes, in the order of time; raises ValueError if one is damaged."""
    counts: Counter[tuple[str, int]] = Counter()
    found = []
    for entry in msgspec.convert(values, type=list[_Entry]):
        # All events of a captured point are noted, so counting them gives the occurrence.
        counts[entry.path, entry.point] += 1
        found.append(_capture(entry, counts[entry.path, entry.point]))
    return tuple(found)


def _capture(entry: _Entry, occurrence: int) -> Capture:
    named = zip(entry.lock_names, entry.held, strict=True)
    thing, element, owner = entry.cell
    return Capture(
        event=entry.event,
        path=entry.path,
        point=entry.point,
        occurrence=occurrence,
        value=entry.value,
        variable=entry.variable,
        object=thing,
        element=element,
        owner=owner,
        locks=tuple(HeldLock(name, number, section) for name, (number, section) in named),
        stack=entry.stack,
    )
