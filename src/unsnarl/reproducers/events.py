# SPDX-License-Identifier: Apache-2.0
"""The orders of a proof as a plain interpreter can see them: instructions of the program's source.

A point of a run names one instruction of the original code, so an order can be forced at exactly
that instruction, without probes. It is named as an anchor does it (function, text of the line, what
is touched), with the columns, which distinguish the instructions of one line and are the same in
every version of Python that compiles the line alike.
"""

from __future__ import annotations

from typing import Any

import msgspec

from unsnarl.model.event import Op, op_of, site_of
from unsnarl.model.plan import Match, Rule
from unsnarl.model.python_names import plain_function
from unsnarl.replay.anchors import AnchoredSchedule, Codes, resolve
from unsnarl.replay.constraints import rules_of
from unsnarl.replay.portable import portable_file
from unsnarl.runfile import SiteTable
from unsnarl.runfile.codes import Code, SiteEntry

# By the kind of a site: the group of instructions that are it (machinery/events.py, GROUPS). The
# others are found by their columns alone.
GROUPS = {
    "attr_read": "get",
    "method": "get",
    "super": "get",
    "attr_write": "set",
    "global_read": "load",
    "cell_read": "load",
    "global_write": "store",
    "cell_write": "store",
    "item_read": "item",
    "item_write": "put",
    "item_delete": "remove",
    "iter": "next",
}
# By what a container's shape is looked at for.
BY_NAME = {"iter": "iter", "in": "in", "unpack": "unpack"}
NAMED = ("get", "set", "load", "store")
# The access is made by the call that follows: these are sites of the look-up.
LOOKED_UP = ("method", "method_call")
LOCK_OPERATIONS = (Op.ACQUIRE, Op.RELEASE, Op.WAIT, Op.JOIN)


class ForcedEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event, as a reproducer names it; the fields are the keys there.

    Attributes:
        file: Relative to the project or to where packages are installed.
        what: The group of instructions, "" for any; "lock" for what a call does with locks inside.
        columns: First and last column of the instruction, as if the line were not indented.
        ends: Those of the call with which it is over, if that is another instruction.
        count: It is the `count`-th time that the thread comes there.
        op: Of a lock inside of a call: `acquire` or `release`.
    """

    thread: str
    file: str
    function: str
    text: str
    what: str = ""
    name: str = ""
    nth: int = 0
    columns: tuple[int, int | None] | None = None
    ends: tuple[int, int | None] | None = None
    count: int = 1
    equal: bool = False
    role: int = 0
    op: str = ""


class ForcedOrder(msgspec.Struct, frozen=True):
    """The thread of `late` waits, right before that, until `early` has happened.

    What must come later is `then`: it waits there if an edit has removed where it waited; None if
    that is the same.
    """

    early: ForcedEvent
    late: ForcedEvent
    then: ForcedEvent | None = None


class UnforceableError(Exception):
    """Why there is no reproducer, in words."""


class Orders:
    """Turns the constraints of a stored schedule into orders for a plain interpreter."""

    def __init__(self, table: SiteTable, codes: Codes) -> None:
        self._table = table
        self._codes = codes

    def of(self, schedule: AnchoredSchedule) -> list[ForcedOrder]:
        """All its constraints; UnforceableError if one of them is not about instructions."""
        anchors = enumerate(schedule.anchors)
        resolved = {at: resolve(anchor, self._codes) for at, anchor in anchors}
        enforced = rules_of(schedule, resolved)
        if enforced.gone:
            raise UnforceableError(f"this code is not there any more: {enforced.gone[0]}")
        pairs = zip(enforced.rules, enforced.after, strict=True)
        return list(dict.fromkeys(self._order(rule, after) for rule, after in pairs))

    def _order(self, rule: Rule, after: Match) -> ForcedOrder:
        assert rule.hold is not None
        assert rule.until is not None
        late = self._event(rule.hold)
        then = self._event(after) if site_of(after.points[0]) else late
        return ForcedOrder(self._event(rule.until), late, then if then != late else None)

    def _event(self, match: Match) -> ForcedEvent:
        point = match.points[0]
        if not site_of(point):
            raise UnforceableError("an order is about the start or the end of a thread")
        code, entry, shift = self._table.entry(site_of(point))
        if code is None or entry is None:
            raise UnforceableError("an order is about code that has no source")
        file = _relative(entry.file or code.file, self._codes)
        line = entry.line or code.line
        text = self._codes.text(file, line)
        if not text:
            raise UnforceableError(f"the source of {file} cannot be read")
        return ForcedEvent(
            thread=match.path or "0",
            file=portable_file(file),
            function=plain_function(entry.function or code.function),
            text=text,
            nth=self._nth(file, code, entry, text),
            count=max(match.occurrence, 1),
            equal=match.equal,
            role=match.role,
            **self._instruction(code, entry, op_of(point), shift, self._indent(file, line)),
        )

    def _nth(self, file: str, code: Code, entry: SiteEntry, text: str) -> int:
        """Which of the function's lines with this text."""
        same = {
            one.line
            for one in code.sites
            if one.line and one.line < (entry.line or 0) and one.function == entry.function
            and self._codes.text(file, one.line) == text
        }  # fmt: skip
        return len(same)

    def _indent(self, file: str, line: int) -> int:
        raw = self._codes.sources.raw_line(file, line)
        return len(raw) - len(raw.lstrip())

    def _instruction(
        self, code: Code, entry: SiteEntry, op: Op, shift: int, indent: int
    ) -> dict[str, Any]:
        """Which instruction it is, and with which it is over."""
        found: dict[str, Any] = {"columns": _columns(entry, indent)}
        if op in LOCK_OPERATIONS:
            found["what"] = _lock_group(code, entry, shift)
            if found["what"] == "lock":
                found["op"] = op.word
        elif entry.kind == "method_call":
            call = _call_of(code, entry)
            found |= {"what": "call", "columns": _columns(call, indent) if call else None}
        else:
            group = GROUPS.get(entry.kind) or BY_NAME.get(entry.name or "", "")
            found |= {"what": group, "name": (entry.name or "") if group in NAMED else ""}
            call = _call_of(code, entry) if entry.kind in LOOKED_UP else None
            if call is not None:
                found["ends"] = _columns(call, indent)
        return found


def _lock_group(code: Code, entry: SiteEntry, shift: int) -> str:
    """A lock's own instruction, or what happens inside of a call."""
    alike = [one for one in code.sites if _start(one) == _start(entry) and one.kind == "call"]
    is_statement = (entry.end_line or 0) > (entry.line or 0) or entry.name == "__exit__"
    if is_statement and len(alike) > 1 - (entry.name == "__exit__"):
        is_first = entry.kind == "call" and entry is alike[0]
        return "enter" if is_first else "exit"
    return "lock" if shift else "call"


def _call_of(code: Code, entry: SiteEntry) -> SiteEntry | None:
    """The call that a look-up is for: it begins in the same column, and ends behind it."""
    later = (one for one in code.sites if one.offset > entry.offset and one.kind == "call")
    return next((one for one in later if _start(one) == _start(entry)), None)


def _start(entry: SiteEntry) -> tuple[int | None, int | None]:
    return entry.line, entry.column


def _columns(entry: SiteEntry, indent: int) -> tuple[int, int | None] | None:
    if entry.column is None or entry.end_column is None or not entry.end_column:
        return None
    same_line = entry.line == entry.end_line
    return entry.column - indent, entry.end_column - indent if same_line else None


def _relative(file: str, codes: Codes) -> str:
    return codes.sources.relative(file)
