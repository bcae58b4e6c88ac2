# SPDX-License-Identifier: Apache-2.0
"""In which column of its line an address comes from: two accesses of one line are two sites.

addr2line does not give it; readelf prints the line program, one operation a line, with the address
and the line as they become. A row of the table is made by `Copy` and by special operations.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

_OPERATION = re.compile(r"  \[0x[0-9a-f]+\]  +(\w.*)")
_COLUMN = re.compile(r"Set column to (\d+)")
_ADDRESS = re.compile(
    r"(?:[Aa]ddress by \d+|PC by (?:constant )?\d+|set Address|size \d+) to 0x(\w+)"
)
_LINE = re.compile(r"Line by -?\d+ to (\d+)")


class Row(NamedTuple):
    """From an address on, code is of this line and column; line 0: it is nobody's."""

    address: int
    line: int
    column: int


class Columns:
    """The rows of all line programs of a program."""

    def __init__(self, lines: Iterable[str]) -> None:
        # The sort is stable: of several rows for one address the last one counts.
        self._rows = sorted(_rows(lines), key=lambda row: row.address)

    def of(self, address: int, line: int) -> int:
        """The column that an address of this line has; 0 if that is not known."""
        at = bisect_right(self._rows, address, key=lambda row: row.address) - 1
        row = self._rows[at] if at >= 0 else Row(0, 0, 0)
        return row.column if row.line == line else 0


def _rows(lines: Iterable[str]) -> list[Row]:
    rows: list[Row] = []
    # The initial state of a line program (DWARF 5, 6.2.2).
    address, line, column = 0, 1, 0
    for text in lines:
        found = _OPERATION.match(text)
        if not found:
            continue
        operation = found[1]
        if moved := _ADDRESS.search(operation):
            address = int(moved[1], 16)
        if moved := _LINE.search(operation):
            line = int(moved[1])
        if moved := _COLUMN.match(operation):
            column = int(moved[1])
        elif operation.endswith("End of Sequence"):
            rows.append(Row(address, 0, 0))
            address, line, column = 0, 1, 0
        elif operation.startswith(("Copy", "Special")):
            rows.append(Row(address, line, column))
    return rows
