# SPDX-License-Identifier: Apache-2.0
"""What the program does with what it reads: does it decide, compute, or iterate by it?

The answers come from the syntax trees of the functions that a thread was in at two accesses, and
from the names that carry a value from the first to the second. What is no Python has no tree; of
such a line, and where the source is gone, only the line itself is asked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unsnarl.model.report import FindingPoint
from unsnarl.placement.local_names import Function, end
from unsnarl.reports import flow
from unsnarl.reports.calls import own_frames
from unsnarl.reports.outcomes import is_same_for

Text = Callable[[str], str]
LOOPS = (ast.For, ast.AsyncFor)
# Of a language that is not parsed: a line that decides.
C_DECIDES = re.compile(r"\}?\s*(else )?(if|while|assert|switch)\b|.*\?.*:|return\b.*([=!<>]=|[<>])")
# The interpreter calls these where a look-up has found nothing.
SUPPLIES = ("__getattr__", "__missing__")
REMOVES = re.compile(r"_*(delete|remove|discard|drop|pop|unlink|rmdir|clear)")
LAST_NAME = re.compile(r"(\w+)\W*$")


@dataclass(frozen=True)
class CalledLine:
    """A line in which a thread was, itself or in what it called there."""

    file: str
    line: int
    function: str
    called: bool = False


def called_lines(point: FindingPoint) -> list[CalledLine]:
    """The calls that led to an access, outermost first, and where it was made."""
    *calls, own = own_frames(point)
    return [*(CalledLine(*frame, called=True) for frame in calls), CalledLine(*own)]


def joint(one: FindingPoint, other: FindingPoint) -> tuple[CalledLine, CalledLine] | None:
    """The innermost call that made both accesses of a thread, at its line for each.

    Where the calls of one of them are not known, a function that has both.
    """
    mine, its = called_lines(one), called_lines(other)
    if not (one.stack and other.stack):
        same = [(a, b) for a in reversed(mine) for b in reversed(its) if _function(a, b)]
        return same[0] if same else None
    pairs = [*zip(mine, its, strict=False)]
    parted = next((at for at, (a, b) in enumerate(pairs) if a != b), len(pairs) - 1)
    if not _function(*pairs[parted]):
        parted -= 1
    return pairs[parted] if parted >= 0 else None


def _function(one: CalledLine, other: CalledLine) -> bool:
    """Whether both are in the same function."""
    return (one.file, one.function) == (other.file, other.function)


def last_name(variable: str) -> str:
    """What a line of source calls it: `poller` of `IO.poller`, `entries` of `entries['a']`."""
    found = LAST_NAME.search(variable.partition("[")[0])
    return found[1] if found else ""


def _is_same(test: ast.expr, point: FindingPoint, later: Sequence[str]) -> bool:
    """Whether a test of the variable comes to the same by all the values it had."""
    name, values = last_name(point.variable), [point.value or "", *later]
    if not later or not all(values):
        return False
    return is_same_for(test, lambda node: flow.is_named(node, name), values)


def _removes(statement: ast.stmt) -> bool:
    """Whether all that a statement does is to take something away, as its words say."""
    called = statement.value if isinstance(statement, ast.Expr) else None
    is_call = isinstance(called, ast.Call) and bool(REMOVES.match(flow.called_name(called)))
    return is_call or isinstance(statement, ast.Delete)


class ProgramText:
    """The program's sources, parsed once per file; `text` gives that of a file."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._trees: dict[str, ast.Module | None] = {}

    def decides(self, one: FindingPoint, other: FindingPoint) -> bool:
        """Whether a thread came to the second access by what it had seen at the first."""
        found = joint(one, other)
        if found is None:
            return False
        here, there = found
        name = last_name(one.variable)
        block = self._block(here)
        statement = self._statement(here, one.text)
        if block is None or statement is None:
            return self._asks_alone(one)
        return flow.leads(block, statement, here.line, there.line, name)

    def had_decided(
        self, one: FindingPoint, other: FindingPoint, later: Sequence[str] = ()
    ) -> bool:
        """Whether a thread came to both accesses by what it had seen of the variable before.

        And would not have by the `later` values.
        """
        found = joint(one, other)
        block = self._block(found[0]) if found else None
        if found is None or block is None:
            return False
        name = last_name(one.variable)
        tests = flow.guarding(block, found[0].line, found[1].line, name)
        return any(not _is_same(test, one, later) for test in tests)

    def still_holds(self, point: FindingPoint, later: Sequence[str]) -> bool:
        """Whether what a line decided by the value would be decided alike by the later ones."""
        statement = self._statement(called_lines(point)[-1], point.text)
        test = flow.test_of(statement) if statement is not None else None
        return test is not None and _is_same(test, point, later)

    def asks(self, point: FindingPoint) -> bool:
        """Whether a line decides by the access at once; of a getter, the line that called it."""
        for frame in reversed(called_lines(point)):
            statement = self._statement(frame, "" if frame.called else point.text)
            if statement is None:
                return not frame.called and self._asks_alone(point)
            if not isinstance(statement, ast.Return):
                return flow.is_tested(statement, frame.line, last_name(point.variable))
            if flow.is_answer(statement):
                return True
        return False

    def computes(self, one: FindingPoint, other: FindingPoint) -> bool:
        """Whether what the second access stores comes from what the first one read."""
        found = joint(one, other)
        if found is None:
            return False
        here, there = found
        statement, last = self._statement(here, one.text), self._statement(there, other.text)
        if statement is None or last is None:
            return (one.file, one.line) == (other.file, other.line)
        if _removes(last):
            return False  # whatever says which one
        if here.line == there.line:
            return flow.updates(last, last_name(one.variable))
        block = self._block(here)
        if block is None:
            return flow.stores(last, flow.bound(statement))
        names = flow.carrying(block, statement, there.line, strict=flow.is_bare(last))
        return flow.stores(last, names)

    def fills(self, one: FindingPoint, other: FindingPoint) -> bool:
        """Whether the second access puts something into what the first one made and stored."""
        found = joint(one, other)
        block = self._block(found[0]) if found else None
        if found is None or block is None:
            return False
        first, last = (self._statement(frame, "") for frame in found)
        return first is not None and last is not None and flow.fills(block, first, last)

    def makes(self, point: FindingPoint) -> bool:
        """Whether a write stores something new, which it makes itself."""
        own = called_lines(point)[-1]
        block, statement = self._block(own), self._statement(own, point.text)
        return block is not None and statement is not None and flow.is_new(block, statement)

    def guards(self, point: FindingPoint, seen: FindingPoint, later: Sequence[str]) -> bool:
        """Whether a test of the variable leads to an access: in its function, or in the caller.

        And would not by the `later` values, had it led there by what was seen.
        """
        name = last_name(point.variable)
        for frame in called_lines(point)[:-3:-1]:
            block = self._block(frame)
            tests = flow.guarding(block, frame.line, frame.line, name) if block else ()
            if any(not _is_same(test, seen, later) for test in tests):
                return True
        return False

    def supplies(self, point: FindingPoint) -> bool:
        """Whether the interpreter called its function, or the caller, as a look-up found nothing.

        The class may have it by another name: `__getattr__ = _load`.
        """
        return any(
            frame.function.rpartition(".")[2] in SUPPLIES
            or any(frame.function.endswith(name) for name in self._suppliers(frame.file))
            for frame in called_lines(point)[-2:]
        )

    def _suppliers(self, file: str) -> list[str]:
        """What classes of a file call so: `Module._load`."""
        tree = self._tree(file)
        classes = (
            (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)) if tree else ()
        )
        return [
            f"{one.name}.{node.value.id}"
            for one in classes
            for node in one.body
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Name)
            and any(isinstance(name, ast.Name) and name.id in SUPPLIES for name in node.targets)
        ]

    def iterates(self, one: FindingPoint, other: FindingPoint) -> bool:
        """Whether the first access goes through a container, and the second is made meanwhile."""
        found = joint(one, other)
        statement = self._statement(found[0], one.text) if found else None
        if found is None or statement is None:
            return False
        here, there = found
        name = last_name(one.variable)
        if isinstance(statement, LOOPS) and flow.has_line(statement.iter, here.line):
            is_own = here.called or flow.goes_through(statement.iter, name)
            return is_own and not flow.is_copy(statement.iter) and there.line <= end(statement)
        parts = flow.gone_through(statement)
        return here.line == there.line and any(flow.goes_through(part, name) for part in parts)

    def _statement(self, frame: CalledLine, text: str) -> ast.stmt | None:
        """The innermost statement that has a line; else what the text alone says."""
        block = self._block(frame)
        return flow.statement_at(block, frame.line) if block else flow.alone(text, frame.line)

    def _asks_alone(self, point: FindingPoint) -> bool:
        statement = flow.alone(point.text, point.line)
        if statement is None or not point.file.endswith(".py"):
            return bool(C_DECIDES.match(point.text))
        tested = flow.is_tested(statement, point.line, last_name(point.variable))
        return tested or flow.is_answer(statement)

    def _block(self, frame: CalledLine) -> flow.Block | None:
        tree = self._tree(frame.file)
        if tree is None:
            return None
        around = [
            node
            for node in ast.walk(tree)
            if isinstance(node, Function) and node.lineno <= frame.line <= end(node)
        ]
        return max(around, key=lambda node: node.lineno, default=tree)

    def _tree(self, file: str) -> ast.Module | None:
        if file not in self._trees:
            self._trees[file] = flow.parsed(self._text(file)) if file.endswith(".py") else None
        return self._trees[file]
