# SPDX-License-Identifier: Apache-2.0
"""The page of clocks, made in its shortest form."""

import subprocess
import sys
from pathlib import Path

import pytest
from evaluation.clock_page import chart
from evaluation.clocks import Window
from tests.integration.test_clocks import MOST_CALLS

from unsnarl.recording.clocks import ClockRange

REPOSITORY = Path(__file__).resolve().parents[2]
SHORT = ("--windows", "2", "--pause", "0", "--messages", "20000", "--patience", "0")


@pytest.mark.alone
def test_the_page_has_both_tables_and_the_figure(tmp_path):
    page = tmp_path / "page.md"
    command = [sys.executable, "-m", "evaluation.clocks", *SHORT, "--page", str(page)]
    for _ in range(MOST_CALLS):  # a host that moves its cores makes the skew jump (test_clocks.py)
        answer = subprocess.run(
            command, cwd=REPOSITORY, capture_output=True, text=True, timeout=200, check=False
        )
        if "[clocks-drift]" not in answer.stderr:
            break
    assert answer.returncode == 0, answer.stderr
    assert "messages not ordered wrongly" in answer.stdout
    lines = page.read_text().splitlines()
    assert [line for line in lines if line.startswith("## ")] == [
        "## The hard range",
        "## Figure 2(b): writes that are not seen yet",
        "## Table IV: program testing",
        "## Table V: confidence intervals",
        "## Figure 13: stability of equation 7",
    ]
    for row in ("| fig. 5(a) |", "| together |", "| 0.99999 |", "| paper |"):
        assert any(line.startswith(row) for line in lines), row
    together = next(line for line in lines if line.startswith("| together |")).split("|")
    assert [cell.strip() for cell in together[-5:-1]] == ["-114", "112", "-116", "110"]


def test_the_chart_has_a_line_for_each_window_from_end_to_end():
    windows = [Window(0, -50, -50), Window(8, 50, 0), Window(16, 99, -50)]
    lines = chart(windows, ClockRange(0, 1, -50, 50)).splitlines()
    assert lines[2] == "      0 |*" + 29 * " " + "." + 30 * " " + "|"
    assert lines[3] == "      8 |" + 30 * " " + "+" + 29 * " " + "o|"
    assert lines[4] == "     16 |+" + 29 * " " + "." + 29 * " " + "o|"
