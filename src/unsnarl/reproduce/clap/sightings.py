# SPDX-License-Identifier: Apache-2.0
"""What the accesses of a followed run saw and left, by the events of its order problem."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from unsnarl.model.event import Op, op_of
from unsnarl.reproduce.clap.encode import Encoded
from unsnarl.reproduce.clap.following import Along
from unsnarl.reproduce.clap.histories import History

FIRST = -1  # stands for the write that left a cell's first value
SYMBOL = re.compile(r"\b[rn]\d+(?:_\d+)+")  # what a read got, or the name of a long text
# How values that are no integers begin (probes/python/following/hooks.py).
MARKS = ("#", "=", "@", "missing")

Access = tuple[str, int]  # a thread's path, and its how-manieth access


@dataclass(eq=False)
class Sightings:
    """Values of a followed run, as texts.

    Attributes:
        symbols: Reads that got a symbol, by event.
        marks: Reads that saw something else.
        written: What writes left.
        firsts: Cells' first values, by the problem's number of the cell.
        seen: The write that each read with a symbol saw in the followed run, or FIRST.
        facts: What is known for certain of symbols: no other thread could have touched what they
            were read from, or they are names of longer texts.
        conditions: What must hold for the threads to go their recorded ways.
    """

    symbols: dict[int, str] = field(default_factory=dict)
    marks: dict[int, str] = field(default_factory=dict)
    written: dict[int, str] = field(default_factory=dict)
    firsts: dict[int, str] = field(default_factory=dict)
    seen: dict[int, int] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)


def is_number(text: str | None) -> bool:
    """Whether it is the text of an integer."""
    return text is not None and not text.startswith(MARKS)


def symbols_in(texts: Iterable[str]) -> set[str]:
    """All symbols that occur."""
    return {name for text in texts for name in SYMBOL.findall(text)}


def sightings(encoded: Encoded, histories: Sequence[History], along: Along) -> Sightings:
    """What was seen, for the accesses of the problem and the facts about all others."""
    found = Sightings()
    events = _events(encoded, histories)
    objects = encoded.problem.object.tolist()
    cells: dict[int, _Cell] = {}
    for access, op, cell in _in_time(along):
        thread = along.followed.threads.get(access[0])
        if thread is None or access[1] >= len(thread.accesses):
            continue
        symbol, before, after = thread.accesses[access[1]]
        event = events.get(access)
        if cell not in cells:
            cells[cell] = _Cell(before)
            if event is not None and before is not None:
                found.firsts[objects[event]] = before
        if op == Op.WRITE:
            cells[cell] = _Cell(after, FIRST if event is None else event)
            if event is not None:
                found.written[event] = after or "missing"
        elif op == Op.READ:
            _read(found, event, symbol, before, cells[cell])
    for thread in along.followed.threads.values():
        found.conditions += [text for _, text in thread.conditions]
        found.facts.update(thread.names)
    return found


@dataclass
class _Cell:
    """What is in a cell while the followed run goes on.

    Attributes:
        left: What was written last, or was there first.
        write: By which event.
        now: What is there: a symbol, once it was read.
    """

    left: str | None
    write: int = FIRST
    now: str | None = None

    def __post_init__(self) -> None:
        self.now = self.left


def _read(
    found: Sightings, event: int | None, symbol: str, before: str | None, cell: _Cell
) -> None:
    if not symbol:
        if event is not None and before is not None:
            found.marks[event] = before
        return
    if before != cell.now and is_number(before):
        # Somebody whom no probe sees has written, a library say: that is all that is known.
        found.facts[symbol] = before or ""
    elif event is not None:
        found.symbols[event] = symbol
        found.seen[event] = cell.write
    elif is_number(cell.left):
        found.facts[symbol] = cell.left or ""
    cell.now = symbol


def _events(encoded: Encoded, histories: Sequence[History]) -> dict[Access, int]:
    """The problem's events by access; clock markers stand before theirs."""
    found = {}
    for event, (thread, position) in enumerate(encoded.positions):
        history = histories[thread]
        if history.events[position].number >= 0:
            found[history.path, history.events[position].number] = event
    return found


def _in_time(along: Along) -> Iterable[tuple[Access, Op, int]]:
    """All accesses as the followed run did them, with their cells."""
    paths = [thread.path for thread in along.run.threads]
    counts: Counter[str] = Counter()
    for row in along.run.trace.tolist():
        cell, point, thread = row[1], row[2], row[3]
        op = op_of(point)
        if op in (Op.READ, Op.WRITE, Op.CALL):
            path = paths[thread]
            yield (path, counts[path]), op, cell
            counts[path] += 1
