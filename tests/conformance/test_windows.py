# SPDX-License-Identifier: Apache-2.0
"""The twin of the windows against cases worked out by hand, and the figures of the paper."""

from __future__ import annotations

import pytest
from tests.conformance.tracker_twin import Event, Kind
from tests.conformance.window_twin import (
    FIGURE_1,
    PatternKey,
    PatternValue,
    Windows,
    X,
    Y,
    accesses,
    figure_1,
    written,
)

from unsnarl.model.pattern import PATTERN, PatternKind

RW, WR, WW, RWR, WWR, WRW, RWW, WWW = list(PatternKind)[:8]

Found = set[tuple[PatternKind, int, int, int]]


def found(trace: str, size: int = 5) -> Found:
    return set(Windows(size).feed(accesses(trace)).drain().patterns)


@pytest.mark.parametrize(
    ("trace", "kind"), [("R1,1-W2,2", RW), ("W1,1-R2,2", WR), ("W1,1-W2,2", WW)]
)
def test_conflicting_pairs_of_table_1(trace, kind):
    assert found(trace) == {(kind, 1, 2, 0)}


def test_two_reads_are_no_conflict():
    assert found("R1,1-R2,2") == set()
    assert found("W1,1") == set()


@pytest.mark.parametrize(
    ("trace", "kind", "rest"),
    [
        ("R1,1-W2,2-R1,3", RWR, {(WR, 2, 3, 0)}),
        ("W1,1-W2,2-R1,3", WWR, {(WR, 2, 3, 0)}),
        ("W1,1-R2,2-W1,3", WRW, {(RW, 2, 3, 0)}),
        ("R1,1-W2,2-W1,3", RWW, {(WW, 2, 3, 0)}),
        ("W1,1-W2,2-W1,3", WWW, {(WW, 2, 3, 0)}),
    ],
)
def test_unserialisable_triples_of_table_2(trace, kind, rest):
    assert found(trace) == {(kind, 1, 2, 3)} | rest


@pytest.mark.parametrize(
    ("trace", "pairs"),
    [
        ("R1,1-R2,2-R1,3", set()),
        ("R1,1-R2,2-W1,3", {(RW, 2, 3, 0)}),
        ("W1,1-R2,2-R1,3", {(WR, 1, 2, 0)}),
    ],
)
def test_a_serialisable_triple_leaves_its_pairs(trace, pairs):
    assert found(trace) == pairs


def test_a_pair_that_is_part_of_a_triple_is_not_counted_again():
    assert (RW, 1, 2, 0) not in found("R1,1-W2,2-R1,3")


def test_a_pair_is_of_neighbours():
    assert found("R1,1-R2,2-W3,3") == {(RW, 2, 3, 0)}


@pytest.mark.parametrize(
    ("trace", "window"),
    [
        ("R1,1-R1,2", "R1,2"),
        ("R1,1-W1,2", "W1,2"),
        ("W1,1-W1,2", "W1,2"),
        ("W1,1-R1,2", "W1,1"),
        ("W1,1-R1,2-W1,3-R1,4", "W1,3"),
    ],
)
def test_a_thread_in_a_row_has_one_slot_and_prefers_its_write(trace, window):
    assert written(Windows().feed(accesses(trace)).windows[X]) == window


def test_all_triples_from_the_oldest_slot_are_found():
    """Falcon 3.1: R1-W2-W3-...-Wn-R1 has n - 1 patterns, which n + 1 slots will show."""
    trace = "R1,1-W2,2-W3,3-W4,4-R1,5"
    triples = {(RWR, 1, 2, 5), (RWR, 1, 3, 5), (RWR, 1, 4, 5)}
    assert found(trace, 5) >= triples
    assert not found(trace, 4) & triples


def test_the_middle_of_a_triple_is_never_the_first_thread():
    assert found("R1,1-W2,2-W1,3-R3,4-R1,5") == {
        (RWW, 1, 2, 3),
        (RWR, 1, 2, 5),
        (WW, 2, 3, 0),
        (WR, 3, 4, 0),
    }


def test_the_example_of_section_4_3_needs_five_slots():
    trace = "R1,1-R3,2-W2,3-R3,4-R1,5"
    assert (RWR, 1, 3, 5) in found(trace, 5)
    assert (RWR, 1, 3, 5) not in found(trace, 4)


def test_patterns_come_out_when_a_full_window_slides():
    windows = Windows(3).feed(accesses("R1,1-W2,2-R1,3"))
    assert windows.counts() == {}
    assert windows.feed(accesses("W2,4")).counts() == {(RWR, 1, 2, 3): 1}
    assert written(windows.windows[X]) == "W2,2-R1,3-W2,4"


def test_a_pattern_keeps_its_latest_times_and_counts():
    patterns = Windows(2).feed(accesses("W1,1-R2,2-W1,1-R2,2")).drain().patterns
    assert patterns[PatternKey(WR, 1, 2, 0)] == PatternValue(1, 2, 2, 3, 0, X, 2, 2)
    assert patterns[PatternKey(RW, 2, 1, 0)] == PatternValue(2, 1, 1, 2, 0, X, 2, 1)


def test_the_span_of_a_pattern_is_the_smallest_window_that_shows_it():
    patterns = Windows().feed(accesses("R1,1-R3,2-W2,3-R3,4-R1,5")).drain().patterns
    assert patterns[PatternKey(RWR, 1, 3, 5)].span == 5
    again = Windows().feed(accesses("R1,1-R3,2-W2,3-R1,5-R3,4-R1,1-W2,3-R1,5")).drain().patterns
    assert again[PatternKey(RWR, 1, 3, 5)].span == 3


def test_the_latest_occurrence_is_that_of_time_and_not_of_the_order_of_cells():
    events = [*accesses("W1,1", Y), *accesses("W1,1-R2,2", X), *accesses("R2,2", Y)]
    for some in (events, [events[1], events[0], *events[2:]]):
        (value,) = Windows().feed(some).drain().patterns.values()
        assert (value.cell, value.other_time, value.times) == (Y, 3, 2)


def test_of_two_triples_with_one_middle_the_one_that_began_later_stays():
    patterns = Windows().feed(accesses("R1,1-R2,2-R1,1-W2,3-R1,4")).drain().patterns
    assert patterns[PatternKey(RWR, 1, 3, 4)] == PatternValue(1, 2, 2, 3, 4, X, 3, 2)


def test_cells_have_windows_of_their_own():
    events = [*accesses("R1,1", X), *accesses("W2,2", Y), *accesses("R1,3", X)]
    assert Windows().feed(events).drain().patterns == {}


def test_a_new_object_has_no_past():
    reset, init = Event(2, 9, X, Kind.RESET), Event(2, 9, X, Kind.INIT_WRITE)
    before, after = accesses("R1,1-W2,2"), accesses("R1,3")
    assert set(Windows().feed([*before, reset, *after]).drain().patterns) == {(RW, 1, 2, 0)}
    born = Windows().feed([*before, init, *after]).drain()
    assert set(born.patterns) == {(RW, 1, 2, 0), (WR, 9, 3, 0)}


def test_lock_operations_have_no_windows():
    events = [Event(1, 1, X, Kind.FORCED_WRITE), Event(2, 2, X, Kind.FORCED_WRITE)]
    assert Windows().feed(events).drain().patterns == {}


def test_rows_say_the_same_as_the_patterns():
    windows = Windows().feed(accesses("R1,1-W2,2-R1,3")).drain()
    by_kind = {int(row["kind"]): row for row in windows.rows()}
    points = {"first_point": 1, "other_point": 2, "last_point": 3}
    times = {"first_time": 0, "other_time": 1, "last_time": 2}
    rest = {"first_thread": 1, "other_thread": 2, "cell": X, "count": 1, "kind": RWR, "span": 3}
    expected = points | times | rest
    assert {name: by_kind[RWR][name] for name in PATTERN.names or ()} == expected
    assert (by_kind[WR]["last_point"], by_kind[WR]["last_time"]) == (0, 0)


@pytest.mark.parametrize("execution", FIGURE_1)
def test_the_simplified_traces_of_figure_1(execution):
    windows = Windows().feed(figure_1(execution)).windows
    assert (written(windows[X]), written(windows[Y])) == execution[2:]


def test_the_triples_of_figure_1():
    """Figure 1(c), in the order of its rows: which runs have which pattern."""
    runs = [set(Windows().feed(figure_1(one)).drain().patterns) for one in FIGURE_1]
    having = {
        pattern: [number for number, run in enumerate(runs, 1) if pattern in run]
        for pattern in set.union(*runs)
        if pattern.kind.is_triple
    }
    assert having == {
        (WWR, 1, 6, 3): [1, 2],
        (WWR, 1, 4, 3): [3, 4],
        (WWR, 2, 7, 3): [1, 3],
        (WWR, 2, 5, 3): [2, 4],
    }


class TestFigure2:
    """The second execution of figure 1(b)."""

    x = "R1,1-W1,1-R3,6-W3,6-R2,4-R1,3"
    y = "R1,2-W1,2-R2,5-W2,5-R3,7-R1,3"

    def test_a_window_of_three_shows_a_pair_of_x(self):
        before = Windows(3).feed(accesses(self.x)[:-1])
        assert (written(before.windows[X]), before.counts()) == ("W1,1-W3,6-R2,4", {})
        after = before.feed(accesses(self.x)[-1:])
        assert (written(after.windows[X]), after.counts()) == (
            "W3,6-R2,4-R1,3",
            {(WW, 1, 6, 0): 1},
        )

    def test_only_a_window_of_four_shows_the_triple_of_y(self):
        assert (WWR, 2, 5, 3) not in found(self.y, 3)
        assert (WWR, 2, 5, 3) in found(self.y, 4)
        assert written(Windows(4).feed(accesses(self.y)).windows[X]) == "W1,2-W2,5-R3,7-R1,3"
