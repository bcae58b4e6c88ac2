# SPDX-License-Identifier: Apache-2.0
"""docs/pres.md says what chance would do: a bar that random schedules meet says little."""

import pytest
from evaluation import pres_page
from evaluation.pres_results import Bug, Measured, Reproduced


def bug(met, made):
    return Bug("bank", "c", "free", True, (Reproduced("func", "clocks", 1, 9, 2),), met, made)


def test_chance_of_several_tries():
    assert bug(25, 50).by_chance(1) == 0.5
    assert bug(25, 50).by_chance(3) == pytest.approx(0.875)
    assert bug(0, 50).by_chance(10) == 0.0
    assert bug(0, 0).by_chance(10) is None  # not measured


def test_the_page_has_the_chance_of_every_bug_and_of_all():
    page = pres_page.page(Measured("c", "d", "3.11", 1.0, 100, 1, (bug(25, 50), bug(0, 50))))
    assert "within 10 tries in 50 % of the cases, within 3 in 44 %, with the first in 25 %" in page
    assert "| bank | – | – | – | 2 | – | – | – | – | 50.0 % |" in page


def test_results_from_before_it_was_measured_have_no_chance():
    page = pres_page.page(Measured("c", "d", "3.11", 1.0, 100, 1, (bug(0, 0),)))
    assert "without any record" not in page
