# SPDX-License-Identifier: Apache-2.0
"""File names as a campaign stores them: relative to the project, so that both can be moved."""

from __future__ import annotations

from typing import Any

_ROW_FILE = 8  # runfile.codes.SiteEntry.file


def relative_to(root: str, file: str) -> str:
    """The name of a file below `root`, else the whole one."""
    folder = root.rstrip("/") + "/"
    return file.removeprefix(folder)


def with_relative_files(codes: list[dict[str, Any]], root: str) -> list[dict[str, Any]]:
    """The codes, as codes.json has them, with files relative to `root`."""
    return [
        code
        | {
            "file": relative_to(root, code["file"]),
            "sites": [_relative_row(row, root) for row in code["sites"]],
        }
        for code in codes
    ]


def _relative_row(row: list[Any], root: str) -> list[Any]:
    if len(row) <= _ROW_FILE or not row[_ROW_FILE]:
        return row
    return [*row[:_ROW_FILE], relative_to(root, row[_ROW_FILE]), *row[_ROW_FILE + 1 :]]
