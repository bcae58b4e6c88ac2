# SPDX-License-Identifier: Apache-2.0
"""The failing run and the nearest passing one, side by side, with the one difference marked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from unsnarl.model.report import FailureReport, Finding, FindingPoint
from unsnarl.reports.render import lanes
from unsnarl.reports.steps import Step, brief_steps, passing_steps, step_of

GAP = 3


def order_note(finding: Finding) -> str:
    """`Step 1 before 2 and step 2 before 3: 100/100 fresh runs fail.`, without the count."""
    steps = brief_steps(finding)
    pairs = [
        (step_of(finding, steps, one), step_of(finding, steps, other))
        for one, other in finding.orders
    ]
    # Both ends may be on one line, and so in one step.
    return _sentence([pair for pair in dict.fromkeys(pairs) if all(pair) and pair[0] != pair[1]])


def _sentence(pairs: Sequence[tuple[int, int]]) -> str:
    """Pairs that go on from each other are one chain: `1 before 2 before 3`."""
    chains: list[list[int]] = []
    for before, after in sorted(pairs):
        chain = next((one for one in chains if one[-1] == before), None)
        if chain is None:
            chains.append([before, after])
        else:
            chain.append(after)
    return " and ".join("step " + " before ".join(map(str, chain)) for chain in chains)


def difference_note(finding: Finding) -> str:
    """How the nearest passing run differs: `step 3 comes before step 2`."""
    if finding.nearest is None:
        return ""
    steps = brief_steps(finding)
    before, after = (step_of(finding, steps, position) for position in finding.nearest.moved)
    shown = before and after and before != after
    return f"step {after} comes before step {before}" if shown else ""


def side_by_side(failure: FailureReport, finding: Finding, width: int) -> list[Text]:
    """Both runs, each step with the number that it has in the failing one.

    Where a row does not fit its half, the passing run comes below the failing one.
    """
    if finding.nearest is None:
        return []
    steps = brief_steps(finding)
    passing = passing_steps(finding, steps)
    column = (width - 2 - GAP) // 2
    moved = step_of(finding, steps, finding.nearest.moved[1])
    left = [Text(f"run {failure.run.lstrip('0')} fails", style="bold")]
    left += [_row(step, "") for step in steps]
    right = [Text("the nearest passing run", style="bold")]
    right += [_row(step, "◄" if step.number == moved else "") for step in passing]
    if max(cell_len(row.plain) for row in left + right) > column:
        return [line for row in left + right for line in _hanging(row, width)]
    return _columns(left, right, column)


def _hanging(row: Text, width: int) -> list[Text]:
    """A row below the others; what does not fit goes on in the next line, further in."""
    lines = lanes.wrap_text(row, width - 6)
    for at, line in enumerate(lines):
        line.pad_left(6 if at else 2)
    return lines


def _row(step: Step, mark: str) -> Text:
    row = Text().append(f"{step.number or '':>2} ", style="dim")
    row.append(f"{step.thread:<4}", style=lanes.colour(step.role))
    row.append(f" {_position(step.points[0])}  {step.what}".rstrip())
    if step.failing:
        row.append(f" {lanes.CROSS}", style="bold red")
    return row.append(f"  {mark}", style="bold yellow") if mark else row


def _position(point: FindingPoint) -> str:
    return f"{point.file.rpartition('/')[2]}:{point.line}"


def _columns(left: Sequence[Text], right: Sequence[Text], column: int) -> list[Text]:
    rows = []
    for at in range(max(len(left), len(right))):
        row = Text("  ")
        if at < len(left):
            row.append_text(left[at])
        row.pad_right(2 + column + GAP - cell_len(row.plain))
        if at < len(right):
            row.append_text(right[at])
        row.rstrip()
        rows.append(row)
    return rows
