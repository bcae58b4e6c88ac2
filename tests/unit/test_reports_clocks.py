# SPDX-License-Identifier: Apache-2.0
"""What `unsnarl clocks` prints."""

from itertools import combinations

from unsnarl.cli.clocks import PATIENCE, RUNS
from unsnarl.recording.clocks import ClockRange, Clocks, Estimate, TestRange, measure
from unsnarl.reports.render.clocks import MOST_TABLES, text

HARD = ClockRange(0, 1, -130, 118)
TESTS = (
    TestRange("fig. 5(a)", 0, 1, -182, 170, 50_000),
    TestRange("fig. 5(b)", 0, 1, -23_712, 23_920, 500, "too wide"),
    TestRange("fig. 5(c)", 0, 1, -104, 92, 50_000),
)


def clocks(*ranges, **more):
    known = {
        "boot": "11111111-2222",
        "suspended": 0.0,
        "source": "counter",
        "frequency": 2.6e9,
        "grain": 26,
        "margin": 26,
        "pinned": True,
        "virtual": False,
        "windows": 5,
        "measured": 0.0,
        "ranges": ranges or (HARD,),
        "tests": TESTS,
    }
    return Clocks(**known | more)


def lines(found, kept=False):
    return text(found, kept).splitlines()


def test_the_answer_says_what_is_certain_in_cycles_and_nanoseconds():
    assert (
        "core 1 is -130 to 118 cycles ahead of core 0: certain, 248 cycles (95 ns) wide"
        in lines(clocks())
    )


def test_table_iv_ends_with_what_all_tests_leave_and_the_margin():
    rows = [line.split() for line in lines(clocks())]
    assert ["fig.", "5(a)", "-182", "170", "352", "50000"] in rows
    assert ["together", "-104", "92", "196"] in rows
    assert ["and", "a", "step", "of", "26", "-130", "118", "248"] in rows
    assert any("not used: too wide" in line for line in lines(clocks()))


def test_earlier_measurements_are_told_where_they_made_the_range_narrower():
    rows = [line.split() for line in lines(clocks(ClockRange(0, 1, -100, 118)))]
    assert ["all", "that", "is", "known", "-100", "118", "218"] in rows


def test_table_v_says_that_it_proves_nothing():
    sure = Estimate("messages", 0, 1, -3.25, 0.99, -8.0, 1.5, 1000, 20)
    found = lines(clocks(estimates=(sure,)))
    assert any("guess is -3.2" in line and "proves nothing" in line for line in found)
    assert ["0.99", "-8.0", "1.5", "9.5"] in [line.split() for line in found]


def test_what_was_kept_is_told_as_such():
    assert lines(clocks(), kept=True)[1].startswith("kept from")
    assert lines(clocks())[1].startswith("measured")


def test_the_kernels_clock_counts_nanoseconds():
    found = text(clocks(source="kernel", frequency=1e9, grain=1), False)
    assert "kernel clock (clock_gettime)" in found
    assert "certain, 248 ns wide" in found
    assert "cycles" not in found


def test_a_virtual_machine_is_warned_of():
    found = text(clocks(virtual=True, middles=(ClockRange(0, 1, -26, 39),)), False)
    assert "change by 65 cycles" in found


def test_a_machine_with_many_cores_shows_its_widest_pairs():
    ranges = [ClockRange(a, b, -a, b) for a, b in combinations(range(8), 2)]
    found = lines(clocks(*ranges, tests=()))
    assert sum("certain" in line for line in found) == MOST_TABLES
    assert "core 7 is -6 to 7 cycles" in found[3]
    assert any("and 22 pairs with narrower ranges" in line for line in found)


def test_ranges_that_are_sums_have_no_tests_to_show():
    ranges = (HARD, ClockRange(0, 2, -9, 9), ClockRange(1, 2, -200, 200))
    found = lines(clocks(*ranges))
    assert [line for line in found if line.startswith("  cores")] == ["  cores 0 and 1"]
    assert sum("certain" in line for line in found) == 3


def test_nothing_is_wider_than_80_columns():
    sure = Estimate("messages", 0, 1, -3.25, 0.99999, -8.0, 1.5, 1000, 20)
    far = ClockRange(10, 127, -13_000, 12_000)
    found = lines(
        clocks(HARD, far, virtual=True, notes=("a note " * 20,), estimates=(sure,), middles=(HARD,))
    )
    assert max(map(len, found)) <= 80
    assert "stamps of two cores prove an order only if they differ by more than that" in found


def test_the_commands_defaults_are_those_of_measuring():
    assert (RUNS, PATIENCE) == (measure.RUNS, measure.PATIENCE)
