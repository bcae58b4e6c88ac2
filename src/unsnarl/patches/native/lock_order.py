# SPDX-License-Identifier: Apache-2.0
"""Lock-order deadlocks: two mutexes that one function takes one after the other, in one order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from unsnarl.patches.native.conflict import CConflict
from unsnarl.patches.native.mutexes import GUARD, new_name, text_of
from unsnarl.patches.native.source import CEdits, CSource, covering
from unsnarl.patches.native.tree import Statement
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import UnpatchableError

TAKEN = re.compile(r"(?:\(void\))?pthread_mutex_lock\((?P<argument>[^;]+)\);")


class TwoLocks(NamedTuple):
    """Two statements of one body that take mutexes, the first one and a later one."""

    source: CSource
    first: Statement
    second: Statement
    adjacent: bool


def lock_orders(conflict: CConflict) -> Iterator[Draft]:
    """The second mutex before the first; or both by their addresses."""
    for pair in _pairs(conflict):
        yield _turned(pair)
        yield from _by_address(pair)


def _pairs(conflict: CConflict) -> Iterator[TwoLocks]:
    """Where a thread at fault takes its two mutexes."""
    lines = sorted({(one.file, one.line) for one in conflict.points})
    for file, line in lines:
        for other_file, other in lines:
            source = conflict.sources.get(file)
            if source is None or file != other_file or line >= other:
                continue
            try:
                run = covering(source, line, other)
            except UnpatchableError:
                continue
            first, second = run.statements[0], run.statements[-1]
            if first is not second and _takes(first) and _takes(second):
                yield TwoLocks(source, first, second, run.last == run.first + 1)


def _takes(statement: Statement) -> str:
    """What a statement takes; "" if it takes no mutex."""
    text = text_of(statement) if statement.kind == "simple" else ""
    found = TAKEN.fullmatch(text)
    if found:
        return found["argument"]
    guard = GUARD.fullmatch(text)
    return guard["locks"] if guard else ""


def _turned(pair: TwoLocks) -> Draft:
    """The later one is taken first, directly before the other."""
    source, first, second, _ = pair
    edits = CEdits(source)
    edits.line_before(first, source.text[second.begin : second.end])
    edits.remove_lines(second.begin, second.end)
    one, two = _takes(second).removeprefix("&"), _takes(first).removeprefix("&")
    says = f"take {one} before {two} at {source.name}:{source.line_of(first.begin)}"
    return Draft("lock-order", says, {source.name: edits.text()}, 2)


def _by_address(pair: TwoLocks) -> Iterator[Draft]:
    """Where both are the same variable of different objects, only their addresses have an order."""
    source, first, second, adjacent = pair
    one, two = _takes(first), _takes(second)
    if not adjacent or not (TAKEN.fullmatch(text_of(first)) and TAKEN.fullmatch(text_of(second))):
        return
    low, high = (new_name(name, source.words) for name in ("first_lock", "second_lock"))
    edits = CEdits(source)
    edits.line_before(
        first,
        f"pthread_mutex_t *{low} = {one} < {two} ? {one} : {two};\n"
        f"pthread_mutex_t *{high} = {low} == {one} ? {two} : {one};\n"
        f"pthread_mutex_lock({low});\n"
        f"pthread_mutex_lock({high});",
    )
    for statement in (first, second):
        edits.remove_lines(statement.begin, statement.end)
    line = source.line_of(first.begin)
    says = f"take the two mutexes of {source.name}:{line} in the order of their addresses"
    yield Draft("lock-order", says, {source.name: edits.text()}, 4)
