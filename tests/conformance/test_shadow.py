# SPDX-License-Identifier: Apache-2.0
"""The tracker's other store, shadow memory, against the same twin."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance import tracker_twin
from tests.conformance.test_tracker import R, W, streams
from tests.conformance.tracker_twin import EdgeKey, EdgeValue, Event, Tracker, unpack

from unsnarl.model.graph import CONTEXT_MOST

X = 0x7F00_0000_1000
OFTEN = 64  # native/tracker/shadow.c: from here on a pair of points is no news
STEP = 64


def track(events: list[Event], *options, racy_lookup: bool = True) -> dict[EdgeKey, EdgeValue]:
    native = tracker_twin.track(events, *options, racy_lookup=racy_lookup, shadow=True)
    return unpack(native[0], mixed=False)


# context size, first read, first write
options = st.tuples(
    st.integers(0, CONTEXT_MOST), st.booleans(), st.sampled_from(["off", "paper", "shared"])
)


@given(streams, options, st.booleans())
@settings(deadline=None, max_examples=500)
def test_the_shadow_agrees_with_the_twin(events: list[Event], options, racy_lookup: bool):
    assert track(events, *options, racy_lookup=racy_lookup) == Tracker(*options).feed(events).edges


def test_neighbouring_words_are_apart_and_bytes_of_a_word_are_not():
    apart = [Event(0, 1, X, W), Event(1, 2, X + 8, R)]
    together = [Event(0, 1, X, W), Event(1, 2, X + 7, R)]
    assert not track(apart, 5, True, "shared")
    assert set(track(together, 5, True, "shared")) == {EdgeKey(1, 0, 2, 0)}


def ping_pong(rounds: int) -> list[Event]:
    """Thread 0 writes, thread 1 reads, again and again."""
    return [Event(0, 10, X, W), Event(1, 20, X, R)] * rounds


def by_points(edges: dict[EdgeKey, EdgeValue]) -> Counter[tuple[int, int]]:
    counts: Counter[tuple[int, int]] = Counter()
    for key, value in edges.items():
        counts[key.source_point, key.sink_point] += value.times
    return counts


def test_what_is_seen_often_is_still_counted_and_its_times_stay_fresh():
    rounds = 20 * OFTEN
    edges = track(ping_pong(rounds), 0, True, "shared")
    (value,) = edges.values()
    assert rounds - STEP < value.times <= rounds
    assert 2 * (rounds - STEP) <= value.sink_time < 2 * rounds


def test_a_rare_pair_is_seen_among_frequent_ones():
    events = ping_pong(20 * OFTEN)
    middle = len(events) // 2
    events[middle:middle] = [Event(0, 10, X, W), Event(2, 99, X, R), Event(2, 98, X, W)]
    counts = by_points(track(events, 5, True, "shared"))
    assert counts[10, 99] == 1
    assert counts[10, 98] == 1
    assert counts[98, 20] + counts[98, 10] >= 1


def test_frequent_pairs_stop_adding_contexts():
    """The number of edges grows with the logarithm of the run, not with the run."""
    cells = [X + 8 * i for i in range(5)]
    sizes = []
    for rounds in (4_000, 8_000, 16_000):
        events = [
            Event(thread, 10 + thread, cells[(i * 7 + thread * 3) % 5], R if i % 3 else W)
            for i in range(rounds)
            for thread in range(3)
        ]
        sizes.append(len(track(events, CONTEXT_MOST, True, "shared")))
    growth = [after - before for before, after in pairwise(sizes)]
    assert growth[1] <= growth[0] + 64


@given(st.integers(0, 2**32), st.integers(2, 4))
@settings(deadline=None, max_examples=20)
def test_counts_of_frequent_pairs_are_those_of_the_twin(seed: int, threads: int):
    """But for what was passed over since the latest look; a thread's own writes are no edges."""
    draw = random.Random(seed)
    events = [
        Event(
            draw.randrange(threads),
            draw.randrange(3),
            X + 8 * draw.randrange(2),
            draw.choice((R, W)),
        )
        for _ in range(6_000)
    ]
    native = by_points(track(events, 0, True, "shared"))
    twin = by_points(Tracker(0, True, "shared").feed(events).edges)
    assert native.keys() == twin.keys()
    assert all(twin[pair] - STEP * threads <= native[pair] <= twin[pair] for pair in twin)
