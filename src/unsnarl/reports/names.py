# SPDX-License-Identifier: Apache-2.0
"""What to call the variable of a point.

The name that the probes noted at run time knows the object's real class and is preferred; next
comes what the programmer wrote; the site's own name (an attribute, a method) is the last resort.
"""

from __future__ import annotations

import ast

from unsnarl.model.site import Point, Site
from unsnarl.reports.source import Sources

LONGEST_NAME = 40
# Kinds whose segment is the variable itself; all others enclose a larger expression.
PLAIN_KINDS = ("attr_", "item_", "global_", "cell_")


def variable_name(point: Point, sources: Sources) -> str:
    """The name of the variable that a point touches, as a person would say it."""
    site = point.site
    if site.variable:
        return site.variable
    line = sources.line(site.file, site.line)
    if point.op.is_sync and line.startswith(("with ", "async with ")):
        written = _without_self(_managed(line), site.function)
    else:
        written = _written_name(site, sources.segment(site))
    return written if 0 < len(written) <= LONGEST_NAME else site.name


def _written_name(site: Site, segment: str) -> str:
    try:
        expression = ast.parse(segment, mode="eval").body
    except (SyntaxError, ValueError):
        return ""
    if site.kind.startswith("method") and isinstance(expression, ast.Attribute):
        expression = expression.value  # of `self.items.append`, looked up before its call
    elif not site.kind.lower().startswith(PLAIN_KINDS):
        expression = _operand(expression)
    return _without_self(ast.unparse(expression), site.function)


def _managed(statement: str) -> str:
    """What a with statement enters first."""
    try:
        tree = ast.parse(statement.removeprefix("async ") + " pass")
    except (SyntaxError, ValueError):
        return ""
    match tree.body:
        case [ast.With(items=[first, *_])]:
            return ast.unparse(first.context_expr)
    return ""


def _operand(expression: ast.expr) -> ast.expr:
    """The object that a call, a membership test or an iteration works on."""
    match expression:
        case ast.Call(func=ast.Attribute(value=receiver)):
            return receiver
        case ast.Call(func=ast.Name(), args=[first, *_]):
            return first
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[container]):
            return container
        case ast.Subscript(value=container, slice=ast.Slice()):
            return container
    return expression


def _without_self(name: str, function: str) -> str:
    """`self.qsize` in `Queue.size` is better known as `Queue.qsize`."""
    owner = class_of(function)
    return f"{owner}.{name.removeprefix('self.')}" if owner and name.startswith("self.") else name


def class_of(function: str) -> str:
    """The class of a method's qualified name, or "" for a plain function."""
    head, _, _ = function.rpartition(".")
    owner = head.rpartition(".")[2]
    return "" if owner == "<locals>" else owner
