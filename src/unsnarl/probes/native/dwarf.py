# SPDX-License-Identifier: Apache-2.0
"""The debug information of a program, as far as names and types go: readelf says what is there.

Entries refer to each other by their offsets; those of types, variables and functions are kept, with
the few attributes that somebody asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_TAGS = """
    array_type atomic_type base_type class_type compile_unit const_type enumeration_type enumerator
    formal_parameter inheritance inlined_subroutine lexical_block member namespace pointer_type
    reference_type restrict_type rvalue_reference_type structure_type subprogram subrange_type
    typedef union_type variable volatile_type
"""
_ATTRIBUTES = """
    abstract_origin byte_size const_value count data_bit_offset data_member_location declaration
    encoding frame_base high_pc location low_pc name specification type upper_bound
"""
TAGS, ATTRIBUTES = frozenset(_TAGS.split()), frozenset(_ATTRIBUTES.split())
_ENTRY = re.compile(r" <([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
_ATTRIBUTE = re.compile(r"    <[0-9a-f]+>\s+DW_AT_(\w+)\s*: (.*)")
_REFERENCE = re.compile(r"<0x([0-9a-f]+)>")
_INDIRECT = re.compile(r"\((?:alt )?ind[^)]*\): ")


class Entry:
    """One entry, with those below it."""

    __slots__ = ("attributes", "children", "offset", "parent", "tag")

    def __init__(self, offset: int, tag: str, parent: Entry | None) -> None:
        self.offset = offset
        self.tag = tag
        self.parent = parent
        self.children: list[Entry] = []
        self.attributes: dict[str, str] = {}

    def text(self, name: str) -> str:
        """An attribute as readelf writes it, without where it is stored; "" if it is not there."""
        return _INDIRECT.sub("", self.attributes.get(name, ""), count=1).strip()

    def number(self, name: str, otherwise: int = 0) -> int:
        """An attribute that is a number; `0x1f`, or `5 (signed)`."""
        word = self.text(name).partition("\t")[0].split(" ")[0]
        try:
            return int(word, 0)
        except ValueError:
            return otherwise

    def reference(self, name: str) -> int:
        """The offset of another entry; 0 if there is none."""
        found = _REFERENCE.search(self.attributes.get(name, ""))
        return int(found[1], 16) if found else 0

    def below(self) -> Iterator[Entry]:
        """All entries inside of this one."""
        for child in self.children:
            yield child
            yield from child.below()


def parse(lines: Iterable[str]) -> dict[int, Entry]:
    """The entries by offset, from the output of `readelf --debug-dump=info`."""
    entries: dict[int, Entry] = {}
    path: list[Entry | None] = []
    current: Entry | None = None
    for line in lines:
        if line.startswith(" <"):
            found = _ENTRY.match(line)
            if not found:
                current = None
                continue
            level = int(found[1], 16)
            del path[level:]
            parent = next((one for one in reversed(path) if one is not None), None)
            current = _entry(found, parent) if found[3] in TAGS else None
            # Entries that are not kept still take up their level: it is the index in the path.
            path.extend([None] * (level - len(path)))
            path.append(current)
            if current is not None:
                entries[current.offset] = current
        elif current is not None:
            attribute = _ATTRIBUTE.match(line)
            if attribute and attribute[1] in ATTRIBUTES:
                current.attributes[attribute[1]] = attribute[2]
    return entries


def _entry(found: re.Match[str], parent: Entry | None) -> Entry:
    entry = Entry(int(found[2], 16), found[3], parent)
    if parent is not None:
        parent.children.append(entry)
    return entry
