# SPDX-License-Identifier: Apache-2.0
"""An access trace: everything that the tracker was given in one run, in the order it took it."""

from __future__ import annotations

import enum
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from unsnarl.model.plan import Plan

# By struct uns_event_record of format.h; points are raw (site << 4 | operation).
EVENT = np.dtype(
    [
        ("time", "<u8"),
        ("cell", "<u8"),
        ("address", "<u8"),
        ("point", "<u4"),
        ("thread", "<u2"),
        ("kind", "u1"),
        ("reserved", "u1"),
    ]
)
NO_THREAD = 0xFFFF

Events = npt.NDArray[Any]


class EventKind(enum.IntEnum):
    """What the tracker was given (enum uns_event_kind)."""

    READ = 1
    WRITE = 2
    FORCED = 3
    FORGET = 4
    NEW = 5
    WAIT = 6
    THREAD = 7


# Those that touch memory: what is counted as one access.
ACCESSES = (EventKind.READ, EventKind.WRITE, EventKind.FORCED, EventKind.NEW)


class TrackerOptions(msgspec.Struct, frozen=True):
    """How the tracker was set while a trace was made; the names are those of a plan."""

    context_size: int = 5
    first_read: bool = True
    first_write: Literal["shared", "paper", "off"] = "shared"
    anti_edges: bool = True
    own_reads: bool = False
    window_size: int = 0


UNGATED = ("free", "noise", "record")
WINDOW = 5  # UNS_WINDOW_DEFAULT


def options_of(plan: Plan) -> TrackerOptions:
    """How the tracker of a plan's run is set."""
    return TrackerOptions(
        context_size=plan.context_size,
        first_read=plan.first_read,
        first_write=plan.first_write,
        anti_edges=plan.anti_edges,
        own_reads=plan.own_reads and plan.strategy not in UNGATED,
        window_size=WINDOW if plan.window_size is None else plan.window_size,
    )
