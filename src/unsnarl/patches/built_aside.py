# SPDX-License-Identifier: Apache-2.0
"""Patches of what others find half filled: built in a local variable, and published when done."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from unsnarl.patches.announcements import leaving
from unsnarl.patches.blocks import Function, covering, executed, first_line, last_line
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.expressions import plain_names, replace_expressions
from unsnarl.patches.locks import new_name
from unsnarl.patches.moves import LEAVING, PUBLISHED, WRITES
from unsnarl.patches.pieces import block_of, check_block, functions, made, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

SEEN_EARLY = (PUBLISHED, "unfinished change seen", "two variables out of step")
# What makes something new, which nobody else can have yet.
MAKING = (ast.Call, ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
Target = ast.Name | ast.Attribute | ast.Subscript


def built_aside(conflict: Conflict) -> Iterator[Draft]:
    """`entry = {}`, what fills it, and only then `cache[key] = entry`, for `cache[key] = {}`."""
    if conflict.finding.shape not in SEEN_EARLY:
        return
    lines = {(one.file, one.line) for one in conflict.points if one.op in WRITES}
    for source, function in functions(conflict):
        for node in nodes(function):
            if isinstance(node, ast.Assign) and (source.name, node.lineno) in lines:
                yield from made(_aside, source, function, node)


def _aside(source: SourceFile, function: Function, node: ast.Assign) -> Draft:
    targets = [one for one in node.targets if isinstance(one, Target)]
    if len(targets) != len(node.targets) or not isinstance(node.value, MAKING):
        raise UnpatchableError(f"{source.name}:{node.lineno} publishes nothing new")
    run = covering(source, node.lineno, node.lineno)
    if run.statements != (node,) or run.first != run.last:
        raise UnpatchableError(f"{source.name}:{node.lineno} is not in a line of its own")
    own = [one for one in targets if isinstance(one, ast.Name) and _is_local(function, one.id)]
    published = [one for one in targets if one not in own]
    if not published:
        raise UnpatchableError(f"{source.name}:{node.lineno} is seen by nobody else")
    name = own[0].id if own else _local_name(source, published[-1])
    block = block_of(run)
    passed = _filling(block, node, [*map(ast.unparse, published), name])
    texts = [*map(ast.unparse, published)]
    edits = LineEdits(source)
    _replace_line(edits, node, name)
    found = [one for one in executed(passed) if _is_one_of(one, texts, ast.Load)]
    replace_expressions(edits, [one for one in found if isinstance(one, ast.expr)], text=name)
    publication = " = ".join([*texts, name])
    edits.insert_after(last_line(passed[-1]), publication, like=node.lineno)
    _check(edits, block, node, passed, (name, texts, publication))
    says = f"fill what {source.name}:{node.lineno} makes before it is published"
    return whole("publish", says, edits, 2 + len(found))


def _is_local(function: Function, name: str) -> bool:
    outer = (one for one in nodes(function) if isinstance(one, ast.Global | ast.Nonlocal))
    return all(name not in one.names for one in outer)


def _local_name(source: SourceFile, target: Target) -> str:
    """`rates` for `self._rates`, `new_rates` for a global; for an entry, what it is."""
    if isinstance(target, ast.Subscript):
        return new_name("entry", plain_names(source))
    named = target.attr if isinstance(target, ast.Attribute) else f"new_{target.id.strip('_')}"
    return new_name(named.strip("_") or "made", plain_names(source))


def _filling(block: list[ast.stmt], node: ast.Assign, texts: Sequence[str]) -> list[ast.stmt]:
    """The statements up to the last one that puts something into it.

    Raises if something between leaves, so that it would not be published, or assigns it anew.
    """
    later = block[block.index(node) + 1 :]
    ends = [at for at, one in enumerate(later) if _fills(one, texts)]
    passed = later[: ends[-1] + 1] if ends else []
    if not passed:
        raise UnpatchableError("nothing is put into it later")
    ways_out = [one for one in leaving(passed) if not isinstance(one, ast.Raise | ast.Assert)]
    anew = [one for one in executed(passed) if _is_one_of(one, texts, ast.Store)]
    if ways_out or anew or first_line(passed[0]) <= last_line(node):
        raise UnpatchableError("it would not be published at times")
    return passed


def _fills(statement: ast.stmt, texts: Sequence[str]) -> bool:
    """Whether it stores into one of these, or calls a method of it."""
    if isinstance(statement, LEAVING):
        return False
    return any(
        isinstance(one.ctx, ast.Store) or _is_called(statement, one)
        for one in executed([statement])
        if isinstance(one, ast.Attribute | ast.Subscript) and ast.unparse(one.value) in texts
    )


def _is_called(statement: ast.stmt, node: ast.expr) -> bool:
    calls = (one for one in executed([statement]) if isinstance(one, ast.Call))
    return any(one.func is node for one in calls)


def _is_one_of(node: ast.AST, texts: Sequence[str], context: type[ast.expr_context]) -> bool:
    return isinstance(node, Target) and isinstance(node.ctx, context) and ast.unparse(node) in texts


def _replace_line(edits: LineEdits, node: ast.Assign, name: str) -> None:
    """The line with one target; what it makes, and a comment, stay as they are."""
    source = edits.source
    old = source.lines[node.lineno - 1].encode()
    value = old[node.value.col_offset :].decode()
    edits.change(node.lineno, f"{source.indentation(node.lineno)}{name} = {value}")


class _Renamed(ast.NodeTransformer):
    """Reads of some expressions as those of a name."""

    def __init__(self, texts: Sequence[str], name: str) -> None:
        self._texts, self._name = texts, name

    def of(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Copies of statements with the name."""
        block = ast.Module(copy.deepcopy(list(statements)), [])
        self.generic_visit(block)
        return block.body

    def visit(self, node: ast.AST) -> ast.AST:
        if _is_one_of(node, self._texts, ast.Load):
            return ast.Name(self._name, ast.Load())
        changed: ast.AST = self.generic_visit(node)
        return changed


def _check(
    edits: LineEdits,
    block: list[ast.stmt],
    node: ast.Assign,
    passed: list[ast.stmt],
    made_as: tuple[str, list[str], str],
) -> None:
    name, texts, publication = made_as
    renamed = _Renamed(texts, name).of(passed)
    first = ast.Assign([ast.Name(name, ast.Store())], node.value)
    at = block.index(node)
    wanted = [*block[:at], first, *renamed, *ast.parse(publication).body]
    check_block(edits.source, edits, block, [*wanted, *block[at + 1 + len(passed) :]])
