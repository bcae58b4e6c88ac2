# SPDX-License-Identifier: Apache-2.0
"""docs/strategies.md: schedules to the first failure, strategy by strategy."""

from __future__ import annotations

from evaluation.markdown import sections, share, table
from evaluation.strategy_results import FACTOR, ROTATION, Results, Searches

HEAD = """# Strategies

How many schedules a hunt needs to the first failure: every [strategy](glossary.md) alone, and the
rotation that hunts use. Written by `{command}`; do not edit.

Medians over {seeds} seeds; `never`: half of the searches or more found nothing in {cap} schedules
(a strategy that found nothing with its first three seeds was not tried with the others). In
brackets the number of searches that found nothing, if there were any. Strategies that need to know
something of earlier runs (surw, rff) begin with runs of others."""

SHAPES = """`shape/…` are programs of `zoo/shapes`, written after the shapes on which
published strategies differ most (Wolff et al., ASPLOS 2024, for reorder_10: RFF 5 schedules, PCT
1568, POS never; for twostage_100: RFF 25, PCT 3125, POS never), and a cached attribute whose
second path no narrowed run ever takes."""


def page(results: Results) -> str:
    """The whole page."""
    strategies = list(results.searches[0].found)
    rows = [
        (one.bug, *(_cell(one, who) for who in strategies), "yes" if one.is_good else "no")
        for one in results.searches
    ]
    head = HEAD.format(command=results.command, seeds=results.seeds, cap=results.cap)
    columns = ("bug", *strategies, f"within {FACTOR:g}x of the best")
    return sections(head, bar(results), table(columns, rows), SHAPES)


def bar(results: Results) -> str:
    """Whether the rotation is as good as it should be."""
    good = sum(one.is_good for one in results.searches)
    blind = sum(one.blind for one in results.searches)
    made = sum(len(one.found[ROTATION]) for one in results.searches)
    return (
        f"The rotation is within {FACTOR:g}x of the best single strategy on "
        f"{share(good, len(results.searches))} of the bugs; "
        f"{blind} of its {made} searches found nothing."
    )


def _cell(one: Searches, who: str) -> str:
    median, missed = one.median(who), sum(n is None for n in one.found[who])
    text = "never" if median == float("inf") else f"{median:g}"
    return f"{text} ({missed})" if missed and text != "never" else text
