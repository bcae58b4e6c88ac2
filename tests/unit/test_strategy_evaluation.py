# SPDX-License-Identifier: Apache-2.0
"""Strategies compared: what the bar says, and what chance does to it."""

import pytest
from evaluation import strategies, strategy_page
from evaluation.strategy_results import ROTATION, Results, Searches, expected

CAP = 100


def searches(rotation, best=(2,) * 20, other=(9,) * 20):
    return Searches("bug", {"rff": best, "pos": other, ROTATION: rotation})


def test_expected_schedules_count_those_that_found_nothing():
    assert expected((2, 4), CAP) == 3
    assert expected((2, None), CAP) == 102
    assert expected((None, None), CAP) == float("inf")


@pytest.mark.parametrize(
    ("rotation", "good", "clearly"),
    [
        ((3,) * 20, True, False),
        ((1, 4) * 10, True, False),
        ((4,) * 20, False, True),
        ((1, 9, 9, 1) * 5, False, True),
        # Ten more of one schedule would have met the bar: that is chance.
        ((1, 4, 4, 3, 3) * 4, True, False),
        ((None,) * 20, False, True),
    ],
)
def test_what_is_worse_by_chance_is_not_clearly_worse(rotation, good, clearly):
    found = searches(rotation)
    assert found.is_good is good
    assert found.is_clearly_worse(CAP) is clearly


def test_a_strategy_that_was_lucky_with_some_seeds_may_not_be_best_with_the_others():
    assert searches((2,) * 20).is_best_again(CAP)
    lucky = Searches("bug", {"rff": (1, 9) * 10, "pos": (2,) * 20, ROTATION: (2,) * 20})
    assert not lucky.is_best_again(CAP)


def test_the_page_has_the_bar_as_it_was_asked_for_and_how_to_read_it():
    made = (searches((2,) * 20), searches((5,) * 20), searches((None,) * 20))
    page = strategy_page.page(Results("command", 20, CAP, made))
    assert "within 1.5x of the best single strategy on 1 of 3" in page
    assert "20 of its 60 searches found nothing" in page
    assert "| bug | 2 | 9 | 2 | yes |" in page
    assert "| bug | 2 | 9 | never | no, clearly |" in page
    assert "on 2 of 3 (66.7 %): marked `clearly`" in page
    assert "were measured" not in page
    part = strategy_page.page(Results("command", 20, CAP, made, every=70))
    assert "Of 70 bugs, these 3 were measured" in part


def test_parts_are_joined_in_the_order_of_the_zoo():
    parts = [
        Results(f"command --bugs {name} --seeds 20 --save {name}.json", 20, CAP, (found,))
        for name in ("c/bank", "abba")
        for found in (Searches(name, searches((2,)).found),)
    ]
    whole = strategies._joined(parts)
    assert [one.bug for one in whole.searches] == ["abba", "c/bank"]
    assert whole.command == "command --seeds 20` in parts by `--bugs"
    assert strategies._joined(parts[:1]) == parts[0]
