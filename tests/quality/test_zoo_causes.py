# SPDX-License-Identifier: Apache-2.0
"""Every bug of the zoo is found within the budget, and almost always its true cause is on top.

One draw with a fixed seed; `python -m evaluation` makes five of each, and has the bars.
"""

import pytest
from evaluation.draws import WANTED, ZOO
from evaluation.results import TOP
from evaluation.truth import load_zoo, rank_of_truth

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

# One draw scatters more than the five of the evaluation, whose bars are 95 % and 80 %.
TOLD = 0.90  # of the bugs in the top three
FIRST = 0.75  # at rank 1
NAMED = 0.85  # of the causes at rank 1 have the shape that an engineer would name


def ranks(bug, report):
    """The rank of every cause, in the findings of the most frequent failure that it explains."""
    for cause in bug.causes:
        shown = [one for one in report.failures if bug.cause_of(one.signature) == cause]
        found = (rank_of_truth(bug, one.signature, one.findings) for one in shown[:1])
        yield next(found, None)


def test_a_bug_is_found_within_the_budget(bug, drawn):
    runs = drawn(bug).runs
    assert runs.passed >= WANTED and runs.fail >= WANTED, runs
    assert runs.hang == 0


def test_the_true_cause_is_at_the_top(drawn, capsys):
    found = {bug.name: list(ranks(bug, drawn(bug))) for bug in load_zoo(ZOO)}
    with capsys.disabled():
        print("\n\nranks of the true causes:", found, "\n")

    def within(top):
        return [name for name, own in found.items() if all(rank and rank <= top for rank in own)]

    assert len(within(TOP)) >= TOLD * len(found), set(found) - set(within(TOP))
    assert len(within(1)) >= FIRST * len(found), set(found) - set(within(1))


def test_the_true_cause_is_called_what_an_engineer_calls_it(drawn, capsys):
    named, others = [], {}
    for bug in load_zoo(ZOO):
        report = drawn(bug)
        for cause, rank in zip(bug.causes, ranks(bug, report), strict=True):
            if rank != 1:
                continue
            failure = next(one for one in report.failures if cause.signature in one.signature)
            shape = failure.findings[0].shape
            if shape in cause.shapes:
                named.append(bug.name)
            else:
                others[bug.name] = shape
    with capsys.disabled():
        print("\n\nother shapes:", others, "\n")
    assert len(named) >= NAMED * (len(named) + len(others)), others
