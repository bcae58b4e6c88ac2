# SPDX-License-Identifier: Apache-2.0
"""Every bug of the zoo is found within the budget, and almost always its true cause is on top.

One draw with a fixed seed; `python -m evaluation` makes five of each.
"""

import pytest
from evaluation import table

pytestmark = pytest.mark.slow

ENOUGH = 10  # of the twelve bugs


def test_a_bug_is_found_within_the_budget(bug, rows):
    (found,) = next(row.draws for row in rows if row.bug.name == bug.name)
    assert not found.complaint
    assert found.enough, found.runs
    assert found.runs.hang == 0


def test_the_true_cause_is_in_the_top_three(rows, capsys):
    with capsys.disabled():
        print("\n\n" + table.text(rows) + "\n")
    good = [row.bug.name for row in rows if row.always]
    assert len(good) >= ENOUGH, good
