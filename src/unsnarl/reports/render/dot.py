# SPDX-License-Identifier: Apache-2.0
"""A finding as a Graphviz drawing: a lane per thread, a box per access, arrows in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from unsnarl.model.report import Finding, FindingPoint
from unsnarl.reports.patterns import ENTER

_INDENT = "  "
_LEFT = "\\l"  # Graphviz: a line break that sets the line before it flush left


def dot(finding: Finding) -> str:
    """The finding in Graphviz's language; `dot -Tsvg` draws it."""
    lines = [
        "digraph finding {",
        f"{_INDENT}label={quoted(_title(finding))}; labelloc=t; rankdir=TB;",
        f'{_INDENT}node [shape=box, fontname="monospace"];',
    ]
    roles = dict.fromkeys(point.role for point in finding.points)
    for role in roles:
        lines += [_INDENT + line for line in _lane(role, finding.points)]
    lines += [_INDENT + line for line in _arrows(finding.points)]
    return "\n".join([*lines, "}", ""])


def quoted(text: str, end: str = "") -> str:
    """A string of Graphviz's language that shows just this text.

    Args:
        text: What to show. Graphviz takes a backslash for the start of an escape, an ampersand for
            that of an entity as in HTML, and cannot read control characters.
        end: What ends each line: one of Graphviz's own escapes.
    """
    # Backslashes before quotes, whose escapes add some.
    lines = [
        "".join(char if char.isprintable() else " " for char in line)
        .replace("&", "&amp;")
        .replace("\\", "\\\\")
        .replace('"', '\\"')
        for line in text.splitlines()
    ]
    return '"' + (end.join([*lines, ""]) if end else "\\n".join(lines)) + '"'


def _title(finding: Finding) -> str:
    variables = ", ".join(finding.variables)
    about = f"{finding.kind} on {variables}" if variables else finding.kind
    return f"{finding.rank}. {about} ({finding.method} {finding.score:.4g})"


def _lane(role: int, points: Sequence[FindingPoint]) -> Iterator[str]:
    """The boxes of one thread, one above the other."""
    mine = [(number, point) for number, point in enumerate(points, 1) if point.role == role]
    name = mine[0][1].thread or str(role)
    yield f"subgraph cluster_{role} {{"
    yield f"{_INDENT}label={quoted(f'thread {name}')}; style=dashed;"
    for number, point in mine:
        bold = ", penwidth=2" if point.region in ("source", "sink") else ""
        yield f"{_INDENT}p{number} [label={quoted(_label(number, point), _LEFT)}{bold}];"
    yield "}"


def _label(number: int, point: FindingPoint) -> str:
    what = f"{point.op} {point.variable}".strip()
    if point.op == ENTER:
        what = f"calls {point.value}"
    elif point.value is not None:
        what += f" = {point.value}"
    if point.caught:
        what += f", caught at {point.caught}"
    where = f"{number}  {point.file}:{point.line}  {point.function}"
    return "\n".join(line for line in (where, what, point.text.strip()) if line)


def _arrows(points: Sequence[FindingPoint]) -> Iterator[str]:
    """From each access to the next one; heavier where the thread changes."""
    for number, (before, after) in enumerate(pairwise(points), 1):
        style = "solid" if before.role == after.role else "bold"
        yield f"p{number} -> p{number + 1} [style={style}];"
