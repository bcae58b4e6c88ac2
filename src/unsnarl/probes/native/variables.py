# SPDX-License-Identifier: Apache-2.0
"""What a program calls what is at an address: globals, variables on stacks, blocks of the heap."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from unsnarl.probes.native.blocks import Blocks, Made
from unsnarl.probes.native.dwarf import Entry
from unsnarl.probes.native.types import Types

_ADDRESS = re.compile(r"\(DW_OP_addr: ([0-9a-f]+)\)")
_LOCAL = re.compile(r"\(DW_OP_const\w+: (\d+).*(?:push|form)_tls_address")
_FRAME = re.compile(r"\(DW_OP_fbreg: (-?\d+)\)")
_ORIGINS = ("abstract_origin", "specification")
# Where a frame begins for its variables: as the unwinder counts, or for clang its registers.
_BEHIND_RBP = 16


class NamedMemory(NamedTuple):
    """What is at an address.

    Attributes:
        thing: Identifies the variable, or the block.
        owner: The block or the frame that it is in; None for what exists once.
        type: Of what is there, and `rest` how far inside that.
    """

    variable: str
    element: str
    thing: tuple[object, ...]
    owner: tuple[object, ...] | None = None
    type: int = 0
    rest: int = 0


class Variable(NamedTuple):
    """One that the program declares; `at` is its address, or its offset in a frame."""

    at: int
    size: int
    name: str
    type: int


class Function(NamedTuple):
    """The code of one function, and where its frame begins."""

    low: int
    high: int
    name: str
    base: str
    entry: Entry


class Variables:
    """The variables of one program. Addresses are those of its file."""

    def __init__(
        self, entries: dict[int, Entry], symbols: Iterable[tuple[int, int, str]], blocks: Blocks
    ) -> None:
        self.types = Types(entries)
        self._entries = entries
        self._symbols = {name: (at, size) for at, size, name in symbols}
        self._blocks = blocks
        self._made: dict[tuple[int, int], Made | None] = {}  # to find out takes a while

    def data(self, address: int) -> NamedMemory | None:
        """A global or static variable."""
        found = _covering(self.globals, address)
        if found is None:
            return None
        return self._part(found, address, found.name, None)

    def stack(self, thread: str, code: int, from_cfa: int, from_sp: int) -> NamedMemory | None:
        """A variable of the function at `code`, in the notation that gdb has for it."""
        function = self._function(code)
        if function is None:
            return None
        # DWARF numbers of x86-64: 6 is rbp, 7 is rsp. The saved rbp and the return address lie
        # between rbp and the canonical frame address.
        at = from_sp if "reg7" in function.base else from_cfa
        at += _BEHIND_RBP if "reg6" in function.base else 0
        for one in self._locals(function):
            if one.at <= at < one.at + one.size:
                return self._part(one, at, f"{function.name}::{one.name}", (thread, function.low))
        return None

    def made(self, site: int, size: int) -> Made | None:
        """What the block is that the code at a site asked for; None for a library's."""
        if (site, size) not in self._made:
            self._made[site, size] = self._blocks.made(site, size, self)
        return self._made[site, size]

    def heap(self, made: Made, offset: int, number: int) -> NamedMemory:
        """A part of a block."""
        thing = ("heap", number)
        if not made.type or offset < made.start:
            return NamedMemory(made.name, f" +{offset}" if offset else "", thing, thing)
        each = self.types.size(made.type)
        offset -= made.start
        at, inside = divmod(offset, each) if made.several else (0, offset)
        part = self.types.part(made.type, inside)
        index = f"[{at}]" if made.several else ""
        if index:
            return NamedMemory(made.name, index + part.path + part.element, thing, thing, *part[2:])
        return NamedMemory(
            made.name + part.path, part.element, (*thing, part.path), thing, *part[2:]
        )

    def thread_local(self, offset: int) -> NamedMemory | None:
        """A variable of which every thread has its own; `offset` from the start of all of them."""
        found = _covering(self._thread_locals, offset)
        return None if found is None else self._part(found, offset, found.name, None)

    def _part(
        self, variable: Variable, at: int, name: str, owner: tuple[object, ...] | None
    ) -> NamedMemory:
        part = self.types.part(variable.type, at - variable.at)
        thing = (owner, name, part.path)
        return NamedMemory(name + part.path, part.element, thing, owner, part.type, part.rest)

    @cached_property
    def globals(self) -> list[Variable]:
        """By address. Clang says where they are in another section: symbols know it, too."""
        found = {one.at: one for one in self._typed(_ADDRESS, lambda word: int(word, 16))}
        named = {entry.text("name"): entry for entry in self._outermost()}
        for name, (at, size) in self._symbols.items():
            entry = named.get(name)
            type_ = self._type(entry) if entry is not None else 0
            found.setdefault(at, Variable(at, self.types.size(type_) or size, name, type_))
        return sorted(found.values())

    def _outermost(self) -> Iterator[Entry]:
        for entry in self._entries.values():
            outside = entry.parent is not None and entry.parent.tag in ("compile_unit", "namespace")
            if entry.tag == "variable" and outside and "declaration" not in entry.attributes:
                yield entry

    @cached_property
    def _thread_locals(self) -> list[Variable]:
        return sorted(self._typed(_LOCAL, int))

    def _typed(
        self, pattern: re.Pattern[str], number: Callable[[str], int], within: Entry | None = None
    ) -> Iterator[Variable]:
        """The variables whose location is of one kind."""
        for entry in within.below() if within is not None else self._entries.values():
            found = pattern.search(entry.attributes.get("location", ""))
            if found and found[1] and entry.tag in ("variable", "formal_parameter"):
                type_ = self._type(entry)
                size = self.types.size(type_)
                yield Variable(number(found[1]), size, self._origin(entry, "name"), type_)

    def _type(self, entry: Entry) -> int:
        while not entry.reference("type"):
            further = self._entries.get(next(filter(None, map(entry.reference, _ORIGINS)), 0))
            if further is None:
                return 0
            entry = further
        return entry.reference("type")

    def _origin(self, entry: Entry, name: str) -> str:
        while not entry.text(name):
            further = self._entries.get(next(filter(None, map(entry.reference, _ORIGINS)), 0))
            if further is None:
                return ""
            entry = further
        return entry.text(name)

    @cached_property
    def _functions(self) -> list[Function]:
        return sorted(
            (self._described(entry) for entry in self._entries.values() if _has_code(entry)),
            key=lambda function: function.low,
        )

    def _described(self, entry: Entry) -> Function:
        low, high = entry.number("low_pc"), entry.number("high_pc")
        # An address up to DWARF 3, from 4 on usually a length.
        high = high if high > low else low + high
        return Function(low, high, self._origin(entry, "name"), entry.text("frame_base"), entry)

    def _function(self, code: int) -> Function | None:
        at = bisect_right(self._functions, code, key=lambda one: one.low) - 1
        found = self._functions[at] if at >= 0 else None
        return found if found is not None and code < found.high else None

    def _locals(self, function: Function) -> list[Variable]:
        return [*self._typed(_FRAME, int, function.entry)]

    def pointed(self, name: str, code: int) -> int:
        """What a variable or member of this name points to, as seen by the code; 0: unknown."""
        function = self._function(code)
        inside = [*function.entry.below()] if function is not None else []
        for entry in [*inside, *self._outermost(), *self._members()]:
            if self._origin(entry, "name") == name and self.types.target(self._type(entry)):
                return self.types.target(self._type(entry))
        return 0

    def _members(self) -> Iterator[Entry]:
        return (entry for entry in self._entries.values() if entry.tag == "member")


def _has_code(entry: Entry) -> bool:
    return entry.tag == "subprogram" and "low_pc" in entry.attributes


def _covering(variables: list[Variable], address: int) -> Variable | None:
    at = bisect_right(variables, address, key=lambda one: one.at) - 1
    found = variables[at] if at >= 0 else None
    return found if found is not None and address < found.at + max(found.size, 1) else None
