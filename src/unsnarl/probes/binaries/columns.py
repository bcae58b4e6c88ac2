# SPDX-License-Identifier: Apache-2.0
"""In which column of its line an address comes from: two accesses of one line are two sites.

addr2line does not give it; readelf prints the line program, one operation a line, with the address
and the line as they become. A row of the table is made by `Copy` and by special operations.

Nor does addr2line know the file of code that comes before the first `Set File Name` of a DWARF 5
program: it is that of entry 1, which for C++ is often a header, and not the source file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple

_OPERATION = re.compile(r"  \[0x[0-9a-f]+\]  +(\w.*)")
_COLUMN = re.compile(r"Set column to (\d+)")
_ADDRESS = re.compile(
    r"(?:[Aa]ddress by \d+|PC by (?:constant )?\d+|set Address|size \d+) to 0x(\w+)"
)
_LINE = re.compile(r"Line by -?\d+ to (\d+)")


_TABLE = re.compile(r" The (Directory|File Name) Table ")
_ENTRY = re.compile(r"  (\d+)\t(?:(\d+)\t)?\([^)]*\): (.*)")
_FILE = re.compile(r"Set File Name to entry (\d+) ")


class Row(NamedTuple):
    """From an address on, code is of this line and column; line 0: it is nobody's.

    The file is "" where readelf does not say it in full.
    """

    address: int
    line: int
    column: int
    file: str = ""


class Columns:
    """The rows of all line programs of a program."""

    def __init__(self, lines: Iterable[str]) -> None:
        # The sort is stable: of several rows for one address the last one counts.
        self._rows = sorted(_rows(lines), key=lambda row: row.address)

    def of(self, address: int, line: int) -> int:
        """The column that an address of this line has; 0 if that is not known."""
        row = self._row(address)
        return row.column if row.line == line else 0

    def file(self, address: int, line: int) -> str:
        """The file that an address of this line is of; "" if that is not known."""
        row = self._row(address)
        return row.file if row.line == line else ""

    def _row(self, address: int) -> Row:
        at = bisect_right(self._rows, address, key=lambda row: row.address) - 1
        return self._rows[at] if at >= 0 else Row(0, 0, 0)


class _Files:
    """The tables of folders and files of one line program (DWARF 5: numbered from 0 on)."""

    def __init__(self) -> None:
        self._table = ""
        self._folders: dict[int, str] = {}
        self._files: dict[int, str] = {}

    def read(self, text: str) -> None:
        """A line before the operations."""
        if begun := _TABLE.match(text):
            self._table = begun[1]
            (self._folders if self._table == "Directory" else self._files).clear()
        found = _ENTRY.match(text)
        if found and self._table == "Directory":
            self._folders[int(found[1])] = found[3]
        elif found and found[2] and self._table == "File Name":
            folder = self._folders.get(int(found[2]), "")
            self._files[int(found[1])] = str(PurePath(self._folders.get(0, ""), folder, found[3]))

    def name(self, number: int) -> str:
        """Of an entry; "" if it is not known whole."""
        name = self._files.get(number, "")
        return name if name.startswith("/") else ""


def _rows(lines: Iterable[str]) -> list[Row]:
    rows: list[Row] = []
    # The initial state of a line program (DWARF 5, 6.2.2).
    address, line, column = 0, 1, 0
    files = _Files()
    file = 1
    for text in lines:
        found = _OPERATION.match(text)
        if not found:
            files.read(text)
            continue
        operation = found[1]
        if moved := _ADDRESS.search(operation):
            address = int(moved[1], 16)
        if moved := _LINE.search(operation):
            line = int(moved[1])
        if moved := _FILE.match(operation):
            file = int(moved[1])
        if moved := _COLUMN.match(operation):
            column = int(moved[1])
        elif operation.endswith("End of Sequence"):
            rows.append(Row(address, 0, 0))
            address, line, column, file = 0, 1, 0, 1
        elif operation.startswith(("Copy", "Special")):
            rows.append(Row(address, line, column, files.name(file)))
    return rows
