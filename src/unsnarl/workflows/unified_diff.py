# SPDX-License-Identifier: Apache-2.0
"""Applies a unified diff to texts: strictly, but wherever its context is found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from unsnarl.errors import UsageError

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def apply_diff(diff: str, folder: Path) -> dict[Path, str]:
    """The new texts of the files that a diff is about, by path; nothing is written."""
    found: dict[Path, str] = {}
    for name, hunks in _files(diff.splitlines(keepends=True)):
        path = _existing(name, folder)
        with path.open(encoding="utf-8", newline="") as file:
            lines = file.read().splitlines(keepends=True)
        shift = 0
        for start, before, after in hunks:
            at = _start(lines, before, start - 1 + shift, name)
            lines[at : at + len(before)] = after
            shift += len(after) - len(before)
        found[path] = "".join(lines)
    if not found:
        raise UsageError("bad-argument", "the patch is no unified diff, or changes nothing")
    return found


Hunk = tuple[int, list[str], list[str]]


def _files(lines: list[str]) -> Iterator[tuple[str, list[Hunk]]]:
    name, hunks = "", list[Hunk]()
    while lines:
        line = lines.pop(0)
        if line.startswith("+++ "):
            if hunks:
                yield name, hunks
            name, hunks = line[4:].split("\t")[0].strip(), []
        elif (found := HUNK.match(line)) and name:
            old, new = (int(number or 1) for number in found.group(2, 3))
            hunks.append((int(found[1]), *_sides(lines, old, new)))
    if hunks:
        yield name, hunks


def _sides(lines: list[str], old: int, new: int) -> tuple[list[str], list[str]]:
    """The old and the new lines of a hunk: as many as its head says, whatever they look like."""
    before, after = list[str](), list[str]()
    while lines and (len(before) < old or len(after) < new):
        line = lines.pop(0)
        text = line[1:] or "\n"  # editors cut the blank of an empty line
        if line[0] in " -\n":
            before.append(text)
        if line[0] in " +\n":
            after.append(text)
    return before, after


def _existing(name: str, folder: Path) -> Path:
    for candidate in (name, name.partition("/")[2]):  # `b/src/x.py`
        path = (folder / candidate).resolve()
        if candidate and path.is_file() and path.is_relative_to(folder.resolve()):
            return path
    raise UsageError("bad-argument", f"the patch is about {name}, which is no file of the project")


def _start(lines: list[str], before: list[str], wanted: int, name: str) -> int:
    """Where the old lines are: at the line that is named, else at the nearest match."""
    last = len(lines) - len(before)
    matches = [at for at in range(last + 1) if lines[at : at + len(before)] == before]
    if not matches:
        raise UsageError("bad-argument", f"the patch does not fit {name}: {before[:1]} ...")
    return min(matches, key=lambda at: abs(at - wanted))
