# SPDX-License-Identifier: Apache-2.0
"""Tables and figures in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

NONE = "–"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; what is None is shown as a dash."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)


def cell(value: object) -> str:
    """A value as a table shows it."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value).replace("|", "\\|")


def ranks(values: Iterable[float | None]) -> str:
    """The ranks of all draws, side by side."""
    return " ".join(NONE if value is None else f"{value:g}" for value in values)


def mean(values: Sequence[float | None]) -> str:
    """The mean; with the number of draws that have a value, if not all have one."""
    known = [value for value in values if value is not None]
    if not known:
        return NONE
    text = f"{sum(known) / len(known):.1f}"
    return text if len(known) == len(values) else f"{text} ({len(known)}/{len(values)})"


def share(part: int, whole: int) -> str:
    """`207 of 210 (98.6 %)`."""
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "none"


def sections(*parts: str) -> str:
    """Paragraphs, tables and headings, parted by empty lines."""
    return "\n\n".join(part for part in parts if part) + "\n"
