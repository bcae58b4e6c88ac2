# SPDX-License-Identifier: Apache-2.0
"""The native tracker against its twin, and the twin against cases worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.tracker_twin import (
    CONTEXT_BITS,
    EdgeKey,
    EdgeValue,
    Event,
    Kind,
    Seen,
    Tracker,
    track,
    unpack,
)

from unsnarl.model.graph import CONTEXT_MOST

X, Y = 0x1000, 0x1008
R, W, FORCED, RESET, INIT = Kind
LR, LW, RR, RW = Seen


def context(*newest_first: Seen) -> int:
    """A context from its events."""
    return sum(seen << CONTEXT_BITS * age for age, seen in enumerate(newest_first))


def edges_of(*events: tuple[int, int, int, Kind], **options) -> dict[EdgeKey, EdgeValue]:
    return Tracker(**options).feed(Event(*event) for event in events).edges


def contexts_of(*events: tuple[int, int, int, Kind], **options) -> dict[int, int]:
    return Tracker(**options).feed(Event(*event) for event in events).contexts


def test_a_read_of_another_threads_write_is_an_edge():
    edges = edges_of((0, 10, X, W), (1, 20, X, R))
    assert edges == {EdgeKey(10, 0, 20, 0): EdgeValue(0, 1, 0, 1, X, 1)}


def test_an_empty_context_is_not_one_of_local_reads():
    """Figure 5 of Bugaboo has both: a thread that saw nothing yet, and one that read."""
    before = edges_of((0, 10, X, W), (1, 20, X, R))
    after = edges_of((0, 9, Y, W), (1, 19, Y, R), (0, 10, X, W), (1, 20, X, R))
    assert EdgeKey(10, 0, 20, 0) in before
    assert EdgeKey(10, context(RR), 20, context(LR)) in after
    assert context(LR) != context() != context(LR, LR)


def test_own_reads_and_first_writes_are_no_edges():
    assert edges_of((0, 10, X, W), (0, 20, X, R), (1, 30, Y, W)) == {}


def test_a_write_over_another_threads_write_is_an_edge():
    assert set(edges_of((0, 10, X, W), (1, 20, X, W))) == {EdgeKey(10, 0, 20, 0)}


def test_anti_edges_join_a_read_with_the_write_that_comes_after_it():
    events = [(0, 10, X, W), (1, 20, X, R), (0, 30, X, W)]
    assert EdgeKey(20, 0, 30, context(RR)) not in edges_of(*events)
    edges = edges_of(*events, anti_edges=True)
    assert edges[EdgeKey(20, 0, 30, context(RR))] == EdgeValue(1, 0, 1, 2, X, 1)


def test_an_own_read_is_the_source_of_an_anti_edge_where_asked_for():
    events = [(0, 10, X, W), (0, 20, X, R), (1, 30, X, W)]
    both = edges_of(*events, anti_edges=True, own_reads=True)
    assert set(both) - set(edges_of(*events, anti_edges=True)) == {EdgeKey(20, 0, 30, 0)}


def test_contexts_of_reader_and_writer():
    assert contexts_of((0, 10, X, W), (1, 20, X, R)) == {1: context(LR), 0: context(RR)}


def test_a_write_tells_every_reader_and_the_last_writer():
    seen = contexts_of((0, 1, X, W), (1, 2, X, R), (2, 3, X, R), (3, 4, X, W))
    assert seen == {
        0: context(RW, RR, RR),
        1: context(RW, LR),
        2: context(RW, LR),
        3: context(LW),
    }


def test_a_writer_tells_readers_of_a_cell_that_nobody_wrote():
    assert contexts_of((0, 1, X, R), (1, 2, X, W)) == {1: context(LW), 0: context(RW)}


def test_the_context_of_a_node_is_that_before_its_own_event():
    edges = edges_of((0, 10, X, W), (1, 20, X, R), (1, 30, X, W), (0, 40, X, R))
    assert set(edges) == {
        EdgeKey(10, 0, 20, 0),
        EdgeKey(10, 0, 30, context(LR)),
        EdgeKey(30, context(LR), 40, context(RW, RR)),
    }


def test_an_edge_keeps_its_latest_times_and_counts():
    again = [(0, 10, X, FORCED), (1, 20, X, R)]
    edges = edges_of(*again, *again, context_size=0, first_read=False)
    assert edges == {EdgeKey(10, 0, 20, 0): EdgeValue(0, 1, 2, 3, X, 2)}


@pytest.mark.parametrize(("first_read", "count"), [(True, 1), (False, 2)])
def test_first_read_passes_over_repeated_reads(first_read, count):
    events = [(0, 10, X, W), (1, 20, X, R), (1, 20, X, R)]
    edges = edges_of(*events, context_size=0, first_read=first_read)
    assert edges[EdgeKey(10, 0, 20, 0)].times == count


@pytest.mark.parametrize(("rule", "source"), [("off", 11), ("paper", 10), ("shared", 11)])
def test_first_write_of_the_paper_loses_writes_that_others_have_read_before(rule, source):
    events = [(0, 10, X, W), (1, 20, X, R), (0, 11, X, W), (1, 21, X, R)]
    edges = edges_of(*events, context_size=0, first_read=False, first_write=rule)
    assert EdgeKey(source, 0, 21, 0) in edges


@pytest.mark.parametrize(("rule", "source"), [("off", 11), ("paper", 10), ("shared", 10)])
def test_first_write_passes_over_writes_that_nobody_has_read_between(rule, source):
    edges = edges_of((0, 10, X, W), (0, 11, X, W), (1, 20, X, R), first_write=rule)
    assert set(edges) == {EdgeKey(source, 0, 20, 0)}


def test_a_forced_write_is_never_passed_over():
    edges = edges_of((0, 10, X, W), (0, 11, X, FORCED), (1, 20, X, R), first_write="paper")
    assert set(edges) == {EdgeKey(11, 0, 20, 0)}


def test_a_new_object_has_no_past():
    assert edges_of((0, 10, X, W), (1, 9, X, RESET), (1, 20, X, R)) == {}
    assert set(edges_of((0, 10, X, W), (1, 20, X, INIT), (0, 30, X, R))) == {EdgeKey(20, 0, 30, 0)}


def test_a_context_forgets_its_oldest_event():
    events = [(0, 10, X, W), (1, 20, X, R)] * 3
    assert contexts_of(*events, context_size=2)[1] == context(LR, RW)
    assert contexts_of(*events, context_size=0)[1] == 0


streams = st.lists(
    st.builds(
        Event,
        thread=st.integers(0, 7),
        point=st.integers(0, 9),
        cell=st.integers(0, 11).map(lambda number: 0x7F00_0000_1000 + 8 * number),
        kind=st.sampled_from(Kind),
    ),
    max_size=120,
)


# context size, first read, first write, anti-edges, own reads
options = st.tuples(
    st.integers(0, CONTEXT_MOST),
    st.booleans(),
    st.sampled_from(["off", "paper", "shared"]),
    st.booleans(),
    st.booleans(),
)


@given(streams, options, st.booleans())
@settings(deadline=None, max_examples=500)
def test_the_native_tracker_agrees_with_its_twin(events: list[Event], options, racy_lookup: bool):
    native = unpack(track(events, *options, racy_lookup)[0])
    assert native == Tracker(*options).feed(events).edges


@given(streams, options, st.booleans(), st.integers(2, 9))
@settings(deadline=None, max_examples=300)
def test_windows_leave_the_edges_alone(events: list[Event], options, racy_lookup: bool, size: int):
    native = unpack(track(events, *options, racy_lookup, size)[0])
    assert native == Tracker(*options).feed(events).edges
