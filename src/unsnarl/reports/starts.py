# SPDX-License-Identifier: Apache-2.0
"""The line that started a thread too early: what it needs was set behind that line.

`thread.start()` and then `self.slot = slot`: neither the access that came too early nor the one
that came too late says how the thread could be there already.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from unsnarl.model.report import FindingPoint
from unsnarl.placement.local_names import Function, own_nodes
from unsnarl.reports.calls import CallFrame, call_step, step_count
from unsnarl.reports.patterns import MOST_STEPS, WRITES

STARTED = "Thread.start"


def with_start(
    points: Sequence[FindingPoint], text: Callable[[str], str], line: Callable[[str, int], str]
) -> list[FindingPoint]:
    """With the start before the access of the thread that was started, if there is room."""
    shown = list(points)
    if step_count(shown) >= MOST_STEPS:
        return shown
    for at, early in enumerate(points):
        late = next((one for one in points[at + 1 :] if _is_set_late(early, one)), None)
        start = start_line(text(late.file), late.line) if late else 0
        if late and start:
            frame = CallFrame(late.file, start, late.function)
            shown.insert(at, call_step(late, frame, STARTED, line))
            break
    return shown


def _is_set_late(early: FindingPoint, late: FindingPoint) -> bool:
    """Whether who started a thread sets what that one has read."""
    if early.op != "read" or late.op not in WRITES or early.setup or late.setup:
        return False
    parent, _, number = early.thread.rpartition(".")
    return bool(number) and parent == late.thread and early.variable == late.variable


def start_line(source: str, line: int) -> int:
    """The only statement of its function, before the line, that starts a thread; 0 if unclear."""
    around = [one for one in _functions(source) if one.lineno < line <= (one.end_lineno or 0)]
    if not around:
        return 0
    function = max(around, key=lambda one: one.lineno)
    found = [
        node.lineno
        for node in own_nodes(function)
        if isinstance(node, ast.Expr) and node.lineno < line and _starts(node.value)
    ]
    return found[0] if len(found) == 1 else 0


def _functions(source: str) -> list[Function]:
    try:
        return [node for node in ast.walk(ast.parse(source)) if isinstance(node, Function)]
    except (SyntaxError, ValueError):
        return []  # not Python


def _starts(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    return isinstance(node.func, ast.Attribute) and node.func.attr == "start"
