# SPDX-License-Identifier: Apache-2.0
"""Places: sites that are one to a person, whatever the compiler made of them.

The head of a `while` loop is compiled twice, a comprehension is a function of its own before Python
3.12, a `with` statement has three calls. A place is a function, a line and what is touched there;
the core counts by places, so that "the third time" means the same in every version of Python.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unsnarl.probes.python.registry import Block

# Since 3.12 these are part of the function around them (PEP 709).
_INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")
# Since 3.12 slices have instructions of their own.
_SLICE, _ITEM = "[:]", "[]"
_LATE = 4096  # sites, as in native/binding/plan.h


def plain_function(qualified: str) -> str:
    """The function to which the code of this qualified name belongs."""
    while True:
        outer, _, last = qualified.rpartition(".<locals>.")
        if last in _INLINED and outer:
            qualified = outer
        elif qualified in _INLINED:
            return "<module>"
        else:
            head, _, last = qualified.rpartition(".")
            if last not in _INLINED:
                return qualified
            qualified = head  # in the body of a class


def plain_name(name: str) -> str:
    """The name under which all versions know what is touched."""
    return _ITEM if name == _SLICE else name


class Places:
    """By site the first site of its place, in an array that the core looks at."""

    def __init__(self, blocks: Iterable[Block], dump: dict[str, Any]) -> None:
        """For the code of codes.json, whose content is `dump`; and room for what comes later."""
        self.first = array("I", range(dump["watermark"] + _LATE))
        self._known: dict[tuple[str, str, int, str], int] = {}
        sites = {code["base"]: code["sites"] for code in dump["codes"]}
        for block in blocks:
            if block.base in sites:
                self._add(block, sites[block.base])

    def add(self, block: Block) -> None:
        """Code that a run has loaded by itself."""
        if block.base + block.size <= len(self.first):
            self._add(block, block.describe()["sites"])

    def _add(self, block: Block, sites: Iterable[list[Any]]) -> None:
        base, file = block.base, block.code.co_filename
        function = plain_function(block.code.co_qualname)
        # A call is no probe: locks and threads are met at any instruction of the line.
        for start, end, line in block.code.co_lines():
            self._put(base + start // 2, (end - start) // 2, (file, function, line or 0, ""))
        for unit, _, name, line, *_ in sites:
            self._put(base + unit, 1, (file, function, line, plain_name(name)))

    def _put(self, site: int, count: int, place: tuple[str, str, int, str]) -> None:
        first = self._known.setdefault(place, site)
        self.first[site : site + count] = array("I", [first]) * count
