# SPDX-License-Identifier: Apache-2.0
"""The layout of a run file, the twin of native/include/unsnarl/format.h."""

from __future__ import annotations

import enum
import struct

import numpy as np

from unsnarl.model.evidence import ORDER
from unsnarl.model.graph import EDGE
from unsnarl.model.pattern import PATTERN
from unsnarl.model.record import BRANCH, LOG, VALUE

MAGIC = b"UNSNARL\x1a"
# Raised when a record's layout changes; a new section needs no new version: readers skip it.
VERSION = 2

# magic, version, sections, size of file, reserved
FILE_HEADER = struct.Struct("<8sIIQQ")
# kind, record size, payload bytes
SECTION_HEADER = struct.Struct("<IIQ")
ALIGNMENT = 8

# UINT32_MAX in a wait's owner: nobody will release what it waits for.
NOBODY = 0xFFFF_FFFF


class Section(enum.IntEnum):
    """Kinds of sections (enum uns_section)."""

    NOTES = 1
    THREADS = 2
    EDGES = 3
    SCHEDULE = 4
    COUNTS = 5
    SHARED = 6
    COUNTERS = 7
    WAITS = 8
    TRACE = 9
    PATTERNS = 10
    ORDERS = 11
    RULES = 12
    PAIRS = 13
    LOG = 14
    VALUES = 15
    BRANCHES = 16
    PENDING = 17
    LATEST = 18
    STANDSTILLS = 19
    EVENTS = 20


class StandstillFlag(enum.IntFlag):
    """Bits of a standstill record's flags (UNS_STANDSTILL_*)."""

    RAN_OUT = 1
    ALONE = 2


class ThreadFlag(enum.IntFlag):
    """Bits of a thread record's flags (UNS_THREAD_*)."""

    CONTROLLED = 1
    ENDED = 2
    DAEMON = 4
    ALIASED = 8


THREAD = np.dtype(
    [
        ("index", "<u4"),
        ("parent", "<u4"),
        ("flags", "<u4"),
        ("kind", "<u4"),
        ("events", "<u8"),
        ("path", "S48"),
        ("name", "S64"),
    ]
)
SEGMENT = np.dtype([("thread", "<u4"), ("point", "<u4"), ("until", "<u4"), ("occurrence", "<u4")])
COUNT = np.dtype(
    [
        ("thread", "<u4"),
        ("site", "<u4"),
        ("count", "<u4"),
        ("head", "<u4"),
        ("remote", "<u4"),
        ("reserved", "<u4"),
    ]
)
WAIT = np.dtype(
    [
        ("thread", "<u4"),
        ("point", "<u4"),
        ("owner", "<u4"),
        ("taken", "<u4"),
        ("object", "<u8"),
        ("taken_time", "<u8"),
    ]
)
TRACE = np.dtype(
    [("time", "<u8"), ("cell", "<u8"), ("point", "<u4"), ("thread", "<u2"), ("context", "<u2")]
)
# In the context of a traced access: it is part of the operation before it (UNS_TRACE_FOLLOWS).
TRACE_FOLLOWS = 0x8000
STANDSTILL = np.dtype(
    [
        *((name, WAIT[name]) for name in WAIT.names or ()),
        ("time", "<u8"),
        ("limit", "<u8"),
        ("number", "<u4"),
        ("flags", "<u4"),
    ]
)
PENDING = np.dtype([("thread", "<u4"), ("point", "<u4"), ("cell", "<u8")])
RULE = np.dtype(
    [
        ("activated", "<u4"),
        ("satisfied", "<u4"),
        ("released", "<u4"),
        ("abandoned", "<u4"),
        ("active", "<u4"),
        ("dropped", "<u4"),
        ("held", "<u8"),
        ("first_release", "<u8"),
    ]
)

# The record of each section; notes are text and have none.
RECORDS = {
    Section.THREADS: THREAD,
    Section.EDGES: EDGE,
    Section.SCHEDULE: SEGMENT,
    Section.COUNTS: COUNT,
    Section.SHARED: np.dtype("<u4"),
    Section.COUNTERS: np.dtype("<u8"),
    Section.WAITS: WAIT,
    Section.TRACE: TRACE,
    Section.PATTERNS: PATTERN,
    Section.ORDERS: ORDER,
    Section.RULES: RULE,
    Section.PAIRS: PATTERN,
    Section.LOG: LOG,
    Section.VALUES: VALUE,
    Section.BRANCHES: BRANCH,
    Section.PENDING: PENDING,
    Section.LATEST: TRACE,
    Section.STANDSTILLS: STANDSTILL,
}

# Names of the counters, in the order of enum uns_counter.
COUNTERS = (
    "events",
    "steps",
    "switches",
    "edges_dropped",
    "cells_evicted",
    "stalls",
    "diverged",
    "diverged_at",
    "uncontrolled",
    "aliased",
    "trace_dropped",
    "schedule_dropped",
    "patterns_dropped",
    "diverged_segment",
    "log_dropped",
    "sketch_passed",
    "waits_holding",
)
