# SPDX-License-Identifier: Apache-2.0
"""A run file in the site ids of another campaign."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from unsnarl.model.event import OP_BITS
from unsnarl.runfile import layout
from unsnarl.runfile.amend import read_sections, write_sections
from unsnarl.runfile.layout import Section

# Fields that are points though they are not called so, and those that are sites.
OTHER_POINTS = {Section.WAITS: ("taken",), Section.STANDSTILLS: ("taken",)}
SITES = {Section.COUNTS: ("site", "head")}


class Move(NamedTuple):
    """The ids of one piece of code: so many from `old` on are those from `new` on."""

    old: int
    size: int
    new: int


class Renumbering:
    """Other ids for some sites; the others keep theirs."""

    def __init__(self, moves: Iterable[Move]) -> None:
        rows = sorted(move for move in moves if move.old != move.new)
        self._olds = np.array([row.old for row in rows], dtype=np.int64)
        self._ends = np.array([row.old + row.size for row in rows], dtype=np.int64)
        self._shifts = np.array([row.new - row.old for row in rows], dtype=np.int64)

    def __bool__(self) -> bool:
        return len(self._olds) > 0

    def sites(self, ids: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """The new ids."""
        if not self:
            return ids
        wide = ids.astype(np.int64)
        at = np.searchsorted(self._olds, wide, side="right") - 1
        moved = (at >= 0) & (wide < self._ends[at])
        return np.where(moved, wide + self._shifts[at], wide).astype(np.uint32)

    def points(self, points: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        """The same operations at the new ids."""
        operations = points & np.uint32((1 << OP_BITS) - 1)
        return (self.sites(points >> np.uint32(OP_BITS)) << np.uint32(OP_BITS)) | operations

    def site(self, number: int) -> int:
        """The new id of one site."""
        return int(self.sites(np.array([number], dtype=np.uint32))[0])


def renumber(path: Path, renumbering: Renumbering) -> None:
    """Write a whole run file anew with other site ids."""
    sections = read_sections(path)
    for kind, (size, payload) in sections.items():
        if kind == Section.NOTES:
            sections[kind] = (size, _notes(payload, renumbering))
        elif kind in layout.RECORDS:
            sections[kind] = (size, _records(Section(kind), payload, renumbering))
    write_sections(path, sections)


def _records(kind: Section, payload: bytes, renumbering: Renumbering) -> bytes:
    rows = np.frombuffer(payload, dtype=layout.RECORDS[kind]).copy()
    if kind == Section.SHARED:
        return renumbering.sites(rows).tobytes()
    names = rows.dtype.names or ()
    points = [name for name in names if name.endswith("point")]
    for name in (*points, *OTHER_POINTS.get(kind, ())):
        rows[name] = renumbering.points(rows[name])
    for name in SITES.get(kind, ()):
        rows[name] = renumbering.sites(rows[name])
    return rows.tobytes()


def _notes(payload: bytes, renumbering: Renumbering) -> bytes:
    # The standard library's parser: texts may hold lone surrogates (notes.py).
    lines = [json.loads(line) for line in payload.split(b"\n") if line.strip()]
    made = [json.dumps(_note(line, renumbering.site), separators=(",", ":")) for line in lines]
    return "".join(text + "\n" for text in made).encode()


def _note(line: dict[str, Any], site: Callable[[int], int]) -> dict[str, Any]:
    """A line of the notes; those that name no site stay as they are."""
    for key in ("variables", "places"):
        if isinstance(line.get(key), dict):
            line[key] = {str(site(int(number))): what for number, what in line[key].items()}
    for key, fields in (("failure", ("site", "made", "freed")), ("caught", ("site",))):
        if isinstance(line.get(key), dict):
            line[key] |= {name: site(line[key][name]) for name in fields if line[key].get(name)}
    if "codes" in line:
        line["codes"] = [code | {"base": site(code["base"])} for code in line["codes"]]
    return line
