# SPDX-License-Identifier: Apache-2.0
"""Which whole statements of one block cover some lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from unsnarl.patches.source import SourceFile, UnpatchableError

Function = ast.FunctionDef | ast.AsyncFunctionDef
# What has blocks of statements of its own; what is in functions and classes does not run here.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class LineSpan(NamedTuple):
    """Lines of one function."""

    file: str
    first: int
    last: int

    @property
    def size(self) -> int:
        """How many lines."""
        return self.last - self.first + 1

    def covers(self, other: LineSpan) -> bool:
        """Whether the other one lies in it."""
        return self.file == other.file and self.first <= other.first and other.last <= self.last

    def joined(self, other: LineSpan) -> LineSpan:
        """From the first to the last line of both."""
        return LineSpan(self.file, min(self.first, other.first), max(self.last, other.last))


class StatementRun(NamedTuple):
    """Statements that follow each other in one block, and the nodes around the block."""

    statements: tuple[ast.stmt, ...]
    around: tuple[ast.AST, ...]

    @property
    def first(self) -> int:
        """Its first line, with decorators."""
        return min(first_line(one) for one in self.statements)

    @property
    def last(self) -> int:
        """Its last line."""
        return max(last_line(one) for one in self.statements)

    @property
    def function(self) -> Function | None:
        """The function that it is in."""
        found = [one for one in self.around if isinstance(one, Function)]
        return found[-1] if found else None

    @property
    def owner(self) -> ast.ClassDef | None:
        """The class whose method it is in."""
        pairs = zip(self.around, self.around[1:], strict=False)
        found = [
            one for one, two in pairs if isinstance(one, ast.ClassDef) and isinstance(two, Function)
        ]
        return found[-1] if found else None


def first_line(statement: ast.stmt) -> int:
    """The line of a statement or of its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def last_line(statement: ast.stmt) -> int:
    """The line where a statement ends."""
    return statement.end_lineno or statement.lineno


def blocks_of(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement: bodies, else branches, handlers, cases."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def covering(source: SourceFile, first: int, last: int) -> StatementRun:
    """The smallest run of whole statements in one block that has all these lines."""
    block, around = source.tree.body, (source.tree,)
    while True:
        run = _overlapping(block, first, last)
        if not run:
            raise UnpatchableError(f"{source.name}:{first} has no statement")
        inner = _inner_block(run, first, last)
        if inner is None:
            break
        block, around = inner, (*around, run[0])  # type: ignore[assignment]
    statements = _without_docstring(_with_neighbours(run, block), around[-1])
    if not statements:
        raise UnpatchableError(f"{source.name}:{first} is a docstring")
    return _checked(source, StatementRun(tuple(statements), around))


def _overlapping(block: list[ast.stmt], first: int, last: int) -> list[ast.stmt]:
    return [one for one in block if first_line(one) <= last and last_line(one) >= first]


def _inner_block(run: list[ast.stmt], first: int, last: int) -> list[ast.stmt] | None:
    """The block of the one statement that has all the lines, if none is its header."""
    if len(run) != 1:
        return None
    for block in blocks_of(run[0]):
        begins, ends = first_line(block[0]), last_line(block[-1])
        # A body in the line of its header cannot be taken apart from it.
        if begins <= first and last <= ends and block[0].lineno > run[0].lineno:
            return block
    return None


def _with_neighbours(run: list[ast.stmt], block: list[ast.stmt]) -> list[ast.stmt]:
    """With those that share a line with them: `a = 1; b = 2`."""
    first, last = first_line(run[0]), last_line(run[-1])
    grown = _overlapping(block, first, last)
    return run if grown == run else _with_neighbours(grown, block)


def _without_docstring(run: list[ast.stmt], around: ast.AST) -> list[ast.stmt]:
    body = getattr(around, "body", [])
    is_first = bool(run) and bool(body) and run[0] is body[0]
    if is_first and isinstance(around, (*DEFINITIONS, ast.Module)) and is_text(run[0]):
        return run[1:]
    return run


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is a string alone."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _checked(source: SourceFile, run: StatementRun) -> StatementRun:
    """Whether the run's lines hold nothing else."""
    if source.lines[run.first - 1][: _column(source, run)].strip():
        raise UnpatchableError(f"{source.name}:{run.first} has its block in its own line")
    if isinstance(run.around[-1], ast.ClassDef):
        raise UnpatchableError(f"{source.name}:{run.first} is the body of a class")
    return run


def _column(source: SourceFile, run: StatementRun) -> int:
    return (
        len(source.indentation(run.first))
        if run.first != run.statements[0].lineno
        else len(source.lines[run.first - 1].encode()[: run.statements[0].col_offset].decode())
    )


def executed(statements: tuple[ast.stmt, ...] | list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes that run when the statements do: not those of functions defined there."""
    todo: list[ast.AST] = list(statements)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, DEFINITIONS):
            todo.extend(ast.iter_child_nodes(node))
