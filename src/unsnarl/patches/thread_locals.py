# SPDX-License-Identifier: Apache-2.0
"""State of one call that is kept on an object of all threads: each thread gets its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from unsnarl.model.report import FindingPoint
from unsnarl.patches.blocks import Function, is_text
from unsnarl.patches.conflict import Conflict, function_named, own_part
from unsnarl.patches.imports import member
from unsnarl.patches.locks import ClassSource, classes
from unsnarl.patches.pieces import made, whole
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

# More than a new lock of one line, less than a lock around all of a call.
SIZE = 6
CONTAINERS = frozenset(
    {"list", "dict", "set", "deque", "defaultdict", "OrderedDict", "Counter", "ChainMap", "Queue"}
    | {"WeakValueDictionary", "WeakKeyDictionary", "WeakSet", "LifoQueue", "PriorityQueue"}
)


def own_states(conflict: Conflict) -> Iterator[Draft]:
    """`class FileLock(threading.local):`, where a thread has to find what it wrote itself.

    `__init__` is called in every thread that uses the object, with the same arguments.
    """
    owners = classes(conflict.sources)
    for owner, attribute in conflict.names:
        if owner in owners and _is_overwritten(conflict, attribute):
            yield from made(_local, owners[owner], attribute)


def _is_overwritten(conflict: Conflict, attribute: str) -> bool:
    """Whether a role writes, another one does, and then the first reads."""
    written: list[int] = []
    for one in conflict.points:
        is_own = own_part(one.variable) == attribute
        loads = one.op == "read" or _lines(conflict, one, attribute, ast.Load) & {one.line}
        if is_own and loads and one.role in written and written[-1] != one.role:
            return True
        # What it did in the same function before is not always a point.
        before = min(_lines(conflict, one, attribute, ast.Store), default=one.line) < one.line
        if (is_own and one.op == "write") or before:
            written.append(one.role)
    return False


def _lines(
    conflict: Conflict, point: FindingPoint, attribute: str, context: type[ast.expr_context]
) -> set[int]:
    """The lines of a point's function that read or assign the attribute."""
    source = conflict.sources.get(point.file)
    function = function_named(source, point.function) if source is not None else None
    return {
        one.lineno
        for one in (ast.walk(function) if function is not None else ())
        if isinstance(one, ast.Attribute) and one.attr == attribute and isinstance(one.ctx, context)
    }


def _local(owner: ClassSource, attribute: str) -> Draft:
    source, node = owner.source, owner.node
    bases = [ast.unparse(one) for one in node.bases]
    if node not in source.tree.body or node.keywords or node.decorator_list:
        raise UnpatchableError(f"{node.name} is no plain class of its module")
    if owner.constructor is None or not all(_is_plain(one, source) for one in bases):
        raise UnpatchableError(f"{node.name} is more than an object")
    if _builds_on(node, attribute):
        raise UnpatchableError(f"{attribute} is built on what it was before")
    if not _is_replaced(node, attribute) or _is_for_all(node):
        raise UnpatchableError(f"{node.name} keeps what all threads are to find")
    line = source.lines[node.lineno - 1]
    header = line.rstrip()
    kept = [one for one in bases if one != "object"]
    olds = (f"class {node.name}:", f"class {node.name}({', '.join(bases)}):")
    if header not in olds:
        raise UnpatchableError("the header of the class has more in it")
    edits = LineEdits(source)
    name, _ = member(edits, "threading", "local")
    header_now = f"class {node.name}({', '.join([*kept, name])}):"
    edits.change(node.lineno, header_now + line[len(header) :])
    says = f"keep the attributes of {node.name} for each thread, {source.name}:{node.lineno}"
    return whole("thread-local", says, edits, SIZE)


def _is_plain(base: str, source: SourceFile) -> bool:
    """Whether a base adds methods and nothing else: no state, no way of its own to be made."""
    found = [one for one in source.tree.body if isinstance(one, ast.ClassDef) and one.name == base]
    if base == "object" or not found:
        return base == "object"
    body = [one for one in found[0].body if not is_text(one)]
    methods = {one.name for one in body if isinstance(one, Function)}
    plain = len(methods) == len(body) and not methods & {"__init__", "__new__"}
    return plain and all(_is_plain(ast.unparse(one), source) for one in found[0].bases)


def _builds_on(node: ast.ClassDef, attribute: str) -> bool:
    """Whether a method assigns something that is made of the old value: a count is for all."""
    methods = [one for one in node.body if isinstance(one, Function)]
    for one in (inner for method in methods for inner in ast.walk(method)):
        if isinstance(one, ast.AugAssign) and _is(one.target, attribute):
            return True
        for target, value in _assigned(one):
            if _is(target, attribute) and any(_is(part, attribute) for part in ast.walk(value)):
                return True
    return False


def _is_replaced(node: ast.ClassDef, attribute: str) -> bool:
    """Whether a method, not only the constructor, assigns the attribute anew."""
    methods = [one for one in node.body if isinstance(one, Function) and one.name != "__init__"]
    return any(
        _is(target, attribute)
        for method in methods
        for inner in ast.walk(method)
        for target, _ in _assigned(inner)
    )


def _is_for_all(node: ast.ClassDef) -> bool:
    """Whether any attribute counts, or is a container that is made once: a cache is for all."""
    methods = [one for one in node.body if isinstance(one, Function)]
    for method in methods:
        for one in ast.walk(method):
            if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Attribute):
                return True
            values = (value for _, value in _assigned(one)) if method.name == "__init__" else ()
            if any(_is_container(value) for value in values):
                return True
    return False


def _is_container(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in CONTAINERS
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp)


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with their values; `a, b = b, a` are two."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _is(node: ast.AST, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute
