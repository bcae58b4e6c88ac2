# SPDX-License-Identifier: Apache-2.0
"""docs/strategies.md: schedules to the first failure, strategy by strategy."""

from __future__ import annotations

from evaluation.markdown import sections, share, table
from evaluation.strategy_results import FACTOR, ROTATION, Results, Searches

HEAD = """# Strategies

How many schedules a hunt needs to the first failure: every [strategy](glossary.md) alone, and the
rotation that hunts use. Written by `{command}`; do not edit.

Medians over {seeds} seeds; `never`: half of the searches or more found nothing in {cap} schedules
(a strategy that found nothing with its first three seeds was not tried with the others, nor one
whose median with six seeds was over three times that of the best before it in its row). In
brackets the number of searches that found nothing, if there were any. Strategies that need to know
something of earlier runs (surw, rff) begin with runs of others."""

READING = """The best of five measured medians is partly lucky, and with medians of 1 to 5 one
schedule more or less decides. So two further figures. The single strategy that was best with the
odd seeds is itself within {factor:g}x of the best of the even seeds on {again} of the bugs, the
rotation with the same seeds on {even}. And by the expected schedules (all schedules, divided by the
failures that they found) the rotation needs more than {factor:g}x those of the best single
strategy, in 95 % of the resamples of the seeds, on {worse}: marked `clearly`."""

SHAPES = """`shape/…` are programs of `zoo/shapes`, written after the shapes on which
published strategies differ most (Wolff et al., ASPLOS 2024, for reorder_10: RFF 5 schedules, PCT
1568, POS never; for twostage_100: RFF 25, PCT 3125, POS never), and a cached attribute whose
second path no narrowed run ever takes."""


def page(results: Results) -> str:
    """The whole page."""
    strategies = list(results.searches[0].found)
    rows = [
        (one.bug, *(_cell(one, who) for who in strategies), _judged(one, results.cap))
        for one in results.searches
    ]
    head = HEAD.format(command=results.command, seeds=results.seeds, cap=results.cap)
    columns = ("bug", *strategies, f"within {FACTOR:g}x of the best")
    parts = (bar(results), reading(results), table(columns, rows), SHAPES)
    return sections(head, _unmeasured(results), *parts)


def _unmeasured(results: Results) -> str:
    measured = len(results.searches)
    if measured >= results.every:
        return ""
    return f"Of {results.every} bugs, these {measured} were measured; the others were not."


def _judged(one: Searches, cap: int) -> str:
    if one.is_good:
        return "yes"
    return "no, clearly" if one.is_clearly_worse(cap) else "no"


def reading(results: Results) -> str:
    """What chance does to the bar."""
    searches, cap = results.searches, results.cap
    return READING.format(
        factor=FACTOR,
        again=share(sum(one.is_best_again(cap) for one in searches), len(searches)),
        even=share(sum(one.half(1).is_good for one in searches), len(searches)),
        worse=share(sum(one.is_clearly_worse(cap) for one in searches), len(searches)),
    )


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
