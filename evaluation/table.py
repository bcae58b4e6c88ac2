# SPDX-License-Identifier: Apache-2.0
"""The evaluation as a table, for a terminal and for the documentation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import msgspec

from evaluation.draws import TOP, Draw, Placed
from evaluation.truth import Bug

COLUMNS = ("bug", "type", "switch", "runs", "seconds", "rank of the true cause", "points")
NONE = "-"


class Row(msgspec.Struct, frozen=True):
    """A bug and its draws."""

    bug: Bug
    draws: tuple[Draw, ...]

    @property
    def always(self) -> bool:
        """Whether the cause is in the top three in every draw."""
        return all(draw.good for draw in self.draws)

    @property
    def mostly(self) -> bool:
        """Whether the cause is in the top three in more than half of the draws."""
        return 2 * sum(draw.good for draw in self.draws) > len(self.draws)

    def cells(self) -> tuple[str, ...]:
        """The table's row; two causes of one bug are written with a bar between."""
        return (
            self.bug.name,
            self.bug.type,
            self.bug.switch,
            _median([draw.runs.total for draw in self.draws]),
            f"{statistics.median(draw.seconds for draw in self.draws):.1f}",
            self._of_causes(lambda place: str(place.rank)),
            self._of_causes(lambda place: f"{place.points}/{place.needed}"),
        )

    def _of_causes(self, text: Callable[[Placed], str]) -> str:
        cells = []
        for at in range(len(self.bug.causes)):
            places = [draw.places[at] for draw in self.draws]
            cells.append(" ".join(NONE if place is None else text(place) for place in places))
        return "; ".join(cells)


def summary(rows: Sequence[Row]) -> str:
    """The line that counts."""
    always, mostly = (sum(kind) for kind in zip(*((r.always, r.mostly) for r in rows), strict=True))
    return (
        f"cause in the top {TOP}: {always} of {len(rows)} bugs in all draws, "
        f"{mostly} of {len(rows)} in most draws"
    )


def text(rows: Sequence[Row]) -> str:
    """The table with aligned columns."""
    cells = [COLUMNS, *(row.cells() for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(COLUMNS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:], "", summary(rows)])


def markdown(rows: Sequence[Row]) -> str:
    """The table for the documentation."""
    lines = [COLUMNS, ("---",) * len(COLUMNS), *(row.cells() for row in rows)]
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{table}\n\n{summary(rows).capitalize()}.\n"


def _median(values: Sequence[int]) -> str:
    return f"{statistics.median(values):g}"
