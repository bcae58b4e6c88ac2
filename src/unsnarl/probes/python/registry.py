# SPDX-License-Identifier: Apache-2.0
"""Which site ids belong to which code, and where they stand in the source.

Every rewritten code object owns a block of ids, one per code unit of its original bytecode. Source
positions are read from the original code object, and only when somebody asks.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from types import CodeType
from typing import Any

from unsnarl.model.event import PRIVATE_SITES
from unsnarl.probes.python.late_codes import LateCodes

Row = list[Any]  # offset in units, kind, name, line, end line, column, end column
MAX_SITES = 1 << 28  # a point is a site and four more bits
Labels = dict[int, tuple[str, str]]  # offset in units -> kind, name
UNSEEN: list[str] = []  # code of the target that could not be rewritten, in words


@lru_cache(maxsize=1)
def core() -> Any:
    """The native module, imported late so that the analyses work without it."""
    return import_module("unsnarl._core")


class Block:
    """The ids of one code object."""

    __slots__ = ("_made", "base", "code", "labels", "size")

    def __init__(self, base: int, size: int, code: CodeType, labels: Callable[[], Labels]) -> None:
        self.base = base
        self.size = size
        self.code = code
        self.labels = labels
        self._made: list[Row] | None = None

    def describe(self) -> dict[str, Any]:
        """This block as an entry of codes.json."""
        return {
            "base": self.base,
            "size": self.size,
            "file": self.code.co_filename,
            "function": self.code.co_qualname,
            "line": self.code.co_firstlineno,
            "sites": self.rows(),
        }

    def rows(self) -> list[Row]:
        """Its sites. Runs that load code themselves ask several times, so they are kept."""
        if self._made is None:
            labels = self.labels()
            positions = list(self.code.co_positions())
            units = sorted(labels)
            self._made = [[unit, *labels[unit], *_numbers(positions[unit])] for unit in units]
        return self._made


def _numbers(position: tuple[int | None, ...]) -> tuple[int, ...]:
    """(line, end line, column, end column), 0 where the compiler kept none."""
    return tuple(number or 0 for number in position)


class Registry:
    """All blocks of the process, in the order of their ids."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.modules = 0
        self.probes = 0
        self.refused: list[list[str]] = []  # file, reason: code that runs without probes
        self.late: Callable[[Block], None] | None = (
            None  # called with code that is loaded from now on
        )
        self._next = 1  # 0 stands for "no site" in native code
        self._shared: LateCodes | None = None

    def allocate(self, code: CodeType, size: int, probes: int, labels: Callable[[], Labels]) -> int:
        """Give a code object its ids; returns the first of them.

        No instruction between reading and storing `_next` looks at the eval breaker, so threads
        that import at the same time cannot get the same ids, and no lock is needed that the
        target's patched locks would see.
        """
        if self._next + size > MAX_SITES:
            raise ValueError("no site ids are left")
        base = self._next
        self._next = base + size
        block = Block(base, size, code, labels)
        if self._shared is not None:
            # Only runs come here, where ids are for good as soon as one run has given them.
            block.base = self._shared.base_of(code, block.describe) or base
        self.blocks.append(block)
        self.probes += probes
        if self.late is not None:
            self.late(block)
        return block.base

    def share(self, codes: LateCodes) -> None:
        """From now on code gets the ids that all runs have agreed on."""
        self._shared = codes
        self._next = max(self._next, PRIVATE_SITES)

    @contextmanager
    def aside(self) -> Iterator[list[Block]]:
        """Gives the blocks of what is rewritten meanwhile, which is not loaded yet."""
        before, self.blocks = self.blocks, []
        try:
            yield self.blocks
        finally:
            self.blocks = before

    def adopt(self, blocks: list[Block]) -> None:
        """They are loaded now."""
        self.blocks.extend(blocks)

    def reserve(self, limit: int) -> None:
        """Leave all ids below a limit to others."""
        if limit > MAX_SITES:
            raise ValueError("no site ids are left")
        self._next = max(self._next, limit)

    def module_done(self) -> None:
        """Count one more rewritten module."""
        self.modules += 1

    @property
    def watermark(self) -> int:
        """The first id that is not taken."""
        return self._next

    def dump(self) -> dict[str, Any]:
        """The content of codes.json."""
        # Read once: a thread of the target may import while this goes on.
        watermark = self._next
        return {
            "version": 1,
            "watermark": watermark,
            "modules": self.modules,
            "probes": self.probes,
            "refused": self.refused,
            "codes": [block.describe() for block in self.blocks if block.base < watermark],
        }

    def since(self, watermark: int) -> list[dict[str, Any]]:
        """Entries of codes whose ids start at or after a watermark."""
        return [block.describe() for block in self.blocks if block.base >= watermark]

    def describe(self, site: int) -> dict[str, Any] | None:
        """The entry of the code that has a site; None if no code of ours has it."""
        owners = (one for one in self.blocks if one.base <= site < one.base + one.size)
        return next((one.describe() for one in owners), None)

    def files_since(self, watermark: int) -> set[str]:
        """The files of these codes; a failing run asks for them in its last breath."""
        return {block.code.co_filename for block in self.blocks if block.base >= watermark}


REGISTRY = Registry()
dump = REGISTRY.dump
since = REGISTRY.since
describe = REGISTRY.describe
files_since = REGISTRY.files_since
