# SPDX-License-Identifier: Apache-2.0
"""A whole run as values: every event of every thread, in the order of time."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class TracedEvent(msgspec.Struct, frozen=True):
    """One event of a traced run.

    Attributes:
        op: As in a finding's points: read, write, acquire, …
        cell: What was touched: equal numbers are one location.
        source: The index of another thread's write that this read took, or -1.
    """

    thread: str
    op: str
    file: str
    line: int
    function: str
    text: str
    variable: str
    cell: int
    source: int = -1


class RunTrace(msgspec.Struct, frozen=True):
    """A failing run, replayed with every event kept.

    Attributes:
        threads: The program's own names of its threads, by path.
        failing: The path of the thread that failed.
        dropped: Events that there was no room for, after those here.
    """

    run: int
    signature: str
    threads: Mapping[str, str]
    failing: str
    events: tuple[TracedEvent, ...]
    dropped: int = 0
