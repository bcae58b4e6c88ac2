# SPDX-License-Identifier: Apache-2.0
"""Where it is in vain to read a variable only once: its value is wrong, not the second look."""

from __future__ import annotations

import ast
from functools import lru_cache

from unsnarl.patches.blocks import Function, LineSpan
from unsnarl.patches.conflict import (
    Conflict,
    called_names,
    function_named,
    own_part,
    whole_name,
)


def writes_back(conflict: Conflict) -> bool:
    """Whether a thread reads a variable, another one writes it, and then the first one does.

    What it had read is old by then, however often it asked: to read it once does not help.
    """
    for name in {whole_name(one) for one in conflict.accesses}:
        own = [one for one in conflict.accesses if whole_name(one) == name]
        for at, other in enumerate(own):
            if other.op != "read":
                before = {one.role for one in own[:at] if one.op == "read"} - {other.role}
                if any(one.op != "read" and one.role in before for one in own[at + 1 :]):
                    return True
    return False


def own_values(conflict: Conflict) -> list[LineSpan]:
    """From the call of what assigns a variable to the reads of it in the same function.

    Who assigns and then reads wants its own value. What another thread has put there since is as
    wrong if it is read once, or if only the reads are kept together.
    """
    found: dict[tuple[str, str], LineSpan] = {}
    for point in conflict.accesses:
        source = conflict.sources.get(point.file)
        function = function_named(source, point.function) if source is not None else None
        if source is None or function is None or point.op != "read":
            continue
        assigning = {
            one.name
            for one in source.nodes
            if isinstance(one, Function) and own_part(point.variable) in _stored(one)
        } - {function.name}
        for line, name in called_names(function):
            if name in assigning and line < point.line:
                span = LineSpan(point.file, line, point.line)
                key = point.file, point.function
                found[key] = found[key].joined(span) if key in found else span
    return list(found.values())


# Every access asks about all functions of its file.
@lru_cache(maxsize=4096)
def _stored(function: Function) -> frozenset[str]:
    """The attributes and names that a function assigns."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return frozenset(found)
