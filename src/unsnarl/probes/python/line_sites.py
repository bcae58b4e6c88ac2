# SPDX-License-Identifier: Apache-2.0
"""Which sites are one to a person, whatever the compiler made of them.

The head of a `while` loop is compiled twice, a comprehension is a function of its own before Python
3.12, a `with` statement has three calls. Sites of one function and line that touch the same thing
are counted as one by the core, so that "the third time" means the same in every version of Python.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unsnarl.model.python_names import plain_function, plain_name

if TYPE_CHECKING:
    from unsnarl.probes.python.registry import Block

LATE_SITES = 1 << 17  # as in native/binding/plan.h


class LineSites:
    """By site the first site that counts as the same, in an array that the core looks at."""

    def __init__(self, blocks: Iterable[Block], dump: dict[str, Any]) -> None:
        """For the code of codes.json, whose content is `dump`; and room for what comes later."""
        self.first = array("I", range(dump["watermark"] + LATE_SITES))
        self._by_identity: dict[tuple[str, str, int, str], int] = {}
        sites = {code["base"]: code["sites"] for code in dump["codes"]}
        for block in blocks:
            if block.base in sites:
                self._add(block, sites[block.base])

    def add(self, block: Block) -> None:
        """Code that a run has loaded by itself."""
        if block.base + block.size <= len(self.first):
            self._add(block, block.rows())

    def _add(self, block: Block, sites: Iterable[list[Any]]) -> None:
        base, file = block.base, block.code.co_filename
        function = plain_function(block.code.co_qualname)
        # A call is no probe: locks and threads are met at any instruction of the line.
        for start, end, line in block.code.co_lines():
            self._put(base + start // 2, (end - start) // 2, (file, function, line or 0, ""))
        for unit, _, name, line, *_ in sites:
            self._put(base + unit, 1, (file, function, line, plain_name(name)))

    def _put(self, site: int, count: int, identity: tuple[str, str, int, str]) -> None:
        first = self._by_identity.setdefault(identity, site)
        self.first[site : site + count] = array("I", [first]) * count
