# SPDX-License-Identifier: Apache-2.0
"""What a replay of a C program captured, in the program's own words.

The probe notes addresses and bytes (native/probe_c/capture.c); here they become the `values` note
that a replay of a Python program has (probes/python/capture.py). It is done once, in the parent,
when the replay is over, and kept in its run file: the program may be built again tomorrow.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.model.event import site_of
from unsnarl.model.site import Site
from unsnarl.probes.binaries.sites import SYSTEM, UNIT, Program, Source
from unsnarl.probes.errors import TargetError
from unsnarl.probes.native import dwarf
from unsnarl.probes.native.blocks import Blocks, Made, made_at
from unsnarl.probes.native.dwarf import Entry
from unsnarl.probes.native.types import value_text
from unsnarl.probes.native.variables import NamedMemory, Variables
from unsnarl.runfile import RunFileError, SiteTable, read_run
from unsnarl.runfile.amend import add_note
from unsnarl.runfile.notes import Notes

UNNAMED = "a lock"
# What is at these sites has no value: all of the block is meant.
WITHOUT_VALUE = ("free", "allocate")
Location = list[Any] | None


class RawCapture(msgspec.Struct, frozen=True, array_like=True):
    """One entry of a `captured` note."""

    event: int
    point: int
    path: str
    address: int
    location: Location
    locks: tuple[tuple[int, int, Location], ...]
    calls: tuple[int, ...]
    bits: int | None = None
    size: int = 0


class CaptureNamer:
    """Names what runs of one program captured."""

    def __init__(self, program: Program, table: SiteTable) -> None:
        self._program = program
        self._table = table
        self._sources: dict[int, list[Source]] = {}  # by return address

    def complete(self, path: Path) -> None:
        """Add to a run file what its captured values mean. Values are an extra: never raises."""
        with contextlib.suppress(RunFileError, TargetError, OSError, ValueError):
            notes = read_run(path).notes
            if values := self.values(notes):
                add_note(path, {"values": values})

    def values(self, notes: Notes) -> list[list[Any]]:
        """The entries of a `values` note."""
        seen = msgspec.convert(notes.captured, type=list[RawCapture])
        self._learn(call for one in seen for call in (*one.calls, *_asking(one.location)))
        numbers = _Numbers()
        return [self._value(one, numbers) for one in seen]

    def _value(self, one: RawCapture, numbers: _Numbers) -> list[Any]:
        named = self._touched(site_of(one.point), one.location)
        locks = [self._lock(location) for _, _, location in one.locks]
        held = [[numbers.of(("lock", address)), section] for address, section, _ in one.locks]
        thing: tuple[object, ...] = ("?", one.address)
        variable, element, owner = "", "", 0
        if named is not None:
            thing, variable, element = named.thing, named.variable, named.element
            owner = numbers.of(named.owner) if named.owner else 0
        stack = [*self._library_frame(site_of(one.point))]
        for call in one.calls:
            stack += [[source.file, source.line, source.function] for source in self._sources[call]]
        identity = [numbers.of(thing), element, owner]
        values = [one.event, one.point, one.path, self._text(one, named), locks, variable]
        return [*values, held, identity, stack]

    def _library_frame(self, number: int) -> Iterator[list[Any]]:
        """A library's code is not among the calls that are noted: where it is, is known."""
        site = self._table.site(number)
        if number >= self._program.limit:
            yield [site.file, site.line, site.function]

    def _text(self, one: RawCapture, named: NamedMemory | None) -> str:
        site = self._table.site(site_of(one.point))
        # Of a call of a header's function the size is not that of the site.
        size = self._table.size(site_of(one.point)) or one.size
        if one.bits is None or not 0 < size <= 8 or site.kind in WITHOUT_VALUE:
            return ""
        types = self._variables.types
        return value_text(one.bits, size, types.scalar(named.type, named.rest) if named else None)

    def _lock(self, location: Location) -> str:
        named = self._named(location)
        return named.variable + named.element if named is not None else UNNAMED

    def name(self, site: int, location: Location) -> str:
        """What the program calls a location, without the element; "" if it does not say."""
        named = self._touched(site, location)
        return named.variable if named is not None else ""

    def _touched(self, site: int, location: Location) -> NamedMemory | None:
        """Who frees a block touches all of it."""
        if self._table.site(site).kind not in WITHOUT_VALUE:
            return self._named(location)
        match location:
            case ["heap", _, int(size), int(asked), int(number), list(calls)]:
                made, thing = self._made(asked, size, calls), ("heap", number)
                return NamedMemory(made.name, "", thing, thing) if made is not None else None
        return None

    def _named(self, location: Location) -> NamedMemory | None:
        match location:
            case ["data", int(offset)]:
                return self._variables.data(self._program.start + offset)
            case ["stack", str(thread), int(code), int(from_cfa), int(from_sp)]:
                at = self._program.start + code - 1
                return self._variables.stack(thread, at, from_cfa, from_sp)
            case ["heap", int(offset), int(size), int(site), int(number), list(calls)]:
                made = self._made(site, size, calls)
                return self._variables.heap(made, offset, number) if made is not None else None
            case ["tls", int(offset)]:
                return self._variables.thread_local(offset + self._program.tls_bytes)
        return None

    def _made(self, site: int, size: int, calls: list[int]) -> Made | None:
        """What a block is; one that a library asked for is named by the program's line."""
        own = self._table.site(site).file
        if site and not own.startswith(SYSTEM):
            return self._variables.made(site, size)
        self._learn(calls)
        first = next((one for call in calls for one in self._sources[call]), None)
        return made_at(first.file, first.line) if first is not None else None

    def _learn(self, calls: Iterable[int]) -> None:
        """The program's own lines behind return addresses: not libraries', not the probe's."""
        order = sorted(set(calls) - self._sources.keys())
        start = self._program.start
        found = self._program.frames(start + call - 1 for call in order) if order else []
        for call, frames in zip(order, found, strict=True):
            lines = (one for one in frames if one.line and not one.file.startswith(SYSTEM))
            self._sources[call] = [*lines]

    @cached_property
    def _variables(self) -> Variables:
        entries = _entries(self._program.path, self._program.built)
        start = self._program.start
        symbols = [(start + at, size, name) for at, size, name in self._program.variables()]
        return Variables(entries, symbols, Blocks(dict(self._sites()), Path(self._table.root)))

    def _sites(self) -> Iterator[tuple[int, tuple[int, Site]]]:
        """The calls that make blocks: their addresses, and where they are in the source."""
        for site in self._table.of_kinds(WITHOUT_VALUE):
            yield site, (self._program.start + site * UNIT - 1, self._table.site(site))


@lru_cache(maxsize=1)
def _entries(path: Path, built: str) -> dict[int, Entry]:
    """The debug information of one build: it is asked for by several."""
    return dwarf.parse(Program(path).debug_information())


def _asking(location: Location) -> list[int]:
    """The calls that led to a block."""
    return location[5] if location and location[0] == "heap" else []


def name_locations(table: SiteTable) -> None:
    """Let a table name what a program touches, if it is still the build that the table is of."""
    with contextlib.suppress(TargetError, OSError):
        program = Program(Path(table.program))
        # In another build the same offsets are other variables.
        if program.built == table.built:
            table.namer = CaptureNamer(program, table).name


def completion(program: Path, codes: Path, root: Path) -> Callable[[Path], None]:
    """What completes the run files of a program's captures; it reads the program when first used.

    Args:
        codes: The file of the program's sites.
        root: The project's folder.
    """

    @cache
    def namer() -> CaptureNamer:
        return CaptureNamer(Program(program), SiteTable.load(codes, root))

    return lambda path: namer().complete(path)


class _Numbers:
    """Numbers things from 1 on, as they are met."""

    def __init__(self) -> None:
        self._sources: dict[object, int] = {}

    def of(self, thing: object) -> int:
        return self._sources.setdefault(thing, len(self._sources) + 1)
