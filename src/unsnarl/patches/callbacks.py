# SPDX-License-Identifier: Apache-2.0
"""Whether statements call what others handed in: such code may come back for the same lock.

No run of the program at hand need show that, so no number of runs shows that a patch is safe: a
handler that emits an event would wait for itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import pairwise

from unsnarl.patches.blocks import Function, StatementRun, executed
from unsnarl.patches.locks import self_name
from unsnarl.patches.source import SourceFile

# A call of a call of a call: further away than a reader would look.
DEEP = 3


def calls_callbacks(sources: Mapping[str, SourceFile], run: StatementRun) -> bool:
    """Whether the statements, or functions of these files that they call, call a callback."""
    # What was handed in to a function around is at hand in those within it.
    outer: set[str] = set()
    for parent, one in pairwise(run.around):
        if isinstance(one, Function) and one is not run.function:
            outer |= _handed_in(one)
            outer |= set() if isinstance(parent, ast.ClassDef) else {self_name(one)}
    search = _search(tuple(sources.values()))
    return search.is_called(run.function, executed(run.statements), DEEP, outer)


class _Search:
    """Looks for callbacks in what functions of some files call; each is looked at once."""

    def __init__(self, sources: Sequence[SourceFile]) -> None:
        self._functions: dict[str, list[Function]] = {}
        self._found: dict[tuple[Function, int], bool] = {}
        for source in sources:
            for node in source.nodes:
                if isinstance(node, Function):
                    self._functions.setdefault(node.name, []).append(node)

    def is_called(
        self,
        around: Function | None,
        nodes: Iterable[ast.AST],
        deep: int,
        outer: Set[str] = frozenset(),
    ) -> bool:
        variables = {*_handed_in(around), *outer} if around is not None else set()
        me = self_name(around) if around is not None else ""
        for node in nodes:
            if not isinstance(node, ast.Call):
                continue
            if _is_callback(node.func, variables, me, self._functions):
                return True
            called = self._functions.get(_name(node.func), ()) if deep else ()
            if any(self._is_called_in(one, deep - 1) for one in called):
                return True
        return False

    def _is_called_in(self, function: Function, deep: int) -> bool:
        key = function, deep
        if key not in self._found:
            self._found[key] = self.is_called(function, _executed(function), deep)
        return self._found[key]


# Every draft asks about the same few files.
_search = lru_cache(maxsize=8)(_Search)


@lru_cache(maxsize=4096)
def _executed(function: Function) -> tuple[ast.AST, ...]:
    return tuple(executed(function.body))


@lru_cache(maxsize=4096)
def _handed_in(function: Function) -> frozenset[str]:
    """Parameters, and what loops and assignments take out of something."""
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    found = {one.arg for one in every if one.arg != self_name(function)}
    for node in _executed(function):
        if isinstance(node, ast.For | ast.AsyncFor):
            found.update(_names(node.target))
        elif isinstance(node, ast.Assign) and _is_taken(node.value):
            found.update(name for target in node.targets for name in _names(target))
    return frozenset(found)


def _is_taken(value: ast.expr) -> bool:
    """`d[k]`, `d.pop(k)`, `d.get(k)`, `self.hook`: not what is made here."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return value.func.attr in ("pop", "get", "popleft", "popitem", "setdefault")
    return isinstance(value, ast.Subscript | ast.Attribute)


def _names(target: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _is_callback(
    called: ast.expr,
    variables: set[str],
    me: str,
    functions: Mapping[str, Sequence[Function]],
) -> bool:
    if isinstance(called, ast.Name):
        return called.id in variables
    if isinstance(called, ast.Subscript):
        return True
    # An attribute of its own that no function here has the name of: `self.on_close()`.
    return (
        isinstance(called, ast.Attribute)
        and isinstance(called.value, ast.Name)
        and bool(me)
        and called.value.id == me
        and called.attr not in functions
        and called.attr.lower().startswith(
            ("on_", "_on_", "callback", "_callback", "hook", "_hook")
        )
    )


def _name(called: ast.expr) -> str:
    """`close` of `close(…)` and of `self.close(…)`; of others' methods too little is known."""
    if isinstance(called, ast.Name):
        return called.id
    if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
        return called.attr
    return ""
