# SPDX-License-Identifier: Apache-2.0
"""Patches that change what a critical section has in it: waits and callbacks out of it, and into it
what belongs to what it does."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from unsnarl.patches.blocks import (
    DEFINITIONS,
    Function,
    covering,
    executed,
    first_line,
    is_text,
    last_line,
)
from unsnarl.patches.conflict import Conflict, frames, own_part
from unsnarl.patches.expressions import is_read, plain_names, replace_expressions
from unsnarl.patches.locks import new_name
from unsnarl.patches.moves import LEAVING, SIMPLE, check_independent, named_in
from unsnarl.patches.pieces import (
    block_of,
    check_block,
    led,
    made,
    names_in,
    nodes,
    waiting_lines,
    whole,
)
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError, header_text

# What is assigned behind a lock, and was not before, costs as much as so many lines.
EXPOSED = 4


class Split(NamedTuple):
    """The statements of a critical section that stay, and those behind it.

    Attributes:
        first: The first line that moves out.
        headers: The `if` lines that are written once more before it.
    """

    head: list[ast.stmt]
    tail: list[ast.stmt]
    first: int
    headers: tuple[str, ...] = ()


class CriticalSection(NamedTuple):
    """What holds a lock: a `with`, or a function with a decorator that does it."""

    lock: str
    body: list[ast.stmt]
    line: int
    decorator: ast.expr | None = None


# Out of a lock.


def out_of_locks(conflict: Conflict) -> Iterator[Draft]:
    """A wait, or a call that leads to one, behind the lock that is held there."""
    held = {own_part(lock) for one in conflict.points for lock in one.locks}
    for source, function in led(conflict):
        for section in _sections(function, held):
            for line in waiting_lines(conflict, source, section.line, section.body):
                yield from made(_out, source, function, section, line)


def _sections(function: Function, held: set[str]) -> Iterator[CriticalSection]:
    for node in nodes(function):
        if isinstance(node, ast.With):
            yield CriticalSection(", ".join(map(ast.unparse, node.items)), node.body, node.lineno)
    # Whatever the decorator is called: the lock that it is given was held in the function.
    for one in function.decorator_list:
        if isinstance(one, ast.Call) and len(one.args) == 1 and not one.keywords:
            lock = ast.unparse(one.args[0])
            if lock.rpartition(".")[2] in held:
                body = [node for node in function.body if not is_text(node)]
                yield CriticalSection(lock, body, one.lineno, one)


def _out(source: SourceFile, function: Function, section: CriticalSection, line: int) -> Draft:
    """The statements from the one with this line to the end, behind the lock.

    What they read and the statements before them assign is read under the lock.
    """
    edits = LineEdits(source)
    split = _with_snapshot(edits, section, _split(source, section.body, line))
    if any(isinstance(one, DEFINITIONS) for one in split.tail):
        raise UnpatchableError("a definition stays where it is")
    items = set(section.lock.split(", "))
    if any(ast.unparse(one) in items for one in executed(split.tail) if isinstance(one, ast.expr)):
        raise UnpatchableError("what is held is needed there")
    named = _read_inside(edits, section, split)
    if not split.head and not named:
        raise UnpatchableError("nothing stays under the lock")
    inside = [*split.head, *ast.parse("".join(f"{two} = {one}\n" for one, two in named)).body]
    moved = [_renamed(one, dict(named)) for one in split.tail]
    last = last_line(section.body[-1])
    for at, text in enumerate(split.headers):
        edits.insert_before(split.first, source.unit * at + text, like=_level(section))
    after = split._replace(head=inside, tail=moved)
    if section.decorator is None:
        edits.shift(split.first, last, -1)
        _check_with(edits, section, after)
    else:
        _decorated_out(edits, function, section, section.decorator, after)
    says = f"move {source.name}:{split.first}-{last} out of the lock of :{section.line}"
    size = last - split.first + 1 + (EXPOSED if _assigned(split.tail) else 0)
    return whole("move", says, edits, size)


def _assigned(statements: list[ast.stmt]) -> set[str]:
    """The attributes that statements assign: who else does that, nobody keeps away any more."""
    return {one for one in named_in(statements, ast.Store) if "." in one}


def _level(section: CriticalSection) -> int:
    """A line that is indented as the statements are that move out."""
    return section.line if section.decorator is None else section.body[0].lineno


def _check_with(edits: LineEdits, section: CriticalSection, after: Split) -> None:
    """Raises unless the new text has these statements in the `with` and behind it."""
    source = edits.source
    run = covering(source, section.line, section.line)
    node, block = run.statements[0], block_of(run)
    if not isinstance(node, ast.With) or node.body is not section.body:
        raise UnpatchableError("the `with` is not a statement of its own")
    header_text(source, node, "with")
    where = block.index(node)
    with _body(node, after.head):
        check_block(source, edits, block, [*block[: where + 1], *after.tail, *block[where + 1 :]])


@contextmanager
def _body(node: ast.With | Function, body: list[ast.stmt]) -> Iterator[None]:
    """For a while, a statement with other ones in it."""
    old = list(node.body)
    node.body[:] = body
    try:
        yield
    finally:
        node.body[:] = old


def _decorated_out(
    edits: LineEdits,
    function: Function,
    section: CriticalSection,
    decorator: ast.expr,
    after: Split,
) -> None:
    """`with lock:` around the first statements, instead of a decorator that holds it all the time.

    The line above the statements that move out is the last one under the lock.
    """
    for number in range(decorator.lineno, (decorator.end_lineno or decorator.lineno) + 1):
        edits.remove(number)
    begin = first_line(section.body[0])
    if begin == function.lineno:
        raise UnpatchableError("the function has its body in its own line")
    edits.insert_first(begin, f"with {section.lock}:")
    edits.shift(begin, after.first - 1, 1)
    held = ast.parse(f"with {section.lock}:\n    pass").body[0]
    assert isinstance(held, ast.With)
    held.body = after.head
    texts = [one for one in function.body if is_text(one)]
    decorators, function.decorator_list = (
        function.decorator_list,
        [one for one in function.decorator_list if one is not decorator],
    )
    try:
        check_block(edits.source, edits, function.body, [*texts, held, *after.tail])
    finally:
        function.decorator_list = decorators


def _split(source: SourceFile, body: list[ast.stmt], line: int) -> Split:
    """Before the statement with the line; within an `if` that asks about local variables alone."""
    found = [at for at, one in enumerate(body) if first_line(one) <= line <= last_line(one)]
    if not found:
        raise UnpatchableError("the line is not in the section")
    at, node = found[0], body[found[0]]
    if isinstance(node, ast.If) and not node.orelse and line >= first_line(node.body[0]):
        inner = _split(source, node.body, line)
        if inner.head and _asks_locals(node.test, inner.head):
            kept = ast.If(node.test, inner.head, [])
            moved = ast.If(node.test, inner.tail, [])
            header = f"if {header_text(source, node, 'if')}:"
            tail: list[ast.stmt] = [moved, *body[at + 1 :]]
            return Split([*body[:at], kept], tail, inner.first, (header, *inner.headers))
    return Split(body[:at], body[at:], first_line(node))


def _asks_locals(test: ast.expr, before: Sequence[ast.stmt]) -> bool:
    """Whether the answer is the same behind some statements: nothing but names which they lack."""
    plain = (ast.Name, ast.Constant, ast.UnaryOp, ast.BoolOp, ast.Compare)
    parts = (ast.expr_context, ast.unaryop, ast.boolop, ast.cmpop)
    if not all(isinstance(one, (*plain, *parts)) for one in ast.walk(test)):
        return False
    return not names_in(test) & frozenset().union(*map(names_in, before))


def _with_snapshot(edits: LineEdits, section: CriticalSection, split: Split) -> Split:
    """A loop that moves out goes through a copy of a shared container, made under the lock.

    What is done to the container after the loop is done right after the copy, under the lock as
    well: what others add later is not in the copy.
    """
    loop = split.tail[0]
    if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Attribute):
        return split
    text = ast.unparse(loop.iter)
    name = new_name(text.rpartition(".")[2].lstrip("_") or "values", plain_names(edits.source))
    _add_inside(edits, section, split, f"{name} = list({text})")
    replace_expressions(edits, [loop.iter], text=name)
    changed = copy.deepcopy(loop)
    changed.iter = ast.Name(name, ast.Load())
    inside, outside = _stays(edits.source, split.tail[1:], text, loop)
    for one in inside:
        if section.decorator is not None:
            raise UnpatchableError("what stays has to be indented")
        edits.insert_before(split.first, _line(edits.source, one), like=section.body[0].lineno)
        edits.remove(one.lineno)
    head = [*split.head, *ast.parse(f"{name} = list({text})").body, *inside]
    return split._replace(head=head, tail=[changed, *outside])


def _stays(
    source: SourceFile, behind: list[ast.stmt], text: str, loop: ast.For
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Of the statements behind a loop, those about what it goes through, and the others."""
    inside: list[ast.stmt] = []
    outside: list[ast.stmt] = [loop]
    for one in behind:
        if any(ast.unparse(part) == text for part in ast.walk(one) if isinstance(part, ast.expr)):
            if not isinstance(one, (*SIMPLE, ast.Delete)):
                raise UnpatchableError("what is done to the container is no simple statement")
            check_independent(source, one, [*outside[1:], ast.Expr(loop.target)])
            inside.append(one)
        else:
            outside.append(one)
    if any(isinstance(one, LEAVING) for one in executed(loop.body)) and inside:
        raise UnpatchableError("the loop may leave before it")
    return inside, outside[1:]


def _line(source: SourceFile, node: ast.stmt) -> str:
    """The text of a statement that is alone in its line."""
    text = source.lines[node.lineno - 1].strip()
    if first_line(node) != last_line(node) or ast.dump(ast.parse(text)) != ast.dump(
        ast.Module([node], [])
    ):
        raise UnpatchableError("the statement has several lines, or shares its line")
    return text


def _read_inside(edits: LineEdits, section: CriticalSection, split: Split) -> list[tuple[str, str]]:
    """Local copies of the attributes that the head assigns and the tail reads: text and name."""
    shared = named_in(split.head, ast.Store) & named_in(split.tail, ast.Load)
    copied = []
    for text in sorted(one for one in shared if "." in one):
        name = new_name(text.rpartition(".")[2].lstrip("_") or "value", plain_names(edits.source))
        reads = [one for one in executed(split.tail) if is_read(one, text)]
        _add_inside(edits, section, split, f"{name} = {text}")
        replace_expressions(edits, reads, text=name)
        copied.append((text, name))
    return copied


def _add_inside(edits: LineEdits, section: CriticalSection, split: Split, text: str) -> None:
    """A last line under the lock."""
    if split.headers:
        raise UnpatchableError("what is read under the lock depends on a condition")
    deeper = "" if section.decorator is None else edits.source.unit
    edits.insert_before(split.first, deeper + text, like=section.body[0].lineno)


def _renamed(statement: ast.stmt, names: dict[str, str]) -> ast.stmt:
    """A copy of the statement with names in the place of attributes."""

    class Rename(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            name = names.get(ast.unparse(node)) if isinstance(node.ctx, ast.Load) else None
            return ast.Name(name, ast.Load()) if name else self.generic_visit(node)

    renamed: ast.stmt = Rename().visit(copy.deepcopy(statement))
    return renamed


# Into a lock.


def into_locks(conflict: Conflict) -> Iterator[Draft]:
    """A write behind a `with`, moved to its end: others see either nothing of it or all."""
    for source, function in led(conflict):
        for node in nodes(function):
            if isinstance(node, ast.With) and _is_held(conflict, source, node):
                for resets in (False, True):
                    yield from made(_into, source, conflict, node, resets)


def _roles_in(conflict: Conflict, source: SourceFile, node: ast.With) -> dict[int, set[str]]:
    """The roles that come to accesses through this block, and the locks that they hold there."""
    found: dict[int, set[str]] = {}
    for point in conflict.accesses:
        lines = [frame.line for frame in frames(point) if frame.file == source.name]
        if any(node.lineno < line <= last_line(node) for line in lines):
            found.setdefault(point.role, set()).update(map(own_part, point.locks))
    return found


def _is_held(conflict: Conflict, source: SourceFile, node: ast.With) -> bool:
    """Whether it is a lock that the finding's threads held there."""
    names = {ast.unparse(one.context_expr).rpartition(".")[2] for one in node.items}
    return any(names & locks for locks in _roles_in(conflict, source, node).values())


def _into(source: SourceFile, conflict: Conflict, node: ast.With, resets: bool) -> Draft:
    """With `resets`, also the constants that are assigned to other attributes behind it."""
    roles = _roles_in(conflict, source, node)
    written = {
        one.line
        for one in conflict.accesses
        if one.op == "write" and one.role in roles and one.file == source.name
    }
    header_text(source, node, "with")
    block = block_of(covering(source, node.lineno, node.lineno))
    where = block.index(node)
    moved: list[ast.stmt] = []
    passed: list[ast.stmt] = []
    for one in block[where + 1 :]:
        if isinstance(one, SIMPLE) and (one.lineno in written or (resets and _is_reset(one))):
            check_independent(source, one, passed)
            moved.append(one)
        else:
            passed.append(one)
    if not any(one.lineno in written for one in moved) or (resets and len(moved) < 2):
        raise UnpatchableError("nothing of it is written behind the lock")
    edits = LineEdits(source)
    for one in moved:
        _move_into(edits, one, node)
    with _body(node, [*node.body, *moved]):
        check_block(source, edits, block, [*block[: where + 1], *passed])
    lines = ", :".join(str(one.lineno) for one in moved)
    says = f"move {source.name}:{lines} into the lock of :{node.lineno}"
    return whole("move", says, edits, len(moved) + 1)


def _is_reset(node: ast.stmt) -> bool:
    """`self.x = None`"""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and all(isinstance(one, ast.Attribute) for one in node.targets)
    )


def _move_into(edits: LineEdits, node: ast.stmt, held: ast.With) -> None:
    text = _line(edits.source, node)
    edits.insert_after(last_line(held.body[-1]), text, like=held.body[0].lineno)
    edits.remove(node.lineno)
