# SPDX-License-Identifier: Apache-2.0
"""The graph of a trace: by the tracker that runs inside targets, over what one of them took.

With the options of the run it is the run's own graph, edge for edge; with others, what that run's
graph would have been: without edges from reads, or with whole cache lines for cells.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from unsnarl import _core
from unsnarl.model.access_trace import TrackerOptions
from unsnarl.model.graph import EDGE, Edges
from unsnarl.model.pattern import PATTERN, Patterns
from unsnarl.traces.files import Trace

# Bits of an address that are not looked at: with none left, cells are the trace's own.
OWN_CELLS = 64
WORDS = 3
LINES = 6  # of 64 bytes


class Tracked(NamedTuple):
    """What the tracker made of a trace; points are raw."""

    edges: Edges
    patterns: Patterns


def track(trace: Trace, options: TrackerOptions | None = None, bits: int = OWN_CELLS) -> Tracked:
    """Track a trace again.

    Args:
        options: How; as in the run itself if it is not said.
        bits: Cells are addresses without so many low bits.
    """
    settings = msgspec.structs.asdict(options or trace.options)
    # Whoever writes events down has no fast paths: they would leave times of windows out.
    tracker = _core.Tracker(**settings, racy_lookup=False, bits=bits)
    for block in trace.blocks():
        tracker.feed(block)
    edges, patterns = tracker.result()
    return Tracked(np.frombuffer(edges, EDGE), np.frombuffer(patterns, PATTERN))
