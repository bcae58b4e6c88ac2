# SPDX-License-Identifier: Apache-2.0
"""Which locks are worth a try: those of the program, and where a new one belongs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from unsnarl.patches.blocks import Function, LineSpan, covering
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.expressions import plain_names
from unsnarl.patches.locks import (
    ClassSource,
    LockChoice,
    all_names,
    bound,
    classes,
    is_lock_made,
    new_name,
    plain_name,
    with_bases,
)
from unsnarl.patches.pieces import functions, names_in, nodes
from unsnarl.patches.source import UnpatchableError


def choices(conflict: Conflict, spans: list[LineSpan]) -> Iterator[LockChoice]:
    """The locks of the program that the finding names or its classes have, then new ones."""
    owners = classes(conflict.sources, spans[0].file)
    yield from dict.fromkeys(_own(conflict, owners))
    for owner in dict.fromkeys([*_defining(conflict, owners), *conflict.owners]):
        if owner in owners:
            source = owners[owner].source
            name = _new_lock(conflict, all_names(source))
            yield LockChoice(owner, name, source.name, is_new=True)
    yield from _local_locks(conflict, spans)
    taken = set().union(*(all_names(source) for source in conflict.sources.values()))
    # Of two modules, often only one imports the other.
    for file in dict.fromkeys(span.file for span in spans):
        yield LockChoice("", _new_lock(conflict, taken), file, is_new=True)


def _local_locks(conflict: Conflict, spans: list[LineSpan]) -> Iterator[LockChoice]:
    """A local variable of the function whose other variables are at fault in functions within it.

    Each call of it has its own ones: a lock of the module would make all calls wait for each other.
    """
    source = conflict.sources[spans[0].file]
    if any(one.file != source.name for one in spans):
        return
    try:
        runs = [covering(source, one.first, one.last) for one in spans]
    except UnpatchableError:
        return
    shared = [one for one in runs[0].around if all(one in run.around for run in runs)]
    functions_around = [one for one in shared if isinstance(one, Function)]
    for function in reversed(functions_around):
        within = all(run.function is not function for run in runs)
        if within and conflict.at_fault & bound(function.body):
            name = new_name("lock", plain_names(source))
            yield LockChoice("", name, source.name, is_new=True, within=function.lineno)
            return


def _defining(conflict: Conflict, owners: Mapping[str, ClassSource]) -> Iterator[str]:
    """The classes that assign the variables at fault, where an object is of a class derived."""
    for owner, name in conflict.names:
        for one in with_bases(owner, owners) if owner else ():
            if name in owners[one].members and one != owner:
                yield one


def _new_lock(conflict: Conflict, taken: Set[str]) -> str:
    """`_lock`, or where there is one already, `_cache_lock` for what it guards."""
    guarded = [name.strip("_").lower() for _, name in conflict.names]
    more = (f"_{name}_lock" for name in guarded if name.isidentifier() and "lock" not in name)
    free = (name for name in ("_lock", *more) if name not in taken)
    return next(free, "") or new_name("_lock", taken)


def _own(conflict: Conflict, owners: dict[str, ClassSource]) -> Iterator[LockChoice]:
    fix = conflict.finding.fix
    named = [fix.lock] if fix is not None and fix.lock else []
    named += [lock for point in conflict.points for lock in point.locks]
    named += conflict.lock_names if conflict.is_deadlock else []
    reentrant = fix is not None and fix.reentrant
    for name in dict.fromkeys(map(plain_name, named)):
        owner, _, attribute = name.rpartition(".")
        choice = LockChoice(owner.rpartition(".")[2], attribute)
        if reentrant and fix is not None and plain_name(fix.lock) == name:
            yield replace(choice, reentrant=True)
        yield choice
    near = {plain_name(one).rpartition(".")[2] for one in named} | _guards(conflict)
    for owner in conflict.owners:
        if owner in owners:
            for name in _locks_of(owners[owner]):
                yield LockChoice(owner, name, is_foreign=name not in near)
    for source in conflict.sources.values():
        for node in source.tree.body:
            if isinstance(node, ast.Assign) and is_lock_made(node.value):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        foreign = target.id not in near
                        yield LockChoice("", target.id, source.name, is_foreign=foreign)


def _guards(conflict: Conflict) -> set[str]:
    """The names of locks under which code accesses a variable at fault, or near it.

    Others are there for something else: who holds them meanwhile, nobody knows.
    """
    near = [node for _, one in functions(conflict) for node in nodes(one)]
    for source in conflict.sources.values():
        near += [
            node
            for node in source.nodes
            if isinstance(node, ast.With)
            and any(names_in(one) & conflict.at_fault for one in node.body)
        ]
    held = (item for node in near if isinstance(node, ast.With) for item in node.items)
    return {ast.unparse(item.context_expr).rpartition(".")[2] for item in held}


def _locks_of(owner: ClassSource) -> Iterator[str]:
    for node in ast.walk(owner.node):
        if isinstance(node, ast.Assign) and is_lock_made(node.value):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    yield target.attr
