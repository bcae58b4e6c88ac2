# SPDX-License-Identifier: Apache-2.0
"""A C or C++ file: its functions and statements by line, and edits at positions of its text."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from unsnarl.patches.native import tokens as reading
from unsnarl.patches.native.declarations import parse
from unsnarl.patches.native.tokens import CONDITIONAL, Token, Tokens
from unsnarl.patches.native.tree import BranchBody, CFunction, Statement, Unit
from unsnarl.patches.source import TextFile, UnpatchableError

SUFFIXES = (".c", ".h", ".cc", ".cpp", ".cxx", ".C", ".hh", ".hpp", ".hxx", ".c++", ".ipp", ".inl")
LEAVING_MACRO = re.compile(
    r"\s*#\s*define\s+(?P<name>\w+).*\b(?:return|goto|break|continue|throw|longjmp)\b", re.DOTALL
)
IS_C = (".c", ".h")


class CSource(TextFile):
    """A file of C or C++."""

    @cached_property
    def tokens(self) -> Tokens:
        """All of it."""
        return reading.read(self.text)

    @cached_property
    def unit(self) -> Unit:
        """What it declares."""
        return parse(self.tokens.every)

    @cached_property
    def words(self) -> frozenset[str]:
        """All names in it, those of directives included."""
        found = {one.text for one in self.tokens.every if one.kind == "word"}
        for directive in self.tokens.directives:
            found.update(re.findall(r"\w+", directive.text))
        return frozenset(found)

    @property
    def is_cpp(self) -> bool:
        """Whether it is C++; a header may be either, and then what it uses decides."""
        if self.path.suffix == ".h":
            return bool(self.unit.classes) and not self.words.isdisjoint(
                {"class", "std", "namespace"}
            )
        return self.path.suffix not in IS_C

    def includes(self, header: str) -> bool:
        """Whether it includes a header itself."""
        return any(
            f"<{header}>" in one.text and "include" in one.text for one in self.tokens.directives
        )

    @cached_property
    def _begins(self) -> list[int]:
        begins, at = [], 0
        for line in self.lines:
            begins.append(at)
            at += len(line)
        return begins

    def line_of(self, position: int) -> int:
        """The line, counted from 1, that has this position of the text."""
        return max(1, bisect.bisect_right(self._begins, position))

    def begin_of(self, line: int) -> int:
        """Where a line begins."""
        return self._begins[line - 1]

    def starts_line(self, position: int) -> bool:
        """Whether only blanks are before it in its line."""
        return not self.text[self.begin_of(self.line_of(position)) : position].strip()

    def ends_line(self, position: int) -> bool:
        """Whether only blanks and a comment are behind it in its line."""
        line = self.lines[self.line_of(position - 1) - 1]
        rest = line[position - self.begin_of(self.line_of(position - 1)) :].strip()
        return not rest or rest.startswith("//") or (rest.startswith("/*") and rest.endswith("*/"))

    def lines_of(self, statement: Statement) -> tuple[int, int]:
        """Its first and its last line."""
        return self.line_of(statement.begin), self.line_of(statement.end - 1)

    @cached_property
    def unit_of_indentation(self) -> str:
        """One step of indentation, as the file has it."""
        steps: Counter[str] = Counter()
        for function in self.unit.functions:
            for statement in function.body.statements:
                if self.starts_line(statement.begin):
                    outer = self.indentation(self.line_of(function.body.begin))
                    inner = self.indentation(self.line_of(statement.begin))
                    if inner.startswith(outer) and inner != outer:
                        steps[inner[len(outer) :]] += 1
        return steps.most_common(1)[0][0] if steps else "    "

    def conditional_between(self, begin: int, end: int) -> bool:
        """Whether the preprocessor leaves out some of these lines, now or on another machine."""
        return any(
            begin <= one.begin < end and CONDITIONAL.match(one.text)
            for one in self.tokens.directives
        )

    @cached_property
    def leaving_macros(self) -> frozenset[str]:
        """Macros of the file that may leave the function or the loop that they are used in."""
        found = (LEAVING_MACRO.match(one.text) for one in self.tokens.directives)
        return frozenset(one["name"] for one in found if one)

    def function_at(self, line: int) -> CFunction | None:
        """The innermost function whose body or head has a line."""
        found = None
        for function in self.unit.every():
            begin = function.head[0].begin if function.head else function.body.begin
            if self.line_of(begin) <= line <= self.line_of(function.body.end - 1):
                found = function
        return found


@dataclass(frozen=True)
class StatementRange:
    """Statements that follow each other in one body.

    Attributes:
        around: The statements that the body is in, outermost first.
    """

    source: CSource
    function: CFunction
    body: BranchBody
    first: int
    last: int
    around: tuple[Statement, ...] = ()

    @property
    def statements(self) -> Sequence[Statement]:
        """They."""
        return self.body.statements[self.first : self.last + 1]

    @property
    def begin(self) -> int:
        """Where the first begins."""
        return self.statements[0].begin

    @property
    def end(self) -> int:
        """Where the last has ended."""
        return self.statements[-1].end

    @property
    def tokens(self) -> Iterator[Token]:
        """All tokens of them."""
        for statement in self.statements:
            yield from statement.tokens

    @property
    def inner(self) -> Iterator[Statement]:
        """They, and what is in them."""
        for statement in self.statements:
            yield from statement.inner()

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last line."""
        return self.source.line_of(self.begin), self.source.line_of(self.end - 1)

    def widened(self, first: int, last: int) -> StatementRange:
        """With other ends in the same body."""
        return replace(self, first=first, last=last)


def covering(source: CSource, first: int, last: int) -> StatementRange:
    """The smallest run of whole statements in one body that has all these lines."""
    function = source.function_at(first)
    if function is None or function is not source.function_at(last):
        function = _outer(source, first, last)
    body, around = function.body, ()
    while True:
        found = [
            index
            for index, one in enumerate(body.statements)
            if source.lines_of(one)[0] <= last and source.lines_of(one)[1] >= first
        ]
        if not found:
            raise UnpatchableError(f"{source.name}:{first} has no statement")
        run = StatementRange(source, function, body, found[0], found[-1], around)
        inner = _inner_body(source, run, first, last)
        if inner is None:
            return run
        body, around = inner, (*around, run.statements[0])  # type: ignore[assignment]


def _outer(source: CSource, first: int, last: int) -> CFunction:
    """The innermost function that has both lines."""
    found = [
        function
        for function in source.unit.every()
        if source.line_of(function.body.begin) <= first
        and last <= source.line_of(function.body.end - 1)
    ]
    if not found:
        raise UnpatchableError(f"{source.name}:{first} and :{last} are not in one function")
    return found[-1]


def _inner_body(source: CSource, run: StatementRange, first: int, last: int) -> BranchBody | None:
    """The branch of the one statement that has all the lines, if none is its head."""
    if len(run.statements) != 1:
        return None
    statement = run.statements[0]
    head = source.line_of(statement.head[-1].end - 1) if statement.head else 0
    for body in statement.bodies:
        if not body.statements:
            continue
        begins = source.line_of(body.statements[0].begin)
        ends = source.line_of(body.statements[-1].end - 1)
        if begins <= first and last <= ends and begins > head:
            return body
    return None


class CEdits:
    """Changes of one file, collected by positions of the original and made at once."""

    def __init__(self, source: CSource) -> None:
        self.source = source
        self._inserted: dict[int, list[str]] = {}
        self._replaced: dict[tuple[int, int], str] = {}

    def insert(self, position: int, text: str) -> None:
        """Put a text there; what comes later comes behind what came earlier."""
        self._inserted.setdefault(position, []).append(text)

    def replace(self, begin: int, end: int, text: str) -> None:
        """Another text in the stead of one."""
        for other_begin, other_end in self._replaced:
            if begin < other_end and other_begin < end:
                raise UnpatchableError("two changes of one position")
        self._replaced[begin, end] = text

    def remove_lines(self, begin: int, end: int) -> None:
        """Leave out a statement, and its line if it has one of its own."""
        source = self.source
        if source.starts_line(begin) and source.ends_line(end):
            begin = source.begin_of(source.line_of(begin))
            line = source.line_of(end - 1)
            end = source.begin_of(line) + len(source.lines[line - 1])
        self.replace(begin, end, "")

    def line_before(self, statement: Statement, text: str) -> None:
        """New lines before a statement, with its indentation."""
        source = self.source
        indent = source.indentation(source.line_of(statement.begin))
        if source.starts_line(statement.begin):
            position = source.begin_of(source.line_of(statement.begin))
            self.insert(position, self._lines(text, indent))
        else:
            self.insert(statement.begin, text.replace("\n", " ") + " ")

    def line_behind(self, statement: Statement, text: str, like: Statement | None = None) -> None:
        """New lines behind a statement."""
        source = self.source
        indent = source.indentation(source.line_of((like or statement).begin))
        if source.ends_line(statement.end):
            line = source.line_of(statement.end - 1)
            ended = source.lines[line - 1].endswith(("\n", "\r"))
            position = source.begin_of(line) + len(source.lines[line - 1])
            self.insert(position, ("" if ended else source.newline) + self._lines(text, indent))
        else:
            self.insert(statement.end, " " + text.replace("\n", " "))

    def _lines(self, text: str, indent: str) -> str:
        newline = self.source.newline
        return "".join(f"{indent}{line}{newline}" if line else newline for line in text.split("\n"))

    def text(self) -> str:
        """The file with all changes."""
        positions = [
            (position, 0, position, "".join(parts)) for position, parts in self._inserted.items()
        ]
        positions += [(begin, 1, end, text) for (begin, end), text in self._replaced.items()]
        parts, at = [], 0
        for begin, _, end, text in sorted(positions):
            if begin < at:
                raise UnpatchableError("a change within another")
            parts += [self.source.text[at:begin], text]
            at = end
        return "".join([*parts, self.source.text[at:]])
