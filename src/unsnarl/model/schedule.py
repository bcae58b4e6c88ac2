# SPDX-License-Identifier: Apache-2.0
"""Schedules: which thread runs until which event. Following the schedule of a run repeats it."""

from __future__ import annotations

import msgspec


class Segment(msgspec.Struct, frozen=True, array_like=True):
    """The thread of `path` runs until its own event counter stands at `until`.

    It takes up at `point`, where it is for the `occurrence`-th time. One that was waiting when the
    run ended has a last segment in which it does nothing.
    """

    path: str
    until: int
    point: int
    occurrence: int = 0


# In the order of time. Holds in the process that made it, and in others with the same sites;
# replay/anchors.py has the form that survives edits.
Schedule = tuple[Segment, ...]
