# SPDX-License-Identifier: Apache-2.0
"""Types of a C program: what a part of an object is called, and what its bytes mean."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from unsnarl.probes.native.dwarf import Entry

PLAIN = ("typedef", "const_type", "volatile_type", "atomic_type", "restrict_type")
RECORDS = ("structure_type", "class_type", "union_type")
POINTERS = ("pointer_type", "reference_type", "rvalue_reference_type")
POINTER_BYTES = 8
# Members that libraries keep to themselves: `std::mutex` and the like are named as a whole.
HIDDEN = ("_M_", "__")
# DW_ATE_*
BOOLEAN, FLOAT, SIGNED, SIGNED_CHAR = 2, 4, 5, 6
_FLOATS = {4: "<f", 8: "<d"}
# Ends chains of types even if damaged debug information goes round in a circle.
_DEPTH = 32


class TypePart(NamedTuple):
    """A part of an object: `.items`, `[3]`, the type of what is there, and how far inside."""

    path: str
    element: str
    type: int
    rest: int


class Types:
    """All types of a program, by the offsets of their entries."""

    def __init__(self, entries: Mapping[int, Entry]) -> None:
        self._entries = entries

    @cached_property
    def _named(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for offset, entry in self._entries.items():
            whole = entry.tag in (*RECORDS, "typedef", "base_type", "enumeration_type")
            if whole and "declaration" not in entry.attributes and entry.text("name"):
                found.setdefault(entry.text("name"), offset)
        return found

    def by_name(self, name: str) -> int:
        """The type of a name, without its namespaces; 0 if there is none."""
        return self._named.get(name.rpartition("::")[2], 0)

    def name(self, type_: int) -> str:
        """What the program calls a type; "" if it has no name."""
        for _ in range(_DEPTH):
            entry = self._entries.get(type_)
            if entry is None or entry.text("name"):
                return short(entry.text("name")) if entry else ""
            type_ = entry.reference("type") if entry.tag in PLAIN else 0
        return ""

    def bare(self, type_: int) -> Entry | None:
        """The type itself, without typedefs and qualifiers."""
        for _ in range(_DEPTH):
            entry = self._entries.get(type_)
            if entry is None or entry.tag not in PLAIN:
                return self._defined(entry)
            type_ = entry.reference("type")
        return None

    def _defined(self, entry: Entry | None) -> Entry | None:
        """Of a type that is only declared here, the definition elsewhere."""
        if entry is None or "declaration" not in entry.attributes:
            return entry
        return self._entries.get(self._named.get(entry.text("name"), 0), entry)

    def size(self, type_: int) -> int:
        """In bytes; 0 if that is not known."""
        entry = self.bare(type_)
        if entry is None:
            return 0
        if entry.tag == "array_type" and "byte_size" not in entry.attributes:
            return self.size(entry.reference("type")) * _count(entry)
        return entry.number("byte_size", POINTER_BYTES if entry.tag in POINTERS else 0)

    def target(self, type_: int) -> int:
        """What a pointer points to, or an array is made of; 0 if it is neither."""
        entry = self.bare(type_)
        if entry is None or entry.tag not in (*POINTERS, "array_type"):
            return 0
        return entry.reference("type")

    def is_record(self, type_: int) -> bool:
        """Whether it has members."""
        entry = self.bare(type_)
        return entry is not None and entry.tag in RECORDS

    def part(self, type_: int, offset: int) -> TypePart:
        """What lies `offset` bytes from the start of an object; from the first array on, its
        element.
        """
        path = element = ""
        for _ in range(_DEPTH):
            entry = self.bare(type_)
            if entry is None:
                break
            if entry.tag == "array_type":
                word, type_, offset = self._indexed(entry, offset)
                element += word
            else:
                member = self._member(entry, offset)
                name = member.text("name") if member is not None else ""
                if member is None or name.startswith(HIDDEN):
                    break
                type_, offset = member.reference("type"), offset - _offset(member)
                step = f".{name}" if name else ""
                path, element = (path, element + step) if element else (path + step, "")
        return TypePart(path, element, type_, offset)

    def _indexed(self, array: Entry, offset: int) -> tuple[str, int, int]:
        """One step into an array of any number of dimensions."""
        inner = array.reference("type")
        lengths = [_length(child) for child in array.children if child.tag == "subrange_type"]
        at, rest = divmod(offset, self.size(inner) or 1)
        words: list[str] = []
        for length in reversed(lengths[1:]):
            at, index = divmod(at, length or 1)
            words.insert(0, f"[{index}]")
        return f"[{at}]" + "".join(words), inner, rest

    def _member(self, record: Entry, offset: int) -> Entry | None:
        if record.tag not in RECORDS:
            return None
        for member in record.children:
            if member.tag not in ("member", "inheritance") or not _is_placed(member, record):
                continue
            at = _offset(member)
            if at <= offset < at + max(1, self.size(member.reference("type"))):
                return member
        return None

    def scalar(self, type_: int, offset: int = 0) -> Entry | None:
        """The type of the bytes themselves: that of the first member, of the first element…"""
        for _ in range(_DEPTH):
            entry = self.bare(type_)
            if entry is None:
                return None
            if entry.tag == "array_type":
                type_ = entry.reference("type")
                offset %= self.size(type_) or 1
            elif entry.tag in RECORDS:
                member = self._member(entry, offset)
                if member is None:
                    return None
                type_, offset = member.reference("type"), offset - _offset(member)
            else:
                return entry
        return None


def value_text(bits: int, size: int, scalar: Entry | None) -> str:
    """What `size` bytes are worth; without a type that fits, a number."""
    raw = bits.to_bytes(8, "little")[:size]
    fitting = scalar if scalar is not None and _size_of(scalar) == size else None
    tag = fitting.tag if fitting is not None else ""
    if fitting is None or tag in POINTERS:
        number = int.from_bytes(raw, "little")
        if tag in POINTERS and not number:
            return "NULL"
        # No type, and too large for a count: an address, or several things in one.
        plain = not tag and number < 1 << 32
        return str(number) if plain else hex(number)
    if tag == "enumeration_type":
        return _enumerator(fitting, int.from_bytes(raw, "little", signed=True))
    return _number(raw, fitting.number("encoding"))


def _number(raw: bytes, encoding: int) -> str:
    if encoding == BOOLEAN:
        return "true" if any(raw) else "false"
    if encoding == FLOAT and len(raw) in _FLOATS:
        return repr(struct.unpack(_FLOATS[len(raw)], raw)[0])
    return str(int.from_bytes(raw, "little", signed=encoding in (SIGNED, SIGNED_CHAR)))


def _enumerator(enumeration: Entry, number: int) -> str:
    for child in enumeration.children:
        if child.tag == "enumerator" and child.number("const_value", -1) == number:
            return child.text("name")
    return str(number)


def short(name: str) -> str:
    """A type's name without the arguments of its template."""
    head, bracket, _ = name.partition("<")
    return f"{head}<…>" if bracket else name


def _size_of(scalar: Entry) -> int:
    return scalar.number("byte_size", POINTER_BYTES if scalar.tag in POINTERS else 0)


def _count(array: Entry) -> int:
    count = 1
    for child in array.children:
        if child.tag == "subrange_type":
            count *= _length(child)
    return count


def _length(subrange: Entry) -> int:
    if "count" in subrange.attributes:
        return subrange.number("count")
    # A flexible array member has no bound: no elements.
    return subrange.number("upper_bound", -1) + 1


def _offset(member: Entry) -> int:
    # A bit field: from DWARF 4 on its offset is in bits from the start of the record.
    if "data_bit_offset" in member.attributes:
        return member.number("data_bit_offset") // 8
    return member.number("data_member_location")


def _is_placed(member: Entry, record: Entry) -> bool:
    """Static members have no offset; in a union nobody needs one."""
    offsets = ("data_member_location", "data_bit_offset")
    return record.tag == "union_type" or any(name in member.attributes for name in offsets)
