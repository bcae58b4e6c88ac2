# SPDX-License-Identifier: Apache-2.0
"""The page's first sections: the bars, every single method against the joined one, variables."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from evaluation import markdown
from evaluation.results import ALL, TOP, TOP_OF_FEW, Draw, Placed, Results, Row, Single
from evaluation.singles import CODE_POINTS, METHODS

FEWEST = 5  # failing runs
MULTI = "multi-variable"
NAMING = "all variables of a multi-variable bug"
BUG_COLUMNS = (
    "bug",
    "type",
    "switch",
    "fails in",
    "runs",
    "seconds",
    "rank with 25 + 25",
    "with 15 failing",
    "with 5 failing",
    "points",
)


class Bar(NamedTuple):
    """One bar: what is counted, how often it must hold, how often it did."""

    text: str
    wanted: float
    part: int
    whole: int

    @property
    def met(self) -> bool:
        """Whether the share is high enough; nothing measured is not enough."""
        return self.whole > 0 and self.part >= self.wanted * self.whole

    def cells(self) -> tuple[str, str, str, bool]:
        """Its row of the table."""
        return self.text, f"{self.wanted:.0%}", markdown.share(self.part, self.whole), self.met


def bars(results: Results, found: Sequence[Row]) -> list[Bar]:
    """The bars of the joined ranking, and that of the twins."""

    def draws(text: str, wanted: float, holds: Callable[[Draw], bool]) -> Bar:
        return Bar(text, wanted, sum(map(holds, results.draws)), len(results.draws))

    def naming(method: str) -> Bar:
        draws = [draw for row in found if row.bug.type == MULTI for draw in row.draws]
        named = [draw.variables[method].points_at if draw else None for draw in draws]
        good = sum(rank is not None and rank <= TOP for rank in named)
        return Bar(f"{method}: a finding in the top {TOP} names {NAMING}", 0.95, good, len(draws))

    return [
        draws("the bug is found: 25 failing and 25 passing runs", 1.0, lambda draw: draw.enough),
        draws(f"true cause in the top {TOP}", 0.95, lambda draw: draw.within(TOP)),
        draws("true cause at rank 1", 0.80, lambda draw: draw.within(1)),
        draws(
            f"with {FEWEST} failing runs, true cause in the top {TOP_OF_FEW}",
            0.90,
            lambda draw: draw.within(TOP_OF_FEW, FEWEST),
        ),
        *(bar for bar in map(naming, ("joined", "recon")) if bar.whole),
        Bar(
            "hunts of fixed twins without any finding",
            1.0,
            sum(not twin.findings and not twin.complaint for twin in results.twins),
            len(results.twins),
        ),
    ]


def section(results: Results, found: Sequence[Row]) -> str:
    """What the joined ranking reaches, against the bars and bug by bug."""
    broken = [one for one in results.draws if one.complaint]
    complaints = [
        f"- {one.bug}, seed {one.seed}, broke off: `{one.complaint.strip().splitlines()[-1]}`"
        for one in broken
    ]
    return markdown.sections(
        "## The joined ranking",
        "A draw counts only if *every* cause of its bug is found by the strict criterion: one "
        "finding with all true points, in order, in matching threads, with at most twice as many "
        "points as are needed. With fewer failing runs, a seeded sample of the same 25 is ranked "
        "against the same passing runs.",
        markdown.table(
            ("bar", "wanted", "reached", "met"), [bar.cells() for bar in bars(results, found)]
        ),
        "Bug by bug; one figure per draw, a dash where no finding matches the cause. *points* are "
        "those of the finding against those needed, *runs* and *seconds* (of the hunt, its report "
        "included, one run at a time) are medians.",
        markdown.table(
            BUG_COLUMNS,
            [_bug(row, results.of(row.bug.name)) for row in found],
        ),
        "\n".join(complaints),
    )


def _bug(row: Row, draws: Sequence[Draw]) -> tuple[object, ...]:
    def of(number: int, what: Callable[[Placed], str]) -> str:
        places = [draw.joined.get(number) if draw else None for draw in row.draws]
        return " ".join(markdown.NONE if place is None else what(place) for place in places)

    rates = [draw.rate for draw in row.known]
    return (
        row.label,
        row.bug.type,
        row.bug.switch,
        f"{statistics.median(rates):.0%}" if rates else None,
        f"{statistics.median(draw.runs.total for draw in draws):g}",
        f"{statistics.median(draw.hunting for draw in draws):.1f}",
        *(of(number, lambda place: str(place.rank)) for number in (ALL, 15, FEWEST)),
        of(ALL, lambda place: f"{place.points}/{place.needed}"),
    )


def methods_section(found: Sequence[Row]) -> str:
    """All methods on the same runs, and why the single ones fail where they do."""
    return markdown.sections(
        "## Single methods against the joined ranking",
        "Ranks by the strict criterion, draw by draw. Bugaboo and CCI answer with code points, so "
        "their columns count inspections until the first point of the cause, ties averaged: an "
        "easier question, since one true point suffices. Bugaboo without labels ranks all 50 runs "
        "here. A deadlock's cycle, which the gate sees, comes first under *joined* and *recon* as "
        "in the report; no statistics are behind it.",
        markdown.table(("bug", "joined", *METHODS), [_ranks(row) for row in found]),
        _summary(found),
        "### Which single method fails, and why",
        f"A method fails on a bug if the cause is not in its top {TOP} in most draws. The reason "
        "is found from the runs; where draws differ, the most frequent one is given.",
        markdown.table(("bug", "method", "why"), _failures(found)),
    )


def _joined(row: Row) -> list[Single]:
    places = [draw.joined.get(ALL) if draw else None for draw in row.draws]
    return [Single(place.rank if place else None) for place in places]


def _singles(row: Row, method: str) -> list[Single]:
    if method == "joined":
        return _joined(row)
    nothing = Single(None, "the bug did not fail")
    return [draw.singles[method] if draw else nothing for draw in row.draws]


def _ranks(row: Row) -> list[str]:
    cells = [row.label]
    for method in ("joined", *METHODS):
        values = [one.rank for one in _singles(row, method)]
        cells.append(markdown.mean(values) if method in CODE_POINTS else markdown.ranks(values))
    return cells


def _summary(found: Sequence[Row]) -> str:
    """How often each method has the cause in its top three, over all causes and draws."""
    lines = []
    for method in ("joined", *METHODS):
        every = [one for row in found for one in _singles(row, method)]
        first = sum(one.rank is not None and one.rank <= 1 for one in every)
        bugs = sum(_mostly(_singles(row, method)) for row in found)
        lines.append(
            (
                method,
                markdown.share(sum(one.good for one in every), len(every)),
                markdown.share(first, len(every)),
                f"{bugs} of {len(found)}",
            )
        )
    head = ("method", f"cause in the top {TOP}, of all draws", "at rank 1", "bugs, in most draws")
    return markdown.table(head, lines)


def _mostly(singles: Sequence[Single]) -> bool:
    return 2 * sum(one.good for one in singles) > len(singles)


def _failures(found: Sequence[Row]) -> Iterable[tuple[str, str, str]]:
    for row in found:
        for method in METHODS:
            singles = _singles(row, method)
            if not _mostly(singles):
                yield row.label, method, most_frequent(one.why for one in singles if not one.good)


def most_frequent(texts: Iterable[str]) -> str:
    """The text that occurs most often; of equals the first."""
    return max(Counter(texts).items(), key=lambda item: item[1])[0]


def variables_section(found: Sequence[Row]) -> str:
    """What the first matching findings call the variables of multi-variable bugs."""
    lines = []
    for row in found:
        for method in ("joined", "recon") if row.bug.type == MULTI else ():
            every = [draw.variables.get(method) if draw else None for draw in row.draws]
            headlines = [", ".join(one.headline) for one in every if one and one.headline]
            at_headline = markdown.ranks(one.headline_at if one else None for one in every)
            at_points = markdown.ranks(one.points_at if one else None for one in every)
            headline = most_frequent(headlines) if headlines else None
            lines.append((row.label, method, headline, at_headline, at_points))
    if not lines:
        return ""
    head = ("bug", "method", "headline of the matching finding", "all in a headline", "at points")
    return markdown.sections(
        "## Multi-variable bugs: which variables are named",
        "The headline of the first finding that matches the cause (a dash: none does); draw by "
        "draw, the rank of the first finding whose headline names all variables of the "
        "cause, and of the first one whose points do.",
        markdown.table(head, lines),
    )
