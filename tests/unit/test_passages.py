# SPDX-License-Identifier: Apache-2.0
"""What a thread saw last that let it go on too early, on traces made by hand."""

from __future__ import annotations

from tests.unit.traces import run_of

from unsnarl.experiments.passages import looks, too_late
from unsnarl.experiments.refine import accesses
from unsnarl.model.event import Op
from unsnarl.placement.timeline import Timeline

READ, WRITE = Op.READ, Op.WRITE
JOBS, BUSY, RESULTS, OTHER = 1, 2, 3, 4
# The second thread takes a job; the first one finds none, and nobody busy, and reads the results.
TAKEN = [(2, READ, 20, JOBS), (2, WRITE, 21, JOBS)]
LOOK = [(1, READ, 10, JOBS), (1, READ, 11, BUSY)]
DRAINED = [
    *TAKEN,
    *LOOK,
    (1, READ, 12, RESULTS),
    (2, WRITE, 22, BUSY),
    (2, WRITE, 23, RESULTS),
]


def found(events, failing=1):
    every = accesses(Timeline(run_of(*events)))
    paths = {event.at: event.path for event in every}
    orders = list(too_late(every, paths[next(a for a, e in enumerate(events) if e[0] == failing)]))
    return [[event.at for event in look] for order in orders for look in looks(every, order)]


def test_a_job_that_was_taken_and_a_worker_that_had_not_counted_itself():
    assert found(DRAINED) == [[1, 3, 5]]


def test_the_order_of_the_two_looks_is_of_no_matter():
    assert found([*TAKEN, *reversed(LOOK), *DRAINED[4:]]) == [[1, 2, 5]]


def test_what_the_reader_did_not_look_at_let_nobody_through():
    assert found([(2, WRITE, 21, OTHER), *DRAINED[2:]]) == []
    assert found([*TAKEN, (1, READ, 10, JOBS), *DRAINED[4:]]) == []


def test_what_was_seen_whole_let_nobody_through():
    whole = [*TAKEN, (2, WRITE, 22, BUSY), *LOOK, (1, READ, 12, RESULTS), (2, WRITE, 23, RESULTS)]
    assert found(whole) == []


def test_an_order_of_two_writes_is_none():
    every = accesses(Timeline(run_of(*DRAINED)))
    assert list(looks(every, (every[1], every[5]))) == []
