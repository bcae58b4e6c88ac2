# SPDX-License-Identifier: Apache-2.0
"""What must hold of every patch before it is run: it compiles, and only the wanted part changed."""

from __future__ import annotations

import ast
import contextlib
import difflib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from unsnarl.patches.blocks import blocks_of, executed, first_line, last_line
from unsnarl.patches.source import LINES, SourceFile, UnpatchableError

# Methods that wait for other threads; a lock held meanwhile invites a deadlock.
WAITING = frozenset(
    {"wait", "result", "sleep", "shutdown", "recv", "accept", "select", "communicate"}
)
# These wait without arguments: `thread.join()`, `queue.get()`; with some they are text and dicts.
WAITING_BARE = frozenset({"join", "get"})
# A queue that may be full is given these: whoever does not want to wait for room would wait.
LIMITS = ("block", "timeout")

# Statements in which a call that waits can be replaced by what it gave before.
HOISTING = (ast.Assign, ast.AugAssign, ast.Return)


def check_holdable(
    statements: tuple[ast.stmt, ...],
    name: str,
    lock: str = "",
    hoisted: Collection[ast.Call] = (),
) -> None:
    """Raises if a lock must not be held around these statements, but for calls made before it."""
    for node in executed(statements):
        if node in hoisted:
            continue
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith):
            raise UnpatchableError(f"{name}: a lock would be held across a yield or await")
        if isinstance(node, ast.Call) and is_waiting(node, lock):
            raise UnpatchableError(f"{name}: a lock would be held around {ast.unparse(node)}")
        if isinstance(node, ast.Call) and _is_by_hand(node, lock):
            raise UnpatchableError(f"{name}: a lock is taken or let go of there by hand")


def _is_by_hand(call: ast.Call, lock: str) -> bool:
    """Whether a call takes the lock or lets go of it, or tries to take any one.

    Who tries decides by what comes of it and does not want to wait; around that, all would.
    """
    owner, _, name = ast.unparse(call.func).rpartition(".")
    if name not in ("acquire", "release"):
        return False
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "blocking")]
    tries = any(isinstance(one, ast.Constant) and one.value is False for one in given)
    return tries or bool(lock and owner == lock)


def is_waiting(call: ast.Call, lock: str = "") -> bool:
    """Whether a call waits for somebody; a condition gives up its own lock meanwhile."""
    if isinstance(call.func, ast.Name):
        return call.func.id in ("sleep", "input")
    if not isinstance(call.func, ast.Attribute):
        return False
    name = call.func.attr
    is_condition = name == "wait" and lock and ast.unparse(call.func.value) == lock
    # Of a socket: it waits for nobody.
    is_socket = name == "shutdown" and any("SHUT_" in ast.unparse(one) for one in call.args)
    if is_condition or is_socket:
        return False
    if name == "put":
        return any(one.arg in LIMITS for one in call.keywords) or any(
            isinstance(one, ast.Name) and one.id in LIMITS for one in call.args
        )
    if name in WAITING_BARE:
        positional = [one for one in call.args if not _is_number(one)]
        return not positional and all(one.arg in ("timeout", "block") for one in call.keywords)
    return name in WAITING


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def same_but_for(
    source: SourceFile, text: str, added: Collection[str], names: Mapping[str, str] | None = None
) -> None:
    """Raises unless the new text is the old one with `added` around or between its statements.

    `added` are headers (`with lock:`) and statements, each as `ast.unparse` writes it. `names` are
    new ones, with the expressions in whose place they are.
    """
    for old, new in changed_parts(source, text):
        try:
            tree = ast.parse(new)
        except (SyntaxError, ValueError) as error:
            raise UnpatchableError(f"the patched {source.name} does not compile: {error}") from None
        tree = _Inline(names or {}).visit(tree)
        if _plain(tree, added) != _plain_text(old, frozenset(added)):
            raise UnpatchableError(f"the patched {source.name} differs in more than was wanted")


def changed_parts(source: SourceFile, text: str) -> Iterator[tuple[str, str]]:
    """Old and new text of the outermost statements that differ.

    Files of thousands of lines are common, and so are dozens of drafts: comparing all of both took
    longer than to run them.
    """
    old, new = source.lines, LINES.findall(text)
    cuts = _cuts(source)
    begins = [first_line(node) for node in source.tree.body]
    parts: list[list[int]] = []  # first and last line of the old text, the same of the new
    for tag, first, last, new_first, new_last in _opcodes(old, new):
        if tag == "equal":
            continue
        begin = cuts[bisect_right(cuts, first) - 1]
        end = cuts[bisect_left(cuts, last)]
        new_begin = new_first - (first - begin)
        # Without a statement between them they may be one by now: below a new header.
        if parts and bisect_right(begins, begin) <= bisect_right(begins, parts[-1][1]):
            begin, _, new_begin, _ = parts.pop()
        parts.append([begin, end, new_begin, new_last + (end - last)])
    for begin, end, new_begin, new_end in parts:
        yield "".join(old[begin:end]), "".join(new[new_begin:new_end])


def _cuts(source: SourceFile) -> list[int]:
    """After how many lines the text can be cut without cutting one of its outermost statements."""
    inside: set[int] = set()
    for node in source.tree.body:
        inside.update(range(first_line(node), last_line(node)))
    return [line for line in range(len(source.lines) + 1) if line not in inside]


def _opcodes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    """As difflib has them; what both begin and end with needs no search."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    left = most - head
    tail = next((at for at in range(left) if old[-1 - at] != new[-1 - at]), left)
    inner = difflib.SequenceMatcher(
        None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False
    )
    return [
        (tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in inner.get_opcodes()
    ]


class _Inline(ast.NodeTransformer):
    """Puts expressions in the place of names that were read."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._names or not isinstance(node.ctx, ast.Load):
            return node
        return ast.parse(self._names[node.id], mode="eval").body


# Drafts that differ in the lines alone change the same class.
@lru_cache(maxsize=64)
def _plain_text(text: str, added: frozenset[str]) -> str:
    return _plain(ast.parse(text), added)


def _plain(tree: ast.Module, added: Collection[str]) -> str:
    """The tree without what was added, in the original too: it may have such statements."""
    _strip(tree, frozenset(added))
    # A plain lock may have become a re-entrant one.
    return ast.dump(tree).replace("'RLock'", "'Lock'")


def _strip(node: ast.AST, added: frozenset[str]) -> None:
    for block in blocks_of(node):
        kept: list[ast.stmt] = []
        for statement in block:
            _strip(statement, added)
            kept += _without(statement, added)
        block[:] = kept
    if isinstance(node, ast.While):
        _join_loop(node)


def _join_loop(node: ast.While) -> None:
    """`while test:` of `while True: if not test: break`."""
    first = node.body[0] if node.body else None
    if not isinstance(first, ast.If) or ast.unparse(node.test) != "True" or first.orelse:
        return
    if len(first.body) == 1 and isinstance(first.body[0], ast.Break):
        node.test = _negation(first.test)
        node.body[:] = node.body[1:] or [ast.Pass()]


def _negation(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)


def _without(statement: ast.stmt, added: frozenset[str]) -> list[ast.stmt]:
    if isinstance(statement, ast.With):
        items = [one for one in statement.items if f"with {ast.unparse(one)}:" not in added]
        if not items:
            return statement.body
        statement.items = items
        # `with a: with b:` and `with a, b:` are the same.
        if len(statement.body) == 1 and isinstance(statement.body[0], ast.With):
            inner = statement.body[0]
            statement.items, statement.body = [*items, *inner.items], inner.body
        return [statement]
    if isinstance(statement, ast.ImportFrom):
        names = [one for one in statement.names if not _is_new(statement, one, added)]
        statement.names = names
        return [statement] if names else []
    is_added = type(statement) in _kinds(added) and ast.unparse(statement) in added
    return [] if is_added else [statement]


def _is_new(statement: ast.ImportFrom, name: ast.alias, added: frozenset[str]) -> bool:
    module = f"{'.' * statement.level}{statement.module or ''}"
    return f"from {module} import {ast.unparse(name)}" in added


@lru_cache(maxsize=64)
def _kinds(added: frozenset[str]) -> frozenset[type[ast.stmt]]:
    """What the added statements are: to write down all others took most of a draft's time."""
    kinds: set[type[ast.stmt]] = set()
    for text in added:
        with contextlib.suppress(SyntaxError):  # a header
            kinds.update(type(one) for one in ast.parse(text).body)
    return frozenset(kinds)
