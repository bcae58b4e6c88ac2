# SPDX-License-Identifier: Apache-2.0
"""docs/hardware.md: what is compared, and how it is shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from evaluation import hardware_page
from evaluation.hardware_results import (
    GRAPHS,
    HARDWARE,
    LINES,
    WORDS,
    CaseResult,
    HardwareDraw,
    KernelResult,
    Seen,
)
from evaluation.papers import BUGABOO_2, BUGABOO_2_HARDWARE, BUGABOO_5

from unsnarl.traces.hardware import HardwareCounts
from unsnarl.workflows.simulate_hw import GraphSize, rates


def case(words: float | None, hardware: float | None) -> CaseResult:
    points = dict.fromkeys(GRAPHS, words) | {HARDWARE: hardware}
    seen = {
        graph: {0: None, 5: Seen(value, 1.0) if value is not None else None}
        for graph, value in points.items()
    }
    return CaseResult(
        failing=25,
        passing=25,
        labelled=seen,
        unlabelled=seen,
        code_points=10,
        missing=dict.fromkeys(GRAPHS, 0) | {LINES: 2, HARDWARE: 4},
        counts=HardwareCounts(accesses=20_000, read_misses=40, traps=2),
        plain=GraphSize(3, 4),
        with_context=GraphSize(30, 40),
    )


def draw(name: str, *found: CaseResult, seed: int = 0) -> HardwareDraw:
    return HardwareDraw(name, "c", seed, found)


def test_only_programs_where_both_find_the_bug_are_compared():
    rows = hardware_page.rows_of(
        [draw("bank", case(2, 4)), draw("aget", case(4, 2)), draw("idinit", case(None, 1))]
    )
    found = hardware_page.compared(rows, HARDWARE, labelled=True)
    assert found == (3.0, 3.0, 2)
    assert hardware_page.compared(rows[:0], HARDWARE, labelled=True) is None


def test_draws_of_a_bug_are_one_row():
    rows = hardware_page.rows_of([draw("bank", case(1, 1)), draw("bank", case(3, 2), seed=1)])
    assert len(rows) == 1
    assert hardware_page.mean(rows[0].inspected(WORDS)) == 2


def test_a_bar_that_is_missed_is_said_to_be():
    bars = hardware_page.page([draw("bank", case(1, 2))], []).bars
    assert bars[0].startswith("BB-HW, labelled: 2.00 inspections, 1.00 with words: 2.00 times")
    assert "not met" in bars[0]
    assert "met" in hardware_page.page([draw("bank", case(2, 2))], []).bars[0]


def test_the_page_has_the_papers_figures_and_what_came_to_nothing():
    kernel = KernelResult(
        "options", "blackscholes", 8, 1, 10, dict.fromkeys(GRAPHS, 1), HardwareCounts(accesses=1),
        GraphSize(1, 1), GraphSize(2, 2),
    )  # fmt: skip
    lost = HardwareDraw("racey", "c", 0, (), "broken")
    text = hardware_page.page([draw("bank", case(1, 1)), lost], [kernel]).text
    assert "No result: racey (c)." in text
    assert "| bank (C) | no | no | 1.4 (1.0) | 1.0 (1.0) |" in text
    assert "| blackscholes (paper) | – | 212.41 |" in text
    assert "| bank (C) | 10 | – | 20 | – | 40 |" in text


def test_all_programs_of_table_2_have_both_versions():
    assert BUGABOO_2.keys() == BUGABOO_2_HARDWARE.keys()


@pytest.mark.parametrize("name", BUGABOO_5)
def test_the_papers_misses_add_up_to_its_metadata_writes(name):
    """As ours must: what was copied from the paper's table 5 is right, or wrong in two cells."""
    row = BUGABOO_5[name]
    misses = row.read_misses + row.write_misses + row.coherence_misses
    assert row.metadata_writes == pytest.approx(misses, abs=0.02)


def test_rates_are_per_ten_thousand_and_traps_per_ten_million():
    found = rates(HardwareCounts(accesses=20_000, read_misses=40, traps=2))
    assert (found["read misses"], found["traps"]) == (20.0, 1000.0)
    assert rates(HardwareCounts())["read misses"] == 0
