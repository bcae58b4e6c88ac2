# SPDX-License-Identifier: Apache-2.0
"""Patches that are no lock around some lines: an import, an order of locks, of threads; others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from unsnarl.patches.announcements import announced_last, announced_twice
from unsnarl.patches.births import bear, threading_call
from unsnarl.patches.blocks import (
    Function,
    StatementRun,
    covering,
    executed,
    first_line,
    is_text,
    last_line,
)
from unsnarl.patches.built_aside import built_aside
from unsnarl.patches.checks import same_but_for
from unsnarl.patches.conflict import (
    MODULE_CODE,
    WAITING,
    CallLine,
    Conflict,
    frames,
    function_named,
)
from unsnarl.patches.copies import copies, local_copies, own_managers
from unsnarl.patches.deferred import deferred_waits
from unsnarl.patches.expressions import replace_expressions
from unsnarl.patches.files import files_gone, made_folders
from unsnarl.patches.first_wins import first_wins
from unsnarl.patches.handed_out import handed_out
from unsnarl.patches.imports import member
from unsnarl.patches.late_reads import late_reads
from unsnarl.patches.lazy_attributes import late_attributes
from unsnarl.patches.locks import (
    LockChoice,
    all_names,
    classes,
    new_name,
    self_name,
)
from unsnarl.patches.loop_calls import threadsafe_calls
from unsnarl.patches.moves import (
    published_last,
    registered_last,
    set_before_start,
    started_last,
)
from unsnarl.patches.own_locks import own_locks
from unsnarl.patches.pieces import functions, lines_of, made, nodes, whole
from unsnarl.patches.queues import put_back, unfinished
from unsnarl.patches.regions import Draft, reentrant_draft
from unsnarl.patches.removals import removals
from unsnarl.patches.sections import into_locks, out_of_locks
from unsnarl.patches.signals import cleared_looks
from unsnarl.patches.source import (
    LineEdits,
    SourceFile,
    UnpatchableError,
    changed_header,
    header_text,
)
from unsnarl.patches.stops import joined_stops
from unsnarl.patches.thread_locals import own_states
from unsnarl.patches.waits import cleared_first, looks, rechecks, releases


def other_drafts(conflict: Conflict) -> Iterator[Draft]:
    """All of them that fit the finding."""
    makers = [rechecks, copies, local_copies, own_managers, import_waits]
    makers += [published_last, announced_last, registered_last, set_before_start, started_last]
    makers += [looks, releases, removals, unfinished, put_back, into_locks, own_states]
    makers += [first_wins, cleared_first, built_aside, late_reads, announced_twice]
    makers += [handed_out, threadsafe_calls, cleared_looks, joined_stops, late_attributes]
    makers += [made_folders, files_gone]
    if conflict.is_deadlock or conflict.finding.shape in WAITING:
        makers += [sorted_locks, own_locks, out_of_locks, deferred_waits, reentrant_locks]
    # An order does not make anything atomic (docs/adr/0042).
    fix = conflict.finding.fix
    if conflict.finding.kind == "order" and fix is not None and fix.kind == "order":
        makers += [joins, events]
    for maker in makers:
        try:
            yield from maker(conflict)
        except UnpatchableError:
            continue


# A module that is complete.


def import_waits(conflict: Conflict) -> Iterator[Draft]:
    """`import_module(name)` instead of `sys.modules[name]`: an import waits for one under way."""
    if not any(one.function == MODULE_CODE for one in conflict.points):
        return
    for source, function in functions(conflict):
        for node in nodes(function):
            if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
                continue
            if ast.unparse(node.value) == "sys.modules":
                yield from made(_imported, source, node)


def _imported(source: SourceFile, node: ast.Subscript) -> Draft:
    edits = LineEdits(source)
    name, _ = member(edits, "importlib", "import_module")
    replace_expressions(edits, [node], text=f"{name}({ast.unparse(node.slice)})")
    says = f"import the module at {source.name}:{node.lineno}, which waits until it is complete"
    return whole("import", says, edits, 2)


# One order of locks.


def sorted_locks(conflict: Conflict) -> Iterator[Draft]:
    """Two locks that are taken one after the other, in an order that all threads have."""
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        for outer in nodes(function):
            inner = outer.body[0] if isinstance(outer, ast.With) else None
            if not (isinstance(outer, ast.With) and isinstance(inner, ast.With)):
                continue
            if {(source.name, outer.lineno), (source.name, inner.lineno)} <= lines:
                yield from made(_sorted, source, outer, inner)
                yield from made(_swapped, source, outer, inner)


def reentrant_locks(conflict: Conflict) -> Iterator[Draft]:
    """Where a thread waits for a lock that it holds itself."""
    waits = [one for one in conflict.points if one.op == "wait"]
    if len({one.role for one in waits}) == 1:
        for name in conflict.lock_names:
            owner, _, attribute = name.rpartition(".")
            choice = LockChoice(owner.rpartition(".")[2], attribute)
            yield from made(reentrant_draft, conflict.sources, choice)


def _sorted(source: SourceFile, outer: ast.With, inner: ast.With) -> Draft:
    one, two = header_text(source, outer, "with"), header_text(source, inner, "with")
    if any(item.optional_vars for node in (outer, inner) for item in node.items):
        raise UnpatchableError("what is taken has a name")
    taken = all_names(source)
    first, second = (new_name(name, taken) for name in ("first_lock", "second_lock"))
    edits = LineEdits(source)
    edits.insert_before(outer.lineno, f"{first}, {second} = sorted(({one}, {two}), key=id)")
    edits.change(outer.lineno, changed_header(source, outer.lineno, f"with {first}:"))
    edits.change(inner.lineno, changed_header(source, inner.lineno, f"with {second}:"))
    says = f"take the locks of {source.name}:{outer.lineno} and :{inner.lineno} in one order"
    return whole("lock-order", says, edits, 3)


def _swapped(source: SourceFile, outer: ast.With, inner: ast.With) -> Draft:
    one, two = header_text(source, outer, "with"), header_text(source, inner, "with")
    edits = LineEdits(source)
    edits.change(outer.lineno, changed_header(source, outer.lineno, f"with {two}:"))
    edits.change(inner.lineno, changed_header(source, inner.lineno, f"with {one}:"))
    says = f"take {two} before {one} at {source.name}:{outer.lineno}"
    return whole("lock-order", says, edits, 2)


# Orders.


def joins(conflict: Conflict) -> Iterator[Draft]:
    """Wait for the end of threads before what must come after it, or before a call of it."""
    fix = conflict.finding.fix
    if fix is None:
        return
    ends = [one for one in conflict.points if (one.file, one.line) == (fix.end.file, fix.end.line)]
    own = CallLine(fix.end.file, fix.end.line, fix.end.function)
    for frame in dict.fromkeys([own, *(frame for one in ends for frame in frames(one))]):
        source = conflict.sources.get(frame.file)
        function = function_named(source, frame.function) if source is not None else None
        if source is not None and function is not None:
            yield from _joined(source, function, frame.line)


def _joined(source: SourceFile, function: Function, line: int) -> Iterator[Draft]:
    """A draft for each thread, or list of threads, that is at hand before this line."""
    run = covering(source, line, line)
    if run.function is not function:
        return
    found = [*_started(function, run.first), *_started_by_others(function, run)]
    for text in dict.fromkeys(found):
        yield from made(_joined_by, source, run, text)


def _joined_by(source: SourceFile, run: StatementRun, text: str) -> Draft:
    edits = LineEdits(source)
    edits.insert_before(run.first, text.replace("\n    ", f"\n{source.unit}"))
    added = [ast.unparse(one) for one in ast.parse(text).body]
    same_but_for(source, edits.text(), added)
    return whole("join", f"join the threads before {source.name}:{run.first}", edits, 2)


def _started_by_others(function: Function, run: StatementRun) -> Iterator[str]:
    """Threads that are attributes and that another method of the object starts."""
    methods = [one for one in run.owner.body if isinstance(one, Function)] if run.owner else []
    for method in methods:
        if method is not function:
            found = _started(method, last_line(method) + 1)
            yield from (one for one in found if one.startswith(f"{self_name(function)}."))


def _started(function: Function, before: int) -> Iterator[str]:
    """For each thing that was started earlier, how to join it."""
    for node in function.body:
        if last_line(node) >= before:
            continue
        for one in executed([node]):
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
                if one.func.attr != "start" or one.args:
                    continue
                name = ast.unparse(one.func.value)
                if isinstance(node, ast.For) and ast.unparse(node.target) == name:
                    yield f"for {name} in {ast.unparse(node.iter)}:\n    {name}.join()"
                else:
                    yield f"{name}.join()"


def events(conflict: Conflict) -> Iterator[Draft]:
    """An event that is set behind what must come first, and waited for before the other.

    Where that is so every time anew, a semaphore: as often as the one, so often the other, and
    once before all.
    """
    fix = conflict.finding.fix
    source = conflict.sources.get(fix.begin.file) if fix is not None else None
    if fix is None or source is None or fix.begin.file != fix.end.file:
        return
    begin = covering(source, fix.begin.line, fix.begin.line)
    end = covering(source, fix.end.line, fix.end.line)
    if begin.function is None or end.function is None or begin.function is end.function:
        return
    if not _is_sure_to_run(source, begin):
        return
    if fix.scope in ("once", ""):
        yield from made(_signalled, conflict, source, begin, end, Signal("Event", "set", "wait"))
    elif fix.scope == "turns":
        signal = Signal("Semaphore", "release", "acquire")
        yield from made(_signalled, conflict, source, begin, end, signal)


def _is_sure_to_run(source: SourceFile, run: StatementRun) -> bool:
    """Whether a program that waits for this will not wait for ever.

    A method that a caller may call or not, once or often, gives no signal to rely on: a loop that
    waits for the first job never ends without one.
    """
    function = run.function
    if run.owner is None or function is None or function.name in ("__init__", "run"):
        return True
    starts = any(_started(function, last_line(function) + 1))
    return starts or _is_thread_target(source, function.name)


def _is_thread_target(source: SourceFile, name: str) -> bool:
    """Whether a thread is made for a function or method of this name."""
    return any(
        keyword.arg == "target" and ast.unparse(keyword.value).rpartition(".")[2] == name
        for node in source.nodes
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    )


class Signal(NamedTuple):
    """By which one thread waits for another: its type, and what both call."""

    type: str
    gives: str
    waits: str


def _signalled(
    conflict: Conflict, source: SourceFile, begin: StatementRun, end: StatementRun, signal: Signal
) -> Draft:
    edits = LineEdits(source)
    name = new_name("_ready", all_names(source))
    event, added = _born(conflict, edits, (begin, end), name, signal.type)
    gives, waits = f"{event}.{signal.gives}()", f"{event}.{signal.waits}()"
    edits.insert_after(begin.last, gives, like=begin.first)
    edits.insert_before(end.first, waits)
    same_but_for(source, edits.text(), [*added, gives, waits])
    kind = signal.type.lower()
    what = f"an {kind} that is set" if kind == "event" else f"a {kind} that is released"
    says = f"{source.name}:{end.first} waits for {what} behind :{begin.last}"
    return whole("event", says, edits, 3)


def _born(
    conflict: Conflict,
    edits: LineEdits,
    runs: tuple[StatementRun, StatementRun],
    name: str,
    made_as: str,
) -> tuple[str, list[str]]:
    """The signal's name in the object, the function or the module that both runs share."""
    owners = classes(conflict.sources)
    one, two = runs
    if one.owner is not None and one.owner is two.owner and one.owner.name in owners:
        added = bear(LockChoice(one.owner.name, name, "", True), edits, owners, made_as)
        return f"self.{name}", added
    shared = [node for node in one.around if isinstance(node, Function) and node in two.around]
    if not shared:
        choice = LockChoice("", name, edits.source.name, True)
        return name, bear(choice, edits, owners, made_as)
    call, added = threading_call(edits, made_as)
    body = shared[-1].body
    first = next((node for node in body if not is_text(node)), body[0])
    local = name.lstrip("_")
    edits.insert_before(first_line(first), f"{local} = {call}", like=first.lineno)
    return local, [*added, f"{local} = {call}"]
