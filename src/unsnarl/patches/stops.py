# SPDX-License-Identifier: Apache-2.0
"""Patches of threads that are asked to stop, and that nobody waits for before going on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from unsnarl.patches.blocks import Function, covering, executed, last_line
from unsnarl.patches.checks import is_waiting, same_but_for
from unsnarl.patches.conflict import Conflict, frames, function_named
from unsnarl.patches.expressions import plain_names
from unsnarl.patches.locks import new_name, self_name
from unsnarl.patches.pieces import made, names_in, nodes, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

LEAVING = (ast.Return, ast.Break)
# As far as a reader follows calls.
DEEP = 3


class StopRequest(NamedTuple):
    """A statement that asks a thread to stop: `self.running = False`, `stop.set()`.

    Attributes:
        name: The variable's own name, by which the thread's loop asks for it.
        text: The variable as it is written there.
    """

    source: SourceFile
    function: Function
    statement: ast.stmt
    name: str
    text: str


class StoppedThread(NamedTuple):
    """How a thread is called where it is asked to stop.

    Attributes:
        guard: What must be so for it to be joined; "" for nothing.
        unset: Before this statement it is assigned None, for it may not be assigned at all.
    """

    name: str
    guard: str = ""
    unset: ast.stmt | None = None


def joined_stops(conflict: Conflict) -> Iterator[Draft]:
    """`thread.join()` behind what asks a thread to stop, if its loop was entered before.

    Whoever goes on at once tears down what the last turn of that loop still uses.
    """
    for at, point in enumerate(conflict.points):
        source = conflict.sources.get(point.file)
        function = function_named(source, point.function) if source is not None else None
        if source is None or function is None:
            continue
        for request in _requests(source, function, point.line):
            late = [one for one in conflict.points[at + 1 :] if one.role != point.role]
            lines = {frame[:3] for one in late for frame in frames(one) if frame.file == point.file}
            for name in sorted({one[2] for one in lines}):
                target = function_named(source, name)
                if target is not None and target is not function:
                    yield from made(_joined, request, target)


def _requests(source: SourceFile, function: Function, line: int) -> Iterator[StopRequest]:
    for node in nodes(function):
        if not isinstance(node, ast.stmt) or node.lineno != line:
            continue
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            variable: ast.expr | None = node.targets[0] if len(node.targets) == 1 else None
        else:
            variable = _called(node, "set")
        if isinstance(variable, ast.Name | ast.Attribute):
            name = variable.id if isinstance(variable, ast.Name) else variable.attr
            yield StopRequest(source, function, node, name, ast.unparse(variable))


def _called(node: ast.AST, method: str) -> ast.expr | None:
    """`self.stop` of `self.stop.set()`."""
    call = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return None
    function = call.func
    return (
        function.value if isinstance(function, ast.Attribute) and function.attr == method else None
    )


def _joined(request: StopRequest, target: Function) -> Draft:
    source, function, statement = request[:3]
    run = covering(source, statement.lineno, statement.lineno)
    inner = run.around[run.around.index(function) + 1 :]
    if run.statements != (statement,) or any(isinstance(one, ast.With) for one in inner):
        raise UnpatchableError("it is asked to stop while something is held")
    if _comes_to(source, target, function.name, DEEP):
        raise UnpatchableError("the thread would join itself")
    loop = _asking_loop(target, request.name)
    thread = _thread(source, function, statement, target)
    if any(_called(one, "join") is not None for one in executed(function.body)):
        raise UnpatchableError("something is joined there")
    before, behind = _statements(request, thread, _events(source, request, target, loop))
    edits = LineEdits(source)
    if thread.unset is not None:
        edits.insert_before(thread.unset.lineno, f"{thread.name} = None")
    for text in before:
        edits.insert_before(run.first, text)
    for text in behind:
        edits.insert_after(run.last, text.replace("\n    ", f"\n{source.unit}"), like=run.first)
    added = [*before, *behind, *([f"{thread.name} = None"] if thread.unset else [])]
    same_but_for(source, edits.text(), [ast.unparse(ast.parse(one)) for one in added])
    says = (
        f"join the thread of {target.name}() behind {source.name}:{run.last}, which asks it to stop"
    )
    return whole("join", says, edits, 1 + len(added))


def _statements(
    request: StopRequest, thread: StoppedThread, events: list[str]
) -> tuple[list[str], list[str]]:
    """What comes before the statement, and what behind it."""
    wake = [f"{one}.set()" for one in events]
    if thread.name != request.text:
        join = f"{thread.name}.join()"
        return [], [*wake, f"if {thread.guard}:\n    {join}" if thread.guard else join]
    # The request is that the thread's name says nothing any more.
    name = new_name("stopped", plain_names(request.source))
    join = f"if {name} is not None:\n    {name}.join()" if thread.guard else f"{name}.join()"
    return [f"{name} = {thread.name}"], [*wake, join]


def _asking_loop(target: Function, name: str) -> ast.While:
    """The loop of a thread that asks in every turn whether to go on."""
    for node in nodes(target):
        if not isinstance(node, ast.While):
            continue
        leaving = (
            one.test
            for one in node.body
            if isinstance(one, ast.If) and isinstance(one.body[-1], LEAVING)
        )
        if any(name in names_in(test) for test in (node.test, *leaving)):
            return node
    raise UnpatchableError("no loop asks for it")


def _thread(
    source: SourceFile, function: Function, statement: ast.stmt, target: Function
) -> StoppedThread:
    """The thread that runs the target, as the function can call it."""
    for node in source.nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and _runs(node.value, target):
            variable = node.targets[0]
            if isinstance(variable, ast.Name):
                return _local(function, statement, node, variable.id)
            if isinstance(variable, ast.Attribute):
                return _attribute(source, function, ast.unparse(variable))
    raise UnpatchableError("no thread has a name")


def _runs(value: ast.expr, target: Function) -> bool:
    """Whether a thread is made for a function or method of this name."""
    if not isinstance(value, ast.Call) or not ast.unparse(value.func).endswith("Thread"):
        return False
    given = [one.value for one in value.keywords if one.arg == "target"]
    return any(ast.unparse(one).rpartition(".")[2] == target.name for one in given)


def _local(
    function: Function, statement: ast.stmt, made_by: ast.Assign, name: str
) -> StoppedThread:
    """A local name of the function; on some ways it may have no value."""
    tops = [one for one in function.body if made_by in executed([one])]
    if not tops or last_line(tops[0]) >= statement.lineno:
        raise UnpatchableError("the thread is made elsewhere")
    if tops[0] is made_by:
        return StoppedThread(name)
    earlier = function.body[: function.body.index(tops[0])]
    assigned = any(
        isinstance(one, ast.Assign) and name in map(ast.unparse, one.targets) for one in earlier
    )
    return StoppedThread(name, f"{name} is not None", None if assigned else tops[0])


def _attribute(source: SourceFile, function: Function, name: str) -> StoppedThread:
    """An attribute that `__init__` assigns: a thread that may not run yet, or nothing."""
    owner = next(
        (one for one in source.nodes if isinstance(one, ast.ClassDef) and function in one.body),
        None,
    )
    methods = [one for one in owner.body if isinstance(one, Function)] if owner else []
    me = self_name(function)
    for method in methods:
        for node in method.body if method.name == "__init__" and name.startswith(f"{me}.") else ():
            if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
                is_none = isinstance(node.value, ast.Constant)
                return StoppedThread(
                    name, f"{name} is not None" if is_none else f"{name}.is_alive()"
                )
    raise UnpatchableError("nobody knows whether there is a thread")


def _comes_to(source: SourceFile, function: Function, name: str, deep: int) -> bool:
    """Whether a function leads to a call of another one of its file."""
    called = {
        ast.unparse(one.func).rpartition(".")[2]
        for one in nodes(function)
        if isinstance(one, ast.Call)
    }
    if name in called or not deep:
        return name in called
    inner = [one for one in source.nodes if isinstance(one, Function) and one.name in called]
    return any(_comes_to(source, one, name, deep - 1) for one in inner if one is not function)


def _events(
    source: SourceFile, request: StopRequest, target: Function, loop: ast.While
) -> list[str]:
    """The events that a turn of the loop waits for, without a limit; nothing else may keep it."""
    found = []
    waits = [one for one in executed(loop.body) if isinstance(one, ast.Call) and is_waiting(one)]
    for call in waits:
        limited = call.args or call.keywords or ast.unparse(call.func).endswith("sleep")
        event = _called(call, "wait")
        if limited or (event is not None and ast.unparse(event) == request.text):
            continue
        if event is None or not _is_own(source, request.function, target, event):
            raise UnpatchableError("the thread may wait for ever in its last turn")
        found.append(ast.unparse(event))
    return list(dict.fromkeys(found))


def _is_own(source: SourceFile, function: Function, target: Function, event: ast.expr) -> bool:
    """Whether the event is known to both functions, and only the thread waits for it."""
    text = ast.unparse(event)
    waits = [
        one
        for one in source.nodes
        if isinstance(one, ast.Call) and (ast.unparse(one.func) == f"{text}.wait")
    ]
    inside = list(ast.walk(target))
    if not all(one in inside for one in waits):
        return False
    if isinstance(event, ast.Name):
        return any(
            isinstance(one, ast.Assign) and text in map(ast.unparse, one.targets)
            for one in function.body
        )
    return text.rpartition(".")[0] == self_name(function) == self_name(target)
