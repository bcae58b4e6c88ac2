# SPDX-License-Identifier: Apache-2.0
"""The native windows against their twins, on random streams of accesses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.tracker_twin import Event, Kind, track, unmix
from tests.conformance.window_twin import (
    FIGURE_1,
    FineKey,
    FineValue,
    FineWindows,
    PatternKey,
    Windows,
    figure_1,
)

from unsnarl.analyses.falcon import suspiciousness
from unsnarl.model.pattern import FINE, PATTERN, PatternKind, Patterns

streams = st.lists(
    st.builds(
        Event,
        thread=st.integers(0, 3),
        point=st.integers(1, 6),
        cell=st.integers(0, 2).map(lambda number: 0x7F00_0000_1000 + 8 * number),
        kind=st.sampled_from([*Kind, Kind.READ, Kind.WRITE, Kind.READ, Kind.WRITE]),
        # A point says whether it reads or writes (format.h).
    ).map(lambda event: event._replace(point=event.point << 4 | (event.kind != Kind.READ))),
    max_size=120,
)
sizes = st.integers(2, 9)


def native(events: list[Event], size: int, *, gated: bool) -> Patterns:
    """What the tracker's own windows leave; gated runs keep every access."""
    _, patterns = track(events, 5, True, "shared", True, gated, True, size)
    rows = np.frombuffer(patterns, dtype=PATTERN).copy()
    rows["cell"] = [unmix(key) for key in rows["cell"].tolist()]
    return rows


@given(streams, sizes)
@settings(deadline=None, max_examples=400)
def test_free_runs_have_the_papers_windows(events: list[Event], size: int) -> None:
    twin = Windows(size).feed(events).drain().patterns
    rows = native(events, size, gated=False)
    found = {
        PatternKey(PatternKind(int(row["kind"])), *(int(row[name]) for name in _KEY[:3])): (
            int(row["count"]),
            int(row["span"]),
        )
        for row in rows
    }
    assert len(found) == len(rows)
    assert found == {key: (value.times, value.span) for key, value in twin.items()}


@given(streams, sizes)
@settings(deadline=None, max_examples=400)
def test_gated_runs_have_finer_windows_too(events: list[Event], size: int) -> None:
    rows = native(events, size, gated=True)
    found = {
        FineKey(row["kind"] % FINE < PatternKind.UNREAD, *(int(row[n]) for n in _KEY)): FineValue(
            int(row["kind"]),
            int(row["span"]),
            (int(row["first_time"]), int(row["other_time"]), int(row["last_time"])),
            int(row["cell"]),
            int(row["count"]),
        )
        for row in rows
    }
    assert len(found) == len(rows)
    assert found == FineWindows(size, max(size, 16)).feed(events).patterns


_KEY = ("first_point", "other_point", "last_point", "first_thread", "other_thread")


@given(streams, sizes)
@settings(deadline=None, max_examples=200)
def test_gated_runs_have_all_that_the_paper_has(events: list[Event], size: int) -> None:
    rows = native(events, size, gated=True)
    own = rows[rows["kind"] < FINE]
    found = {tuple(int(row[name]) for name in ("kind", *_KEY[:3])) for row in own}
    assert found == {tuple(key) for key in Windows(size).feed(events).drain().patterns}


def test_windows_of_size_zero_leave_nothing() -> None:
    assert len(native([Event(0, 1, 8, Kind.WRITE), Event(1, 2, 8, Kind.READ)], 0, gated=True)) == 0


@pytest.mark.parametrize("size", [1, 65])
def test_a_window_has_two_slots_at_least_and_no_more_than_it_can(size: int) -> None:
    with pytest.raises(ValueError, match="out of range"):
        native([], size, gated=False)


def test_figure_1_comes_out_to_the_digit() -> None:
    """Falcon, figure 1(c): scores 0, 0.5, 0, 0.5, from the native windows on."""
    runs = [
        {
            tuple(int(row[f"{which}_point"]) for which in ("first", "other", "last"))
            for row in native(figure_1(one), 5, gated=False)
            if row["kind"] == PatternKind.WWR
        }
        for one in FIGURE_1
    ]
    patterns = [(1, 6, 3), (1, 4, 3), (2, 7, 3), (2, 5, 3)]
    passed = np.array([sum(one in run for run in runs[:3]) for one in patterns])
    failed = np.array([int(one in runs[3]) for one in patterns])
    assert suspiciousness(failed, passed, 1, 3).tolist() == [0, 0.5, 0, 0.5]
