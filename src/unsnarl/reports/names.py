# SPDX-License-Identifier: Apache-2.0
"""What to call what a point touches: a variable, and perhaps which part of it.

What a replay saw is preferred: it knows the object, and which element. Next comes the name that
the probes noted at run time, which knows the object's real class; then what the programmer wrote;
the site's own name (an attribute, a method) is the last resort.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from unsnarl.analyses.answer import Line
from unsnarl.model.event import Op
from unsnarl.model.python_names import unmangled
from unsnarl.model.site import Point, Site
from unsnarl.model.sources import Sources
from unsnarl.reports.facts import CapturedAccess

LONGEST_NAME = 40  # of an expression
# How the names of what is under a path, or from a line, begin: the dots in them are no attributes.
PATHS = ("file ", "folder ", "block from ")
# From this share on, a line is about the cell of its finding.
SAME_CELL = 0.5
# Kinds whose segment is the variable itself; all others enclose a larger expression.
PLAIN_KINDS = ("attr_", "item_", "global_", "cell_")
# Kinds whose own name is that of the variable.
NAMED_KINDS = ("attr_", "global_", "cell_")
# What runs in a library where the program has an operator.
OPERATORS = {
    "item_read": "__getitem__",
    "item_write": "__setitem__",
    "item_delete": "__delitem__",
    "in": "__contains__",
    "len": "__len__",
    "iter": "__iter__",
}
# `read(1)` of a method that a name stands for.
CALLED = re.compile(r"(?:\w+\.)*(\w+)\(")
DISPLAYS = (ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.Constant)


class Label(NamedTuple):
    """A variable's name; `part` is an element (`['tea']`) or what is called (`.clear()`)."""

    variable: str
    part: str = ""


def label_lines(
    lines: Sequence[Line],
    points: Sequence[Point],
    seen: Sequence[CapturedAccess | None],
    sources: Sources,
) -> list[Label]:
    """Labels for the lines of one finding, so that equal variables are the same thing.

    Lines about the finding's own cell share one name: that of an element only if all of them were
    seen to touch the same one, else that of its container.
    """
    own = [_label(point, one, sources) for point, one in zip(points, seen, strict=True)]
    about = [at for at, line in enumerate(lines) if line.same_cell >= SAME_CELL]
    shared = _shared_name(lines, about, own, seen)
    element = _common_element([seen[at] for at in about])
    labels = [_joined(label, point) for label, point in zip(own, points, strict=True)]
    for at in about:
        labels[at] = Label(shared + element, "" if element else own[at].part)
    return _numbered(labels, set(about), seen)


def variable_name(point: Point, sources: Sources) -> str:
    """The name of the variable that a point touches, as a person would say it."""
    return _joined(_label(point, None, sources), point).variable


def _label(point: Point, seen: CapturedAccess | None, sources: Sources) -> Label:
    """The name of a container and its element apart; so are an object and what is called."""
    called = call_part(point, sources)
    if seen and seen.variable:
        return Label(unmangled(seen.variable), called or seen.element)
    if point.site.variable:
        return Label(unmangled(point.site.variable), called)
    written = _written(point, sources)
    if not written.variable or (
        len(written.variable) > LONGEST_NAME and not _is_dotted(written.variable)
    ):
        # Other sites are named after operators, builtins and methods.
        written = Label(point.site.name if point.site.kind.startswith(NAMED_KINDS) else "")
    return written._replace(part=called or written.part)


def _is_dotted(name: str) -> bool:
    """Whether it is a name and nothing more: that is never too long."""
    return all(part.isidentifier() for part in name.split("."))


def call_part(point: Point, sources: Sources) -> str:
    """What a call into a library calls: `.remove_section()`; by the name that its line has."""
    if point.op is not Op.CALL or point.site.kind == "library_arg":
        return ""
    site = point.site
    if site.name == "call":
        name = CALLED.match(sources.segment(site))
        return f".{name[1]}()" if name else ""
    return f".{OPERATORS.get(site.kind) or OPERATORS.get(site.name) or site.name}()"


def _joined(label: Label, point: Point) -> Label:
    """An element is a variable of its own; what is called is none."""
    return label if point.op is Op.CALL else Label(label.variable + label.part)


def _shared_name(
    lines: Sequence[Line],
    about: Sequence[int],
    own: Sequence[Label],
    seen: Sequence[CapturedAccess | None],
) -> str:
    """One name for one cell, whatever its accesses call it in the source: the ends first."""
    order = sorted(about, key=lambda at: not lines[at].is_end)
    names = [own[at].variable for at in order if own[at].variable]
    captured = [one.variable for at in order if (one := seen[at]) and one.variable]
    # A name with its class is understood everywhere, a local one only in its function.
    return next((name for name in captured if "." in name), next(iter(captured + names), ""))


def _common_element(seen: Sequence[CapturedAccess | None]) -> str:
    elements = {one.element if one else "" for one in seen}
    return elements.pop() if len(elements) == 1 else ""


def _numbered(
    labels: list[Label], about: set[int], seen: Sequence[CapturedAccess | None]
) -> list[Label]:
    """Numbers names that stand for several objects; the finding's own keeps the plain name."""
    owners: dict[str, list[int]] = {}
    numbered = list(labels)
    for at in sorted(range(len(labels)), key=lambda at: (at not in about, at)):
        one, name = seen[at], labels[at].variable
        if one is None or not one.owner or not name:
            continue
        numbers = owners.setdefault(name, [])
        if at in about and numbers:
            continue  # the same cell, whichever way it was reached
        if one.owner not in numbers:
            numbers.append(one.owner)
        number = numbers.index(one.owner) + 1
        if number > 1:
            numbered[at] = labels[at]._replace(variable=f"{name} #{number}")
    return numbered


def _written(point: Point, sources: Sources) -> Label:
    site = point.site
    line = sources.line(site.file, site.line)
    if point.op.is_sync and line.startswith(("with ", "async with ")):
        return Label(without_self(_managed(line), site.function))
    expression = _expression(site, sources.segment(site))
    if expression is None:
        return Label("")
    if site.kind.startswith("item_") and isinstance(expression, ast.Subscript):
        container = without_self(ast.unparse(expression.value), site.function)
        return Label(container, f"[{ast.unparse(expression.slice)}]")
    return Label(without_self(ast.unparse(expression), site.function))


def _expression(site: Site, segment: str) -> ast.expr | None:
    """The part of a site's text that is the variable."""
    tree = parsed_line(segment)
    if isinstance(tree, ast.stmt):
        tree = _subject(tree)
    if tree is None:
        return None
    if site.kind.startswith("method") and isinstance(tree, ast.Attribute):
        return tree.value  # of `self.items.append`, looked up before its call
    return tree if site.kind.lower().startswith(PLAIN_KINDS) else _operand(tree)


def parsed_line(segment: str) -> ast.expr | ast.stmt | None:
    """An expression or a statement; of a compound one its head is enough."""
    head = segment.partition(": ")[0]
    for text in (f"({segment}\n)", segment, f"{head}: pass", f"{segment.rstrip(':')}: pass"):
        try:
            (statement,) = ast.parse(text).body
        except (SyntaxError, ValueError):
            continue
        return statement.value if isinstance(statement, ast.Expr) else statement
    return None


def _subject(statement: ast.stmt) -> ast.expr | None:
    """The expression of a statement that its probe is about."""
    match statement:
        case ast.For(iter=expression) | ast.AsyncFor(iter=expression):
            return expression
        case ast.If(test=expression) | ast.While(test=expression) | ast.Assert(test=expression):
            return expression
        case ast.AugAssign(target=expression) | ast.Assign(value=expression):
            return expression
        case ast.Return(value=expression):
            return expression
    return None


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


def _operand(expression: ast.expr) -> ast.expr | None:
    """The object that a call, an operator or an iteration works on; None if unknown."""
    match expression:
        case ast.Call(
            func=ast.Name(id="getattr" | "hasattr" | "setattr" | "delattr"),
            args=[owner, ast.Constant(value=str(name)), *_],
        ):
            return ast.Attribute(owner, name)
        case (
            ast.Call(func=ast.Attribute(value=found))
            | ast.Call(func=ast.Name(), args=[found, *_])
            | ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[found])
            | ast.Subscript(value=found, slice=ast.Slice())
        ):
            return found
        case (
            ast.Compare(left=left, ops=[_], comparators=[right]) | ast.BinOp(left=left, right=right)
        ):
            return _named(left, right)
        case (
            ast.UnaryOp(op=ast.Not(), operand=inner)
            | ast.GeneratorExp(generators=[ast.comprehension(iter=inner)])
            | ast.ListComp(generators=[ast.comprehension(iter=inner)])
            | ast.SetComp(generators=[ast.comprehension(iter=inner)])
            | ast.DictComp(generators=[ast.comprehension(iter=inner)])
        ):
            return _operand(inner)
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call():
            return expression
    return None


def _named(left: ast.expr, right: ast.expr) -> ast.expr | None:
    """Of two operands the one that is no new value, if only one is."""
    named = [side for side in (left, right) if not isinstance(side, DISPLAYS)]
    return named[0] if len(named) == 1 else None


def without_self(name: str, function: str) -> str:
    """`self.qsize` in `Queue.size` is better known as `Queue.qsize`; so is a queue that is `self`.

    So is what `super()` leads to.
    """
    owner = class_of(function)
    if owner and name in ("self", "super()"):
        return owner
    return f"{owner}.{name.removeprefix('self.')}" if owner and name.startswith("self.") else name


def class_of(function: str) -> str:
    """The class of a method's qualified name, or "" for a plain function."""
    head, _, _ = function.rpartition(".")
    owner = head.rpartition(".")[2]
    return "" if owner == "<locals>" else owner
