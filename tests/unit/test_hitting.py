# SPDX-License-Identifier: Apache-2.0
"""The cheapest hitting set, against all subsets."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsnarl.experiments import hitting
from unsnarl.experiments.hitting import cheapest

ITEMS = "abcdefg"
COSTS = st.fixed_dictionaries({item: st.integers(1, 9) for item in ITEMS})
CLAUSES = st.lists(st.frozensets(st.sampled_from(ITEMS), min_size=1), max_size=8)


def subsets(items):
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


@given(CLAUSES, COSTS)
def test_no_set_that_hits_all_is_cheaper(clauses, costs):
    found = cheapest(clauses, costs)
    assert all(clause.intersection(found) for clause in clauses)
    hits = [one for one in subsets(ITEMS) if all(clause.intersection(one) for clause in clauses)]
    assert sum(costs[item] for item in found) == min(sum(costs[i] for i in one) for one in hits)


@given(CLAUSES, COSTS)
def test_it_hits_all_even_without_patience(clauses, costs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hitting, "PATIENCE", 0)
        found = cheapest(clauses, costs)
    assert all(clause.intersection(found) for clause in clauses)


def test_greed_is_not_enough():
    # "g" is in most clauses, but whoever takes it needs "a" and "b" nevertheless.
    clauses = [{"a", "p"}, {"a", "g"}, {"a", "g"}, {"b", "g"}, {"b", "g"}, {"b", "q"}]
    assert cheapest(clauses, dict.fromkeys("gabpq", 1.0)) == ["a", "b"]


def test_nothing_to_hit_nothing_chosen():
    assert cheapest([], {"a": 1.0}) == []


def test_items_come_in_the_order_of_the_costs():
    assert cheapest([{1}, {2}, {3}], {3: 1.0, 1: 1.0, 2: 1.0}) == [3, 1, 2]
