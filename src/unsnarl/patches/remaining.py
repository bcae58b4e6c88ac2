# SPDX-License-Identifier: Apache-2.0
"""What a patch leaves as it is: other methods that change the same attributes without its lock.

The program at hand did not call them together with the others, so no run says anything about them.
They are named, not changed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.patches.blocks import Function, LineSpan
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.locks import classes, self_name
from unsnarl.patches.pieces import nodes
from unsnarl.patches.regions import Draft, holds

CHANGING = frozenset(
    {"append", "appendleft", "add", "pop", "popleft", "popitem", "remove", "discard", "clear"}
    | {"update", "extend", "insert", "setdefault", "move_to_end"}
)
# Nobody else has an object that is being made, or that is given up.
ALONE = ("__init__", "__new__", "__del__", "__setstate__")
MOST = 3


def unprotected(conflict: Conflict, draft: Draft) -> str:
    """`get, clear`: the methods that still change what a new lock protects; "" for none."""
    choice = draft.choice
    owners = classes(conflict.sources, choice.file) if choice is not None else {}
    if choice is None or choice.owner not in owners:
        return ""
    owner = owners[choice.owner]
    found = []
    for method in owner.node.body:
        if isinstance(method, Function) and method.name not in ALONE:
            lines = [LineSpan(owner.source.name, one, one) for one in _changing(conflict, method)]
            if any(
                not any(span.covers(line) for span in draft.spans)
                and not holds(owner.source, line.first, choice.name)
                for line in lines
            ):
                found.append(method.name)
    more = ["…"] if len(found) > MOST else []
    return ", ".join([*found[:MOST], *more])


def _changing(conflict: Conflict, method: Function) -> Iterator[int]:
    """The lines of a method that change one of the object's attributes at fault."""
    wanted = {f"{self_name(method)}.{name}" for name in conflict.at_fault}
    for node in nodes(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in CHANGING and ast.unparse(node.func.value) in wanted:
                yield node.lineno
        elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = node.value if isinstance(node, ast.Subscript) else node
            if ast.unparse(changed) in wanted:
                yield node.lineno
