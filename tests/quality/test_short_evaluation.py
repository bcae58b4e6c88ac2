# SPDX-License-Identifier: Apache-2.0
"""The evaluation in its short form: all tables come out, and the bars hold for a few bugs."""

import pytest
from evaluation import bars, page
from evaluation.__main__ import SHORT
from evaluation.draws import ZOO
from evaluation.results import Results, rows
from evaluation.run import Plan, evaluate
from evaluation.truth import load_zoo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TABLES = (
    "Table 1: ReliefF",
    "Figure 6: the features",
    "Table 3: properties",
    "Table 2: inspections",
    "Table 4: the size of contexts",
    "Figure 7: convergence",
    "Figure 3: window size",
    "Table 4: effectiveness",
    "Table 5: Falcon against CCI",
)


@pytest.fixture(scope="module")
def zoo():
    return [bug for bug in load_zoo(ZOO) if bug.name in SHORT]


@pytest.fixture(scope="module")
def results(zoo) -> Results:
    return evaluate(Plan.short(zoo, seed=1), "the short form", lambda draw: None)


def test_nothing_breaks_off(results, zoo):
    assert [draw.bug for draw in results.draws] == [bug.name for bug in zoo]
    assert not [draw.complaint for draw in results.draws if draw.complaint]
    assert all(cause is not None for draw in results.draws for cause in draw.causes)
    assert all(one.runs and one.sizes for one in results.spans)


def test_the_bars_hold_for_these_bugs(results, zoo):
    missed = [bar for bar in bars.bars(results, rows(results, zoo)) if not bar.met]
    assert not missed


def test_every_table_is_written(results, zoo, tmp_path):
    page.write(results, zoo, tmp_path / "evaluation.md")
    text = (tmp_path / "evaluation.md").read_text()
    assert [title for title in TABLES if f"### {title}" not in text] == []
    assert all(f"| {bug.name} |" in text for bug in zoo)
