# SPDX-License-Identifier: Apache-2.0
"""What edits of several kinds need: a finding's functions and lines, and drafts of one file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from unsnarl.patches.blocks import (
    Function,
    StatementRun,
    blocks_of,
    executed,
    first_line,
    last_line,
)
from unsnarl.patches.conflict import Conflict, frames, function_named, functions_of, own_name
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError


def made(make: Callable[..., Draft], *arguments: object) -> list[Draft]:
    """The draft, or nothing where this edit cannot be made."""
    try:
        return [make(*arguments)]
    except UnpatchableError:
        return []


def functions(conflict: Conflict) -> Iterator[tuple[SourceFile, Function]]:
    """The functions of the finding's points."""
    names = functions_of([*conflict.accesses, *conflict.points])
    seen: set[int] = set()
    for file, qualified in sorted(names):
        source = conflict.sources.get(file)
        function = function_named(source, qualified) if source is not None else None
        if source is not None and function is not None and id(function) not in seen:
            seen.add(id(function))
            yield source, function


def led(conflict: Conflict) -> Iterator[tuple[SourceFile, Function]]:
    """The functions of the points, and those whose calls led to them."""
    found = {id(function): (source, function) for source, function in functions(conflict)}
    for point in conflict.points:
        for frame in frames(point):
            source = conflict.sources.get(frame.file)
            function = function_named(source, frame.function) if source is not None else None
            if source is not None and function is not None:
                found.setdefault(id(function), (source, function))
    yield from found.values()


def waiting_lines(
    conflict: Conflict, source: SourceFile, header: int, body: list[ast.stmt]
) -> list[int]:
    """The lines of a critical section, below a header, that wait, or whose calls led to a wait.

    Where the calls of a wait were not seen, those of its function by the thread that took the lock.
    """
    found: set[int] = set()
    taken = {
        one.role
        for one in conflict.points
        if one.op == "acquire" and (one.file, one.line) == (source.name, header)
    }
    for wait in (one for one in conflict.points if one.op == "wait"):
        found |= {one.line for one in frames(wait) if one.file == source.name}
        if not wait.stack and wait.role in taken:
            found |= set(_calls_of(own_name(wait.function), body))
    within = range(first_line(body[0]), last_line(body[-1]) + 1)
    return sorted(line for line in found if line in within)


def _calls_of(name: str, body: list[ast.stmt]) -> Iterator[int]:
    for node in executed(body):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
            yield node.lineno


def nodes(function: Function) -> Iterator[ast.AST]:
    """All that runs when the function does."""
    return executed(function.body)


def lines_of(conflict: Conflict) -> set[tuple[str, int]]:
    """Where the finding's points are."""
    return {(one.file, one.line) for one in conflict.points}


def names_in(node: ast.AST) -> frozenset[str]:
    """The variables and attributes that an expression names."""
    found = [one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)]
    return frozenset([*found, *(one.id for one in ast.walk(node) if isinstance(one, ast.Name))])


def whole(kind: str, says: str, edits: LineEdits, size: int) -> Draft:
    """A draft of one file; it must compile."""
    text = edits.text()
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UnpatchableError(f"the patched file does not compile: {error}") from None
    return Draft(kind, says, {edits.source.name: text}, size)


def block_of(run: StatementRun) -> list[ast.stmt]:
    """The block that has the run's statements."""
    return next(one for one in blocks_of(run.around[-1]) if run.statements[0] in one)


def check_block(
    source: SourceFile, edits: LineEdits, block: list[ast.stmt], wanted: list[ast.stmt]
) -> None:
    """Raises unless the new text is the old one with these statements in the block's place."""
    old = list(block)
    block[:] = wanted
    expected = ast.dump(source.tree)
    block[:] = old
    try:
        same = ast.dump(ast.parse(edits.text())) == expected
    except (SyntaxError, ValueError):
        same = False
    if not same:
        raise UnpatchableError(f"the patched {source.name} differs in more than was wanted")
