# SPDX-License-Identifier: Apache-2.0
"""Patches that read once what others may change meanwhile: a copy of a container, of an attribute,
of a context manager."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from unsnarl.patches.blocks import Function, StatementRun, covering, executed
from unsnarl.patches.conflict import Conflict, function_named, own_part
from unsnarl.patches.expressions import is_read, plain_names, replace_expressions
from unsnarl.patches.imports import member
from unsnarl.patches.locks import classes, new_name, self_name, with_bases
from unsnarl.patches.pieces import (
    functions,
    lines_of,
    made,
    names_in,
    nodes,
    whole,
)
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import LineEdits, SourceFile, UnpatchableError

# What the interpreter says if a container is changed while somebody iterates over it.
ITERATION = "during iteration"
ITERATED = "changed while iterated"
# Built-ins that call Python code, or are asked for one element at a time, while they iterate.
ITERATING = frozenset({"min", "max", "sum", "any", "all", "map", "filter", "enumerate", "zip"})
# These give an iterator, or a view, of what they are given.
LAZY = frozenset(
    {"chain", "from_iterable", "islice", "map", "filter", "enumerate", "zip", "iter", "reversed"}
    | {"items", "keys", "values"}
)
LOOPS = (ast.For, ast.While, ast.AsyncFor)


# A copy before an iteration.


def copies(conflict: Conflict) -> Iterator[Draft]:
    """`for x in list(d)`: one call, during which nobody changes the container."""
    if ITERATION not in conflict.message and conflict.finding.shape != ITERATED:
        return
    lines = lines_of(conflict)
    for source, function in functions(conflict):
        found = list(_iterated(function, conflict.at_fault))
        named = [one for one in found if (source.name, one.lineno) in lines]
        for node in named:
            yield from made(_copied_inside, source, node, conflict.at_fault)
            yield from made(_copied, source, [node])
        if len(found) > 1 or not named:
            yield from made(_copied, source, found)


def _iterated(function: Function, at_fault: frozenset[str]) -> Iterator[ast.expr]:
    """What loops, comprehensions and some built-ins go through, if it is a variable at fault."""
    through = _made_of(function, at_fault)
    for node in nodes(function):
        over: list[ast.expr] = []
        if isinstance(node, ast.For | ast.comprehension):
            over = [node.iter]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            over = node.args if node.func.id in ITERATING else []
        for one in over:
            # A comprehension and a built-in have their own iteration.
            inner = isinstance(one, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp)
            called = isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
            if not inner and not called and names_in(one) & (at_fault | through):
                yield one


def _made_of(function: Function, at_fault: frozenset[str]) -> frozenset[str]:
    """Local names for what goes through a variable at fault: `every = chain(self.one, self.two)`.

    A list of it is a copy; only what is iterated later is not.
    """
    found: dict[str, list[ast.expr]] = {}
    for node in nodes(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).append(node.value)
    return frozenset(
        name
        for name, values in found.items()
        if all(isinstance(one, ast.Call) and _is_lazy(one) for one in values)
        and any(names_in(one) & at_fault for one in values)
    )


def _is_lazy(call: ast.Call) -> bool:
    """Whether a call gives something that looks at its arguments when it is iterated."""
    return ast.unparse(call.func).rpartition(".")[2] in LAZY


def _copied(source: SourceFile, iterated: Sequence[ast.expr]) -> Draft:
    if not iterated:
        raise UnpatchableError("nothing is iterated over")
    edits = LineEdits(source)
    replace_expressions(edits, iterated, call="list")
    lines = sorted({one.lineno for one in iterated})
    says = f"iterate over a copy at {source.name}:{', :'.join(map(str, lines))}"
    return whole("copy", says, edits, len(lines))


def _copied_inside(source: SourceFile, iterated: ast.expr, at_fault: frozenset[str]) -> Draft:
    """`itervalues(d.copy())`: an iterator of `d` itself would be there before a copy of it is."""
    call = iterated if isinstance(iterated, ast.Call) else None
    found = [one for one in call.args if isinstance(one, ast.Attribute | ast.Name)] if call else []
    found = [one for one in found if names_in(one) & at_fault]
    if len(found) != 1:
        raise UnpatchableError("no function is given what is iterated over")
    edits = LineEdits(source)
    replace_expressions(edits, found, text=f"{ast.unparse(found[0])}.copy()")
    says = f"iterate over a copy at {source.name}:{found[0].lineno}"
    return whole("copy", says, edits, 1)


# An attribute that is read once.


def local_copies(conflict: Conflict) -> Iterator[Draft]:
    """`sock = self.sock` before `if sock: sock.send()`: the check is about what is used then.

    Another function of the finding that checks and uses the same is changed with it.
    """
    assigned = conflict.at_fault & _assigned(conflict)
    every = [
        VariableReads(source, function, text, found)
        for source, function in functions(conflict)
        for text, found in sorted(_reads_in(function, assigned).items())
    ]
    for reads in every:
        lines = _disturbed(conflict, reads.text.rpartition(".")[2])
        named = [one for one in reads.found if (reads.source.name, one.lineno) in lines]
        for some in (named, reads.found) if named else ():
            likewise = [one for one in every if one.is_like(reads)]
            yield from made(_read_once, reads, some, likewise) if likewise else ()
            yield from made(_read_once, reads, some)


class VariableReads(NamedTuple):
    """The reads of a variable in one function."""

    source: SourceFile
    function: Function
    text: str
    found: list[ast.expr]

    def is_like(self, other: VariableReads) -> bool:
        """Whether another function of the file asks for the same variable, and then uses it."""
        if self is other or (self.source.name, self.text) != (other.source.name, other.text):
            return False
        if not self._is_stored_elsewhere():
            return False
        lines = {one.lineno for one in self.found}
        return any(
            isinstance(node, ast.If)
            and any(is_read(one, self.text) for one in ast.walk(node.test))
            and any(is_read(one, self.text) for one in executed(node.body))
            for node in self.source.nodes
            if getattr(node, "lineno", 0) in lines
        )

    def _is_stored_elsewhere(self) -> bool:
        """Whether a function other than this one, and than those that make objects, assigns it."""
        own = {self.function.name, "__init__", "__new__"}
        return any(
            isinstance(node, ast.Attribute | ast.Name)
            and isinstance(node.ctx, ast.Store)
            and ast.unparse(node) == self.text
            for function in self.source.nodes
            if isinstance(function, Function) and function.name not in own
            for node in nodes(function)
        )


def _reads_in(function: Function, assigned: frozenset[str]) -> dict[str, list[ast.expr]]:
    reads: dict[str, list[ast.expr]] = {}
    for node in nodes(function):
        text = _variable(node, assigned, function)
        if text and isinstance(node, ast.expr):
            reads.setdefault(text, []).append(node)
    return reads


def _disturbed(conflict: Conflict, name: str) -> set[tuple[str, int]]:
    """The lines of threads which read a variable that another thread writes."""
    writers = {
        one.role for one in conflict.points if one.op != "read" and own_part(one.variable) == name
    }
    return {(one.file, one.line) for one in conflict.points if writers - {one.role}}


def _assigned(conflict: Conflict) -> set[str]:
    """Variables that the finding's writes bind to another object, not only change."""
    written = {(one.file, one.line) for one in conflict.points if one.op != "read"}
    found: set[str] = set()
    for source in conflict.sources.values():
        for node in source.nodes:
            if not isinstance(node, ast.Attribute | ast.Name) or isinstance(node.ctx, ast.Load):
                continue
            if (source.name, node.lineno) in written:
                found.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    return found


def _variable(node: ast.AST, at_fault: frozenset[str], function: Function) -> str:
    """The text of a read of a variable at fault, if it is an attribute or a global."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return ast.unparse(node) if node.attr in at_fault and _is_chain(node) else ""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in at_fault:
        return node.id if node.id not in _own_names(function) else ""
    return ""


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _own_names(function: Function) -> set[str]:
    """Names that are not those of the module: arguments, and what is assigned here."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = {one.arg for one in every}
    found = list(executed(function.body))
    names |= {
        one.id for one in found if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    return names - {name for one in found if isinstance(one, ast.Global) for name in one.names}


def _read_once(
    reads: VariableReads, between: Sequence[ast.expr], likewise: Sequence[VariableReads] = ()
) -> Draft:
    """All reads from the first to the last of some, without a loop or an assignment in between."""
    source, text = reads.source, reads.text
    name = new_name(text.rpartition(".")[2].lstrip("_") or "value", plain_names(source))
    edits = LineEdits(source)
    firsts, size = [], 0
    for one, some in ((reads, between), *((one, one.found) for one in likewise)):
        run, within = _once(one, some)
        edits.insert_before(run.first, f"{name} = {text}")
        replace_expressions(edits, within, text=name)
        firsts.append(run.first)
        size = size or len({one.lineno for one in within}) + 1
    _check_same(source, edits, name, text)
    says = f"read {text} once, before {source.name}:{', :'.join(map(str, firsts))}"
    return whole("local-copy", says, edits, size)


def _once(reads: VariableReads, between: Sequence[ast.expr]) -> tuple[StatementRun, list[ast.expr]]:
    """The statements before which a variable is read, and the reads in them."""
    text = reads.text
    lines = [one.lineno for one in between]
    run = _until_stored(covering(reads.source, min(lines), max(lines)), text)
    if any(isinstance(one, LOOPS) for one in executed(run.statements)):
        raise UnpatchableError("a loop has to see what others change")
    _check_writes(run, text)
    within = [one for one in reads.found if run.first <= one.lineno <= run.last]
    if len(within) == 1:
        raise UnpatchableError(f"{text} is read once")
    return run, within


def _check_writes(run: StatementRun, text: str) -> None:
    """Raises if something that depends on the variable is written back: that must be atomic.

    A count that is changed later in the function depends on it as well.
    """
    later = nodes(run.function) if run.function is not None else ()
    if any(isinstance(one, ast.AugAssign) and ast.unparse(one.target) == text for one in later):
        raise UnpatchableError(f"{text} is counted there")
    for node in executed(run.statements):
        written: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            written = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            written = [node.target]
        constant = isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        if not constant and any(ast.unparse(one) == text for one in written):
            raise UnpatchableError(f"{text} is written there, too")


def _until_stored(run: StatementRun, text: str) -> StatementRun:
    """Its statements up to one that assigns the variable first and reads it later."""
    kept: list[ast.stmt] = []
    for statement in run.statements:
        found = [one for one in executed([statement]) if _names(one, text)]
        stores = [one for one in found if not is_read(one, text)]
        last_read = max([_position(one) for one in found if is_read(one, text)], default=(0, 0))
        if any(_position(one) < last_read for one in stores):
            break
        kept.append(statement)
        if stores:
            break
    if not kept:
        raise UnpatchableError(f"{text} is assigned between its reads")
    return run._replace(statements=tuple(kept))


def _names(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Attribute | ast.Name) and ast.unparse(node) == text


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _check_same(source: SourceFile, edits: LineEdits, name: str, text: str) -> None:
    """Raises unless the new text is the old one once the local name is undone."""
    tree = ast.parse(edits.text())
    variable = ast.parse(text, mode="eval").body

    class Undo(ast.NodeTransformer):
        def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
            if ast.unparse(node) == f"{name} = {text}":
                return None
            return self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> ast.AST:
            return variable if node.id == name else node

    if ast.dump(Undo().visit(tree)) != ast.dump(source.tree):
        raise UnpatchableError(f"the patched {source.name} differs in more than was wanted")


# A context manager for each call.


def own_managers(conflict: Conflict) -> Iterator[Draft]:
    """`with copy.copy(self):` in a decorator that enters one object in every call.

    What `__enter__` keeps in the object for `__exit__` is then of one call, not of all.
    """
    owners = classes(conflict.sources)
    for owner, attribute in conflict.names:
        if owner not in owners or not _is_kept_for_exit(owners[owner].node, attribute):
            continue
        for name in with_bases(owner, owners):
            source = owners[name].source
            method = function_named(source, f"{name}.__call__")
            for one in _entered(method) if method is not None else ():
                yield from made(_own_manager, source, one)


def _is_kept_for_exit(node: ast.ClassDef, attribute: str) -> bool:
    """Whether `__enter__` assigns the attribute and `__exit__` reads it."""
    methods = {one.name: one for one in node.body if isinstance(one, Function)}
    enter, leave = methods.get("__enter__"), methods.get("__exit__")
    if enter is None or leave is None:
        return False

    def named(method: Function, context: type[ast.expr_context]) -> bool:
        return any(
            isinstance(one, ast.Attribute)
            and one.attr == attribute
            and isinstance(one.ctx, context)
            for one in executed(method.body)
        )

    return named(enter, ast.Store) and named(leave, ast.Load)


def _entered(method: Function) -> Iterator[ast.expr]:
    """`self` of `with self:` in the functions that a method defines."""
    me = self_name(method)
    inner = [one for one in ast.walk(method) if isinstance(one, Function) and one is not method]
    for function in inner:
        for node in executed(function.body):
            if isinstance(node, ast.With):
                for item in node.items:
                    named = isinstance(item.context_expr, ast.Name) and item.context_expr.id == me
                    if named and item.optional_vars is None:
                        yield item.context_expr


def _own_manager(source: SourceFile, node: ast.expr) -> Draft:
    edits = LineEdits(source)
    name, _ = member(edits, "copy", "copy")
    replace_expressions(edits, [node], call=name)
    says = f"enter a copy of the object in each call at {source.name}:{node.lineno}"
    return whole("own-manager", says, edits, 2)
