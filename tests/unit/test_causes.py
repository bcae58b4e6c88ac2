# SPDX-License-Identifier: Apache-2.0
"""Several causes of one symptom: peeled off one after the other, each confirmed without the others.

A program is a list of failing runs, each by the causes that make it fail. An answer is a letter and
what it covers: forbidding it removes those causes from all runs, which fail as long as one is left.
"""

from dataclasses import dataclass
from types import SimpleNamespace

from unsnarl.experiments.causes import CauseSearch

GONE = SimpleNamespace(status="confirmed")


@dataclass(frozen=True)
class FakeAnswer:
    """`covers` are the causes that cannot happen without its order."""

    key: str
    covers: str

    @property
    def is_wide(self):
        return len(self.covers) > 1


class World:
    """The failing runs that are left where some answers are forbidden."""

    def __init__(self, runs, given=(), rules=1):
        self.given = given
        gone = set().union(*(one.covers for one in given))
        left = ["".join(sorted(set(run) - gone)) for run in runs]
        self.runs = [run for run in left if run]
        self.compared = SimpleNamespace(runs=self.runs, comparison=self)
        self.trials = SimpleNamespace(given=[None] * len(given) * rules)
        self.rules = rules

    def forbidding_rules(self, answer):
        return [answer] * self.rules

    def spared(self, rules, most):
        return sum(not set(run) - set(rules[0].covers) for run in self.runs[:most])

    def located(self, answer):
        return answer

    def explains(self, answer):
        """The order of one that covers several causes needs all of them."""
        have = sum(set(answer.covers) <= set(run) for run in self.runs)
        return have >= 0.9 * len(self.runs)


class Program:
    """The failing runs of a program and all answers that a ranking may give."""

    def __init__(self, runs, *answers, rules=1):
        self.runs = runs
        self.answers = [FakeAnswer(key, covers) for key, covers in answers]
        self.base = World(runs, rules=rules)
        self.confirmations = []

    def without(self, causes):
        return World(self.runs, [one.answer for one in causes], self.base.rules)

    def confirm(self, world, answers):
        """Forbidding removes all failures."""
        for one in answers:
            if world.runs and not World(world.runs, [one]).runs:
                self.confirmations.append((one.key, tuple(given.key for given in world.given)))
                return one, GONE
        return None

    def causes(self):
        search = CauseSearch(self.base, self.without, lambda _: self.answers, self.confirm)
        found = search.find(self.answers)
        for one in found:
            others = {other.answer.key for other in found if other is not one}
            assert (one.answer.key, tuple(x.key for x in one.where.given)) in self.confirmations
            assert one.given == others == {given.key for given in one.where.given}
        return sorted(one.answer.key for one in found)


TWO = ["a", "a", "b", "ab", "a", "b"]


def test_each_of_two_causes_is_confirmed_without_the_other():
    assert Program(TWO, ("A", "a"), ("B", "b")).causes() == ["A", "B"]


def test_three_causes():
    runs = ["a", "b", "c", "ab", "bc", "ac", "abc"]
    assert Program(runs, ("A", "a"), ("B", "b"), ("C", "c")).causes() == ["A", "B", "C"]


def test_one_that_spares_all_runs_is_too_wide():
    assert Program(TWO, ("AB", "ab"), ("A", "a"), ("B", "b")).causes() == ["A", "B"]


def test_one_that_takes_in_two_of_three_causes_is_split():
    runs = ["a", "b", "c", "ab", "bc", "ac", "abc"]
    program = Program(runs, ("BC", "bc"), ("A", "a"), ("B", "b"), ("C", "c"))
    assert program.causes() == ["A", "B", "C"]


def test_one_about_two_cells_stays_if_nothing_narrower_is_found():
    program = Program(["a", "bc", "bc", "abc"], ("A", "a"), ("BC", "bc"))
    assert program.causes() == ["A", "BC"]


def test_a_frequent_and_a_rare_cause():
    assert Program(["a"] * 9 + ["b"], ("A", "a"), ("B", "b")).causes() == ["A", "B"]


def test_one_cause_is_not_several():
    assert Program(["a"] * 6, ("A", "a"), ("N", "n")).causes() == []


def test_two_views_of_one_cause_are_not_two_causes():
    # V spares some runs; without A nothing fails, whatever V does.
    assert Program(["a", "a", "x"], ("V", "a"), ("A", "ax")).causes() == []


def test_what_the_others_make_superfluous_is_dropped():
    # P spares most at first, but is only a part of A: without A and B nothing of it is left.
    runs = ["p", "p", "p", "pa", "a", "b", "b"]
    program = Program(runs, ("P", "p"), ("B", "b"), ("A", "ap"))

    def confirm(world, answers):
        for one in answers:
            if one.key != "P" and world.runs and not World(world.runs, [one]).runs:
                program.confirmations.append((one.key, tuple(x.key for x in world.given)))
                return one, GONE
        return None

    program.confirm = confirm
    assert program.causes() == ["A", "B"]


def test_no_more_rules_than_the_gate_takes():
    assert Program(TWO, ("A", "a"), ("B", "b"), rules=13).causes() == []


def test_the_search_ends_where_nothing_can_be_confirmed():
    program = Program(TWO, ("A", "a"), ("B", "b"))
    program.confirm = lambda world, answers: None
    assert program.causes() == []
