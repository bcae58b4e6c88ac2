# SPDX-License-Identifier: Apache-2.0
"""Traced runs made by hand."""

from types import SimpleNamespace

import numpy as np

from unsnarl.model.event import Op
from unsnarl.model.run import Wait
from unsnarl.runfile.layout import TRACE


def run_of(*events, waiting=(), heads=range(1, 100)):
    """Each event: thread, operation, site, cell. A thread can be held at the accesses of heads."""
    trace = np.zeros(len(events), dtype=TRACE)
    for row, (thread, op, site, cell) in zip(trace, events, strict=True):
        row["thread"], row["point"], row["cell"] = thread, site << 4 | op, cell
    waits = [Wait(thread, site << 4 | Op.WAIT, -1, cell) for thread, site, cell in waiting]
    return SimpleNamespace(
        trace=trace,
        threads=[SimpleNamespace(path=path) for path in ("0", "0.1", "0.2")],
        due=(),
        ends={},
        standstill=None,
        stuck_waits=waits,
        final_waits=waits,
        counts=np.array([(0, site, 0, site) for site in heads]),
    )
