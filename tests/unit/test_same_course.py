# SPDX-License-Identifier: Apache-2.0
"""In how many fresh runs accesses came in the order in which they are shown."""

from types import SimpleNamespace

import numpy as np

from unsnarl.experiments.completion import same_course
from unsnarl.model.event import Event, Op, point_of

READ, WRITE = point_of(1, Op.READ), point_of(2, Op.WRITE)
CHECK, LATE = Event(0, "0.1", READ, 1, 7), Event(1, "0.2", WRITE, 1, 7)


def run(*rows):
    """Each event: thread and point."""
    trace = np.array([(point, thread) for thread, point in rows], dtype="u4,u4")
    trace.dtype.names = ("point", "thread")
    threads = [SimpleNamespace(path=path) for path in ("0.1", "0.2")]
    return SimpleNamespace(trace=trace, threads=threads)


def test_runs_with_the_same_order_are_counted():
    as_shown, turned = run((0, READ), (1, WRITE)), run((1, WRITE), (0, READ))
    without = run((0, READ))
    assert same_course([as_shown, as_shown, turned, without], [CHECK, LATE]) == (2, 4)


def test_accesses_that_do_not_conflict_say_nothing():
    other = LATE._replace(cell=8)
    assert same_course([run((0, READ), (1, WRITE))], [CHECK, other]) == (0, 0)
    mine = LATE._replace(path="0.1")
    assert same_course([run((0, READ), (0, WRITE))], [CHECK, mine]) == (0, 0)
