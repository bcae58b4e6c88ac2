# SPDX-License-Identifier: Apache-2.0
"""How a value gets from one statement of a Python function to another, by its syntax tree.

An approximation in the order of the lines: names carry values, tests decide, loops go round once.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator

from unsnarl.placement.local_names import Function, end, own_nodes

Block = Function | ast.Module
LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)
# Built-in functions that go through what they are given.
GOES_THROUGH = (
    "list",
    "tuple",
    "set",
    "dict",
    "frozenset",
    "sorted",
    "sum",
    "min",
    "max",
    "any",
    "all",
    "enumerate",
    "map",
    "filter",
    "join",
)
WAITS = ("wait", "wait_for", "sleep")
COPIES = ("list", "tuple", "sorted", "set", "dict", "copy", "frozenset")
# What is new: nobody else can have it before it is stored.
MAKES = (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp)
# By custom, classes have capitals; of those that have none, the containers.
CLASSES = (*COPIES, "defaultdict", "deque", "bytearray", "cls")
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BINDS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)


def parsed(text: str) -> ast.Module | None:
    """The tree of a file; None for what is no Python."""
    try:
        with warnings.catch_warnings(action="ignore"):  # the program's own, and said elsewhere
            return ast.parse(text) if text else None
    except (SyntaxError, ValueError):
        return None


def alone(text: str, line: int) -> ast.stmt | None:
    """What a single line of source is, as far as that is known without the others."""
    text = text.removeprefix("el") if text.startswith("elif ") else text
    tree = parsed(text) or (parsed(f"{text} pass") if text.endswith(":") else None)
    if tree is None or not tree.body:
        return None
    return ast.increment_lineno(tree.body[0], line - 1)


def test_of(statement: ast.stmt) -> ast.expr | None:
    """What a statement decides by; a loop over numbers, how often."""
    if isinstance(statement, ast.If | ast.While | ast.Assert):
        return statement.test
    if isinstance(statement, ast.For) and _counts(statement.iter):
        return statement.iter
    return statement.subject if isinstance(statement, ast.Match) else None


def _counts(node: ast.AST) -> bool:
    """Whether an expression is about how much there is, not about what."""
    return isinstance(node, ast.Call) and called_name(node) in ("range", "len")


def goes_through(node: ast.AST, name: str) -> bool:
    """Whether whoever iterates over an expression goes through what has this name.

    Of a comprehension, that is what it goes through itself: it only looks at each element.
    """
    if _counts(node):
        return False
    parts = ast.iter_child_nodes(node)
    if isinstance(node, COMPREHENSIONS):
        parts = iter([one.iter for one in node.generators])
    return is_named(node, name) or any(goes_through(part, name) for part in parts)


def has_line(node: ast.expr, line: int) -> bool:
    """Whether an expression has a line."""
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def mentions(node: ast.AST, name: str) -> bool:
    """Whether an expression has a name, or an attribute of that name."""
    return any(is_named(part, name) for part in ast.walk(node))


def is_named(node: ast.AST, name: str) -> bool:
    """Whether an expression is a name, or an attribute of that name."""
    if isinstance(node, ast.Attribute):
        return node.attr == name
    return isinstance(node, ast.Name) and node.id == name


def leads(block: Block, statement: ast.stmt, first: int, last: int, name: str) -> bool:
    """Whether what a statement read on the first line decided that its function came to the last.

    It was tested there, or later by another name, or the last line handles what the first one
    raised.
    """
    if first == last:
        return decides_within(statement, name)
    is_test = is_tested(statement, first, name) and controls(block, statement, last)
    return is_test or is_tried(block, first, last) or is_decided_later(block, statement, last)


def is_tested(statement: ast.stmt, line: int, name: str) -> bool:
    """Whether what is read on a line of a statement decides what the statement does next."""
    test = test_of(statement)
    if test is not None and has_line(test, line):
        return True
    return any(mentions(part, name) for part in _conditions(statement))


def _conditions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The conditions inside of a statement's own expressions."""
    for node in _own_parts(statement):
        if isinstance(node, ast.IfExp):
            yield node.test
        elif isinstance(node, ast.BoolOp):
            yield from node.values[:-1]
        elif isinstance(node, ast.comprehension):
            yield from node.ifs


def _own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement; of a compound one, those of its head."""
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield from ast.walk(child)


def is_answer(statement: ast.stmt) -> bool:
    """Whether it gives yes or no: a comparison, or the opposite of something."""
    return any(
        isinstance(node, ast.Compare | ast.Not) for node in ast.walk(statement)
    ) and isinstance(statement, ast.Return)


def decides_within(statement: ast.stmt, name: str) -> bool:
    """Whether one expression has both: a condition on a name, and another use of it."""
    for node in _own_parts(statement):
        if isinstance(node, ast.BoolOp):
            parts = [part for part in node.values if mentions(part, name)]
            if len(parts) > 1:
                return True
        if isinstance(node, ast.IfExp) and mentions(node.test, name):
            return mentions(node.body, name) or mentions(node.orelse, name)
    return False


def is_tried(block: Block, tried: int, handled: int) -> bool:
    """Whether a thread comes to a line only by what was raised on another one, in a `try`."""
    return any(
        isinstance(node, ast.Try)
        and node.body[0].lineno <= tried <= end(node.body[-1])
        and (
            _is_handled(node, handled)
            or (_leaves(node.orelse or node.body) and handled > end(node))
        )
        for node in own_nodes(block)
    )


def _is_handled(node: ast.Try, line: int) -> bool:
    return any(part.lineno <= line <= end(part.body[-1]) for part in node.handlers)


def _leaves(block: list[ast.stmt]) -> bool:
    """Whether whoever comes to the end of a block does not go on behind it."""
    last = block[-1] if block else None
    if isinstance(last, ast.With | ast.AsyncWith):
        return _leaves(last.body)
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, LEAVES)


def _waits(block: list[ast.stmt]) -> bool:
    """Whether a block waits until others have done something."""
    calls = (node for one in block for node in ast.walk(one) if isinstance(node, ast.Call))
    return any(called_name(call) in WAITS for call in calls)


def controls(block: Block, statement: ast.stmt, line: int) -> bool:
    """Whether a test leads to a line: in a branch of it, past one that leaves, by what it sets."""
    test = test_of(statement)
    if test is None or line <= (test.end_lineno or test.lineno):
        return False
    # Behind a loop, its test was false in the end.
    if line <= end(statement) or isinstance(statement, ast.Assert | ast.While):
        return True
    if not isinstance(statement, ast.If):
        return False
    branches = (statement.body, statement.orelse)
    if any(_leaves(branch) or _waits(branch) for branch in branches):
        return True
    made = {name for branch in branches for one in branch for name in bound(one)}
    last = statement_at(block, line)
    return last is not None and bool(made & used(last))


def statement_at(block: Block, line: int) -> ast.stmt | None:
    """The innermost statement that has a line."""
    around = [
        node
        for node in own_nodes(block)
        if isinstance(node, ast.stmt) and node.lineno <= line <= end(node)
    ]
    return max(around, key=lambda node: (node.lineno, -end(node)), default=None)


def is_decided_later(block: Block, statement: ast.stmt, line: int) -> bool:
    """Whether a name that carries what a statement read is tested on the way to a line."""
    return any(
        (test := test_of(one)) is not None and names & _names(test) and controls(block, one, line)
        for one, names in _onwards(block, statement, line, strict=False)
    )


def guarding(block: Block, first: int, last: int, name: str) -> Iterator[ast.expr]:
    """The tests of the same variable, before the first line, that lead to the last one."""
    for one in own_nodes(block):
        test = test_of(one) if isinstance(one, ast.stmt) else None
        if not isinstance(one, ast.stmt) or test is None or (test.end_lineno or 0) > first:
            continue
        if name and mentions(test, name) and controls(block, one, last):
            yield test


def carrying(block: Block, statement: ast.stmt, line: int, *, strict: bool) -> set[str]:
    """The names that carry what a statement read to a line.

    What is bound anew on some ways only carries it still, unless `strict`.
    """
    *_, (_, names) = _onwards(block, statement, line, strict=strict)
    return names


def _onwards(
    block: Block, statement: ast.stmt, line: int, *, strict: bool
) -> Iterator[tuple[ast.stmt, set[str]]]:
    """The statements between a statement and a line, each with the names that carry its value."""
    names = set(bound(statement))
    between = sorted(
        (
            node
            for node in own_nodes(block)
            if isinstance(node, ast.stmt) and statement.lineno < node.lineno < line
        ),
        key=lambda node: node.lineno,
    )
    for one in between:
        yield one, names
        made = set(bound(one)) if isinstance(one, BINDS) else set()
        if made and (used(one) & names or isinstance(one, ast.AugAssign)):
            names = names | (made if used(one) & names else set())
        elif strict or not _is_branched(block, one, line):
            names = names - made
    yield ast.Pass(lineno=line), names


def _is_branched(block: Block, statement: ast.stmt, line: int) -> bool:
    """Whether a statement is in a branch that a later line is not in."""
    return any(
        isinstance(node, BRANCHES)
        and node.lineno < statement.lineno <= end(node)
        and not node.lineno <= line <= end(node)
        for node in own_nodes(block)
    )


def bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, `self.path` too; of a compound one, its head does."""
    for node in _own_parts(statement):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield ast.unparse(node)


def used(statement: ast.stmt) -> set[str]:
    """The names that a statement uses; of a compound one, its head does."""
    return {name for part in ast.iter_child_nodes(statement) if not isinstance(part, ast.stmt)
            for name in _names(part)}  # fmt: skip


def _names(node: ast.AST) -> set[str]:
    return {
        ast.unparse(part)
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Load)
    }


def values(statement: ast.stmt) -> list[ast.expr]:
    """What a statement stores: the right side of an assignment, or the arguments of its calls."""
    if isinstance(statement, ast.Assign | ast.AugAssign):
        return [statement.value]
    if isinstance(statement, ast.AnnAssign):
        return [statement.value] if statement.value else []
    calls = [node for node in _own_parts(statement) if isinstance(node, ast.Call)]
    return [part for call in calls for part in (*call.args, *(one.value for one in call.keywords))]


def stores(statement: ast.stmt, names: Iterable[str]) -> bool:
    """Whether what a statement stores is computed from one of the names."""
    return any(set(names) & _names(value) for value in values(statement))


def fills(block: Block, made: ast.stmt, last: ast.stmt) -> bool:
    """Whether a statement puts something into what another one has made, and stored for others."""
    if not isinstance(made, ast.Assign) or not is_new(block, made):
        return False
    stored = {ast.unparse(one) for one in (*made.targets, made.value)}
    return any(
        ast.unparse(part.value) in stored
        for part in _own_parts(last)
        if isinstance(part, ast.Attribute | ast.Subscript)
        and (isinstance(part.ctx, ast.Store) or _is_called(last, part))
    )


def is_new(block: Block, statement: ast.stmt) -> bool:
    """Whether what it stores is new: made in its line, or by the last one that bound its name."""
    if not isinstance(statement, ast.Assign):
        return False
    value = statement.value
    if not isinstance(value, ast.Name):
        return _makes(value)
    bound_before = [
        node
        for node in own_nodes(block)
        if isinstance(node, ast.Assign)
        and node.lineno < statement.lineno
        and value.id in bound(node)
    ]
    latest = max(bound_before, key=lambda node: node.lineno, default=None)
    return latest is not None and _makes(latest.value)


def _makes(node: ast.expr) -> bool:
    """Whether an expression makes something new: a display, or a call of a class."""
    called = called_name(node).lstrip("_") if isinstance(node, ast.Call) else ""
    return isinstance(node, MAKES) or called[:1].isupper() or called in CLASSES


def _is_called(statement: ast.stmt, node: ast.AST) -> bool:
    calls = (part for part in _own_parts(statement) if isinstance(part, ast.Call))
    return any(call.func is node for call in calls)


def is_bare(statement: ast.stmt) -> bool:
    """Whether it stores what a name stands for, and computes nothing."""
    return all(isinstance(value, ast.Name) for value in values(statement))


def updates(statement: ast.stmt, name: str) -> bool:
    """Whether one statement reads a variable and stores it again."""
    if isinstance(statement, ast.AugAssign):
        return True
    if not isinstance(statement, ast.Assign):
        return False
    return mentions(statement.value, name) and any(mentions(t, name) for t in statement.targets)


def is_copy(node: ast.expr) -> bool:
    """Whether an expression takes a copy of a container as a whole: `list(…)`, `….copy()`."""
    return isinstance(node, ast.Call) and called_name(node) in COPIES


def gone_through(statement: ast.stmt) -> Iterator[ast.expr]:
    """What comprehensions and built-in functions in a statement go through."""
    for node in _own_parts(statement):
        if isinstance(node, ast.comprehension):
            yield node.iter
        elif isinstance(node, ast.Call) and called_name(node) in GOES_THROUGH:
            yield from node.args


def called_name(node: ast.Call) -> str:
    """The name of what is called."""
    called = node.func
    return called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
