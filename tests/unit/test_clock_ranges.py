# SPDX-License-Identifier: Apache-2.0
"""From gaps to ranges, and from ranges to orders (ReCBuLC III.B.1)."""

import msgspec
import pytest

from unsnarl.errors import ToolError
from unsnarl.recording.clocks import ClockRange, Clocks, Stamp
from unsnarl.recording.clocks.measure import narrowed
from unsnarl.recording.clocks.ranges import hard_ranges, hull, intersection, smallest


def clocks(*ranges, **more):
    known = {
        "boot": "11111111-2222",
        "suspended": 0.0,
        "source": "counter",
        "frequency": 2.6e9,
        "grain": 1,
        "margin": 1,
        "pinned": True,
        "virtual": False,
        "windows": 1,
        "measured": 0.0,
        "ranges": ranges,
    }
    return Clocks(**known | more)


def test_the_smallest_gap_of_each_direction_makes_the_range():
    assert hard_ranges({(0, 1): 112, (1, 0): 114}) == (ClockRange(0, 1, -114, 112),)


def test_the_margin_widens_both_ends():
    assert hard_ranges({(0, 1): 112, (1, 0): 114}, 26) == (ClockRange(0, 1, -140, 138),)


def test_a_pair_that_was_seen_in_one_direction_only_has_no_range():
    assert hard_ranges({(0, 1): 112}) == ()


def test_a_third_core_narrows_what_two_others_know_of_each_other():
    gaps = {(0, 1): 10, (1, 0): 10, (1, 2): 10, (2, 1): 10, (0, 2): 500, (2, 0): 500}
    assert hard_ranges(gaps)[1] == ClockRange(0, 2, -20, 20)


def test_margins_add_up_on_the_way_through_a_third_core():
    gaps = {(0, 1): 10, (1, 0): 10, (1, 2): 10, (2, 1): 10, (0, 2): 500, (2, 0): 500}
    assert hard_ranges(gaps, 3)[1] == ClockRange(0, 2, -26, 26)


def test_bounds_that_exclude_each_other_are_a_drift():
    with pytest.raises(ToolError, match="do not keep their distance") as caught:
        hard_ranges({(0, 1): 10, (1, 0): -11})
    assert caught.value.slug == "clocks-drift"


def test_a_drift_that_only_a_third_core_shows_is_seen():
    gaps = {(0, 1): 0, (1, 0): 0, (1, 2): 0, (2, 1): 0, (0, 2): 100, (2, 0): -50}
    with pytest.raises(ToolError):
        hard_ranges(gaps)


@pytest.mark.parametrize(
    ("a", "b", "proved"),
    [
        (Stamp(0, 1000), Stamp(1, 1113), True),  # beyond the range
        (Stamp(0, 1000), Stamp(1, 1112), False),  # at its end: simultaneous is possible
        (Stamp(0, 1000), Stamp(1, 885), False),  # the other way round
        (Stamp(1, 885), Stamp(0, 1000), True),
        (Stamp(1, 886), Stamp(0, 1000), False),
        (Stamp(0, 1000), Stamp(0, 1001), True),  # one core's own clock
        (Stamp(0, 1000), Stamp(0, 1000), False),
        (Stamp(0, 1000), Stamp(7, 9_999_999), False),  # a core that was never measured
    ],
)
def test_only_stamps_beyond_the_range_are_ordered(a, b, proved):
    assert clocks(ClockRange(0, 1, -114, 112)).before(a, b) is proved


def test_a_range_holds_in_both_directions():
    found = clocks(ClockRange(0, 1, -114, 112))
    assert found.range(1, 0) == ClockRange(1, 0, -112, 114)
    assert found.range(1, 0).flipped() == found.range(0, 1)


def test_an_estimate_proves_nothing():
    from unsnarl.recording.clocks import Estimate

    sure = Estimate("figure 6", 0, 1, 0.0, 0.99999, -0.1, 0.1, 1000, 20)
    assert not clocks(ClockRange(0, 1, -114, 112), estimates=(sure,)).before(
        Stamp(0, 0), Stamp(1, 50)
    )


def test_gaps_of_several_tests_are_intersected():
    assert smallest([{(0, 1): 5, (1, 0): 9}, {(0, 1): 7, (1, 0): 8}]) == {(0, 1): 5, (1, 0): 8}


def test_ranges_are_intersected_and_their_hull_contains_them():
    one, two = ClockRange(0, 1, -10, 20), ClockRange(0, 1, -30, 15)
    assert intersection([one], [two]) == (ClockRange(0, 1, -10, 15),)
    assert hull([one], [two]) == (ClockRange(0, 1, -30, 20),)


def test_a_window_whose_middle_is_outside_is_a_drift():
    calm = clocks(ClockRange(0, 1, -100, 100), middles=(ClockRange(0, 1, -100, 100),))
    assert calm.checked() is calm
    with pytest.raises(ToolError, match="moved by 201 ticks"):
        clocks(ClockRange(0, 1, -100, 100), middles=(ClockRange(0, 1, -100, 101),)).checked()


def test_what_was_known_before_narrows_what_is_seen_now():
    earlier = clocks(ClockRange(0, 1, -50, 200), windows=5)
    now = clocks(ClockRange(0, 1, -100, 100), windows=6)
    both = narrowed(now, earlier)
    assert both.ranges == (ClockRange(0, 1, -50, 100),)
    assert both.windows == 11


@pytest.mark.parametrize(
    "earlier",
    [
        clocks(ClockRange(0, 1, 150, 200)),
        clocks(ClockRange(0, 1, 90, 200), middles=(ClockRange(0, 1, 140, 150),)),
    ],
)
def test_what_was_known_before_and_is_contradicted_is_dropped_and_said(earlier):
    now = clocks(ClockRange(0, 1, -100, 100))
    both = narrowed(now, earlier)
    assert both.ranges == now.ranges
    assert "contradicts" in both.notes[0]


def test_clocks_of_another_source_are_not_mixed():
    earlier = clocks(ClockRange(0, 1, -1, 1), source="kernel")
    now = clocks(ClockRange(0, 1, -100, 100))
    assert narrowed(now, earlier) is now


def test_clocks_survive_json():
    found = clocks(ClockRange(0, 1, -114, 112), middles=(ClockRange(0, 1, -3, 4),))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Clocks) == found
