# SPDX-License-Identifier: Apache-2.0
"""What a block of the heap is for. Debug information does not say it; the line that asks does:
`new Block[n]`, `malloc(sizeof(struct queue))`, or the variable that it is given to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from unsnarl.model.site import Site

if TYPE_CHECKING:
    from unsnarl.probes.native.variables import Variables

_NEW = re.compile(r"\bnew\s+(?:\([^()]*\)\s*)?((?:\w+::)*\w+)")
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*(?:struct\s+|union\s+|enum\s+)?(\w+)\s*\)")
_CAST = re.compile(r"\(\s*(?:struct\s+|union\s+)?(\w+)\s*\*\s*\)\s*\w*alloc")
_GIVEN = re.compile(r"(\w+)((?:\[[^\]]*\])*)\s*=[^=]")
# `blocks(new Block[n])`, as constructors initialise their members.
_INITIALISED = re.compile(r"(\w+)()\s*[({]\s*(?=new\b)")
_ASKED = re.compile(r"\bnew\b|\w*alloc\w*\s*\(|\bmake_(?:unique|shared)\b")
# `new T[n]` of a type that has to be destroyed keeps n before the first element.
_COOKIE = 8
# Of a statement that is longer than a line.
_MOST_LINES = 3


class Made(NamedTuple):
    """How to call a block: by its type, an array by the variable that points to it."""

    name: str
    type: int = 0
    several: bool = False
    start: int = 0


def made_at(file: str, line: int) -> Made:
    """A block of which no more is known than who asked for it."""
    return Made(f"block from {Path(file).name}:{line}")


class Blocks:
    """The blocks of one program, by the sites that ask for them."""

    def __init__(self, sites: Mapping[int, tuple[int, Site]], root: Path) -> None:
        # By site: the address of the call, and where it is in the source.
        self._sites = sites
        self._root = root

    def made(self, site: int, size: int, variables: Variables) -> Made | None:
        """What a block of this size is, that was asked for at a site; None for a library's."""
        if site not in self._sites:
            return None
        code, asked = self._sites[site]
        text = self._statement(asked)
        given = _given(text)
        name = given[1] if given else ""
        type_ = self._type(text, name, code, variables)
        each = variables.types.size(type_)
        if not each or size < each:
            return made_at(asked.file, asked.line)
        name += "[]" if given and given[2] else ""
        start = _COOKIE if _NEW.search(text) and size % each == _COOKIE else 0
        several = size - start >= 2 * each and not (size - start) % each
        single = variables.types.name(type_) if variables.types.is_record(type_) else name
        called = name or variables.types.name(type_)
        return Made(called if several else single or called, type_, several, start)

    def _type(self, text: str, name: str, code: int, variables: Variables) -> int:
        types = variables.types
        for pattern in (_NEW, _SIZEOF, _CAST):
            for found in pattern.finditer(text):
                if type_ := types.by_name(found[1]):
                    return type_
        return variables.pointed(name, code) if name else 0

    def _statement(self, asked: Site) -> str:
        """The source from the line on, to the statement's end."""
        try:
            lines = (self._root / asked.file).read_text("utf-8", "replace").splitlines()
        except OSError:
            return ""
        text = " ".join(lines[asked.line - 1 : asked.line - 1 + _MOST_LINES])
        return text.partition(";")[0]


def _given(text: str) -> re.Match[str] | None:
    """The variable that a block is given to: the last one before what asks for it."""
    asked = _ASKED.search(text)
    if asked is None:
        found = _GIVEN.search(text)
        before = text[: found.start()] if found else ""
        # `for (int i = 0`, cut off at its semicolon
        return None if before.count("(") > before.count(")") else found
    initialised = _INITIALISED.search(text)
    if initialised is not None and initialised.end() == asked.start():
        return initialised
    return next(reversed([*_GIVEN.finditer(text[: asked.end()])]), None)
