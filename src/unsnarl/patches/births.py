# SPDX-License-Identifier: Apache-2.0
"""Where a new lock is born, and where the program makes its own."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from unsnarl.patches.blocks import Function, first_line, is_text, last_line
from unsnarl.patches.imports import last_import, member, set_apart
from unsnarl.patches.locks import ClassSource, LockChoice, bound, self_name
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError


def bear(
    choice: LockChoice,
    edits: LineEdits,
    owners: Mapping[str, ClassSource],
    made: str,
    guarded: frozenset[str] = frozenset(),
) -> list[str]:
    """Add the statement that makes a new lock (`made` is its type); gives what was added.

    It is made where the constructor assigns one of the guarded attributes, or else first of all.
    """
    call, added = threading_call(edits, made)
    if choice.within:
        text = f"{choice.name} = {call}"
        _in_function(choice, edits, text, guarded)
        return [*added, text]
    if not choice.owner:
        text = f"{choice.name} = {call}"
        _after_imports(edits, text, bool(added))
        return [*added, text]
    owner = owners[choice.owner]
    constructor = owner.constructor
    if constructor is None:
        return [*added, _in_class(choice, edits, owner, call)]
    text = f"{self_name(constructor)}.{choice.name} = {call}"
    neighbour = _assigning(constructor, guarded)
    if neighbour is not None:
        edits.insert_after(last_line(neighbour), text, like=neighbour.lineno)
        return [*added, text]
    first = _first_statement(constructor.body)
    if first.lineno == constructor.lineno or is_text(first):
        raise UnpatchableError(f"{choice.owner}.__init__ is too short")
    edits.insert_before(first_line(first), text)
    return [*added, text]


def _assigning(constructor: Function, names: frozenset[str]) -> ast.stmt | None:
    """The statement of a constructor that assigns one of these attributes: nobody can have used
    the attribute before."""
    wanted = {f"{self_name(constructor)}.{name}" for name in names}
    for node in constructor.body:
        if node.lineno == constructor.lineno:
            return None
        targets = node.targets if isinstance(node, ast.Assign) else ()
        targets = [node.target] if isinstance(node, ast.AnnAssign) and node.value else targets
        for one in targets:
            if ast.unparse(one) in wanted:
                return node
    return None


def _in_function(choice: LockChoice, edits: LineEdits, text: str, guarded: frozenset[str]) -> None:
    """Behind the statement of the function that first assigns what is guarded."""
    function = next(
        one
        for one in edits.source.nodes
        if isinstance(one, Function) and one.lineno == choice.within
    )
    for node in function.body:
        if not isinstance(node, Function | ast.ClassDef) and guarded & bound([node]):
            edits.insert_after(last_line(node), text, like=node.lineno)
            return
    raise UnpatchableError("what is guarded is born elsewhere")


def _in_class(choice: LockChoice, edits: LineEdits, owner: ClassSource, call: str) -> str:
    """Without `__init__`, all objects of a class share the lock."""
    first = _first_statement(owner.node.body)
    if not owner.has_plain_body or first.lineno == owner.node.lineno or is_text(first):
        raise UnpatchableError(f"{choice.owner} has no room for a lock")
    text = f"{choice.name} = {call}"
    edits.insert_before(first_line(first), f"{text}\n", like=first.lineno)
    return text


def _first_statement(body: Sequence[ast.stmt]) -> ast.stmt:
    return body[1] if is_text(body[0]) and len(body) > 1 else body[0]


def threading_call(edits: LineEdits, made: str) -> tuple[str, list[str]]:
    """`threading.Lock()` as the file would write it, with the import that it lacks."""
    name, added = member(edits, "threading", made)
    return f"{name}()", added


def _after_imports(edits: LineEdits, text: str, imported: bool) -> None:
    source = edits.source
    last = last_import(source)
    if last is None:
        first = source.tree.body[0]
        if is_text(first):
            edits.insert_after(last_line(first), f"\n{text}", like=first.lineno)
        else:
            edits.insert_before(first_line(first), f"\n{text}" if imported else text)
            set_apart(edits, first_line(first))
        return
    edits.insert_after(last_line(last), f"\n{text}", like=last.lineno)
    set_apart(edits, last_line(last) + 1)


def lock_births(owner: ClassSource, name: str) -> Sequence[ast.Call]:
    """Where a class makes its plain lock: `threading.Lock()` in an assignment to the attribute."""
    return [
        node.value
        for node in ast.walk(owner.node)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and any(isinstance(one, ast.Attribute) and one.attr == name for one in node.targets)
        and _type_name(node.value) == "Lock"
    ]


def module_births(source: SourceFile, name: str) -> Sequence[ast.Call]:
    """The same of a variable of a module or of a function."""
    return [
        node.value
        for node in source.nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
        and _type_name(node.value) == "Lock"
    ]


def _type_name(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]
