# SPDX-License-Identifier: Apache-2.0
"""What a patch starts from: the lines, variables and locks that a finding names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from unsnarl.model.python_names import shown_function
from unsnarl.model.report import Finding, FindingPoint
from unsnarl.patches.blocks import Function, LineSpan, covering
from unsnarl.patches.checks import HOISTING, check_holdable
from unsnarl.patches.locks import plain_name, self_name
from unsnarl.patches.source import SourceFile, UnpatchableError

ACCESSES = ("read", "write", "call")
LOCKING = ("acquire", "wait")
FAIL = "fail"
MAIN = "0"
# Shapes of findings in which threads wait for each other, whether or not the program ends so.
WAITING = ("lock held while waiting", "lock-order deadlock")
SELF = "self"
MODULE_CODE = "<module>"  # the function of what a module executes
FRAME = re.compile(r"(?P<file>.+):(?P<line>\d+) in (?P<function>.+)")
LINES = re.compile(r"(?P<file>.+):(?P<first>\d+)(?:-(?P<last>\d+))?")
# `names` of `names[2]`, `x` of `Config.x.y`: the variable itself, then what of it.
PARTS = re.compile(r"[\[(].*")
TESTS = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.py$")
# What has a frame of its own and no name.
UNNAMED = re.compile(r"((\.<locals>)?\.<(listcomp|setcomp|dictcomp|genexpr|lambda)>)+$")

LAMBDA = "<lambda>"


class CallLine(NamedTuple):
    """A line of a function that was being executed."""

    file: str
    line: int
    function: str


class ConflictPoints:
    """What a finding says, in whatever language its program is."""

    finding: Finding

    @property
    def points(self) -> Sequence[FindingPoint]:
        """What it consists of."""
        return self.finding.explanation or self.finding.points

    @property
    def accesses(self) -> list[FindingPoint]:
        """Those points that touch the variables at fault."""
        wanted = {PARTS.sub("", one) for one in self.variables}
        points = [one for one in self.points if one.op in ACCESSES]
        return [one for one in points if plain_name(whole_name(one)) in wanted] or points

    @property
    def conflicting(self) -> list[FindingPoint]:
        """Accesses of variables that several roles touch and one writes.

        Without what the main thread reads at the end, when it has joined the others.
        """
        shared: dict[str, set[int]] = {}
        written = set()
        for point in self.accesses:
            shared.setdefault(whole_name(point), set()).add(point.role)
            if point.op != "read":
                written.add(whole_name(point))
        found = [
            one
            for one in self.holdable
            if whole_name(one) in written and len(shared[whole_name(one)]) > 1
        ]
        while found and found[-1].thread == MAIN and found[-1].op == "read":
            found.pop()
        return found

    @property
    def is_deadlock(self) -> bool:
        """Whether its threads wait for each other."""
        return self.finding.kind == "deadlock"

    @property
    def lock_names(self) -> list[str]:
        """The locks of a deadlock, by their plain names."""
        found = [plain_name(one.variable) for one in self.points if one.op in LOCKING]
        return list(dict.fromkeys(one for one in found if one))

    @property
    def holdable(self) -> list[FindingPoint]:
        """The accesses around which a lock can be held: a call that waits cannot be in one.

        Nor is what a lambda does, if it is called later than where it stands.
        """
        return [one for one in self.accesses if not (self.waits(one) or is_deferred(one))]

    def waits(self, point: FindingPoint) -> bool:
        """Whether the statement of a point waits for another thread."""
        raise NotImplementedError

    @property
    def at_fault(self) -> frozenset[str]:
        """The attributes and names of the variables."""
        own = {SELF} if any(map(_own_container, self.accesses)) else set()
        return frozenset(name for _, name in self.names) | own

    @property
    def variables(self) -> list[str]:
        """By their plain names: `Account.amount`."""
        return list(dict.fromkeys(plain_name(one) for one in self.finding.variables))

    @property
    def names(self) -> list[tuple[str, str]]:
        """For each variable the class, if it is an attribute, and its own name."""
        found = []
        for variable in self.variables:
            owner, _, name = PARTS.sub("", variable).rpartition(".")
            found.append((owner.rpartition(".")[2], name))
        return list(dict.fromkeys(found))

    @property
    def owners(self) -> list[str]:
        """The classes whose objects the variables belong to.

        An object that is a container itself is called by its class in its methods: it is one of
        theirs.
        """
        found = [owner for owner, _ in self.names if owner]
        found += map(_own_container, self.accesses)
        return list(dict.fromkeys(one for one in found if one))


@dataclass(frozen=True)
class Conflict(ConflictPoints):
    """A finding, and the source of the Python files that it names."""

    finding: Finding
    sources: Mapping[str, SourceFile]
    message: str = ""  # of the failure

    def waits(self, point: FindingPoint) -> bool:
        """See ConflictPoints."""
        source = self.sources.get(point.file)
        try:
            run = covering(source, point.line, point.line) if source is not None else None
            # What such a call gives can be had before the lock is taken.
            simple = run is not None and isinstance(run.statements[0], HOISTING)
            check_holdable(run.statements if run and not simple else (), "")
        except UnpatchableError:
            return True
        return False


def _own_container(point: FindingPoint) -> str:
    """The class in a method of which an object is accessed as a container; "" if it is not."""
    own = point.function.rpartition(".")[0].rpartition(".")[2]
    return own if PARTS.sub("", plain_name(point.variable)) in (SELF, own) else ""


def whole_name(point: FindingPoint) -> str:
    """The variable without what of it: a key and the structure of a dict conflict."""
    return PARTS.sub("", point.variable)


def own_part(variable: str) -> str:
    """`sock` of `Client.sock #2`: its name without owner, counter and what of it."""
    return PARTS.sub("", plain_name(variable)).rpartition(".")[2]


def load(finding: Finding, root: Path, message: str = "") -> Conflict:
    """Read the files that a finding names; one that cannot be read is left out."""
    names = dict.fromkeys(files_of(finding))
    sources = {}
    for name in names:
        path = root / name
        if path.suffix in (".py", ".pyw") and path.is_file():
            try:
                sources[name] = SourceFile(path, name)
            except UnpatchableError:
                continue
    return Conflict(finding, sources, message)


def files_of(finding: Finding) -> Iterator[str]:
    """The files that a finding names."""
    fix = finding.fix
    if fix is not None:
        yield from (fix.begin.file, fix.end.file)
        if fix.lock_site:
            yield fix.lock_site.rpartition(":")[0]
        yield from (span.file for span in map(parsed, fix.others) if span is not None)
    for point in (*finding.explanation, *finding.points):
        yield from (frame.file for frame in frames(point))


def parsed(text: str) -> LineSpan | None:
    """The lines that `bank.py:14-17` names."""
    found = LINES.fullmatch(text)
    if found is None:
        return None
    first = int(found["first"])
    return LineSpan(found["file"], first, int(found["last"] or first))


def frames(point: FindingPoint) -> list[CallLine]:
    """Where a point is, and the calls that led to it, innermost first."""
    found = [FRAME.fullmatch(one) for one in point.stack]
    outer = [CallLine(one["file"], int(one["line"]), one["function"]) for one in found if one]
    return [CallLine(point.file, point.line, point.function), *outer]


def is_deferred(point: FindingPoint) -> bool:
    """Whether a lambda makes the access after the statement that it stands in has ended."""
    if not point.function.endswith(LAMBDA):
        return False
    outer = UNNAMED.sub("", f".{point.function}").removeprefix(".") or MODULE_CODE
    return all((one.file, one.function) != (point.file, outer) for one in frames(point)[1:])


# Which lines must be protected.


def span_sets(conflict: Conflict) -> Iterator[tuple[LineSpan, ...]]:
    """Sets of lines that may have to be atomic."""
    yield from named_spans(conflict)
    every = [functions_of(conflict.accesses)]
    within = [one for one in conflict.accesses if one.file not in outer_files(conflict)]
    if len(within) < len(conflict.accesses):
        every.append(functions_of(within))
        yield tuple(_of_roles([one for one in conflict.holdable if one in within]))
    for functions in every:
        yield tuple(accesses_in(conflict, functions))
        yield tuple(accesses_in(conflict, functions, calls=True))


def named_spans(conflict: ConflictPoints) -> Iterator[tuple[LineSpan, ...]]:
    """Those that the experiments and the points name."""
    fix = conflict.finding.fix
    if fix is not None and fix.kind == "region" and fix.begin.file == fix.end.file:
        own = LineSpan(fix.begin.file, fix.begin.line, max(fix.begin.line, fix.end.line))
        deferred = {(one.file, one.line) for one in conflict.points if is_deferred(one)}
        others = [
            span
            for span in map(parsed, fix.others)
            if span is not None and (span.file, span.first) not in deferred
        ]
        yield (own,)
        yield (own, *others)
        yield (own, *others, *_of_roles(conflict.holdable))
    roles = tuple(_of_deadlock(conflict) if conflict.is_deadlock else _of_roles(conflict.holdable))
    yield from ((one,) for one in roles)
    yield roles


def _of_roles(accesses: Iterable[FindingPoint]) -> Iterator[LineSpan]:
    """For each role the lines from its first to its last access, in a function that has all."""
    by_role: dict[int, list[FindingPoint]] = {}
    for point in accesses:
        by_role.setdefault(point.role, []).append(point)
    for points in by_role.values():
        span = _common(points)
        if span is not None:
            yield span


def _of_deadlock(conflict: ConflictPoints) -> Iterator[LineSpan]:
    """For each role the lines from its first lock to the one that it waits for."""
    by_role: dict[int, list[FindingPoint]] = {}
    for point in conflict.points:
        if point.op in LOCKING:
            by_role.setdefault(point.role, []).append(point)
    found = (_common(points) for points in by_role.values())
    yield from dict.fromkeys(span for span in found if span is not None)


def _common(points: Sequence[FindingPoint]) -> LineSpan | None:
    every = [frames(point) for point in points]
    for frame in every[0]:
        same = [
            [one.line for one in some if (one.file, one.function) == (frame.file, frame.function)]
            for some in every
        ]
        if all(same):
            lines = [one[0] for one in same]
            return LineSpan(frame.file, min(lines), max(lines))
    return None


def functions_of(points: Iterable[FindingPoint]) -> set[tuple[str, str]]:
    """The functions of some points, by file."""
    return {(one.file, one.function) for one in points}


def outer_files(conflict: ConflictPoints) -> set[str]:
    """Tests, and the script that is run: what they access alone only shows the failure."""
    begins = [frames(one)[-1] for one in conflict.points if one.thread == MAIN]
    scripts = {one.file for one in begins if one.function == MODULE_CODE}
    every = {frame.file for point in conflict.points for frame in frames(point)}
    return scripts | set(filter(TESTS.search, every))


def seen_outside(conflict: ConflictPoints) -> set[str]:
    """The variables that only tests and scripts access, if there are others."""
    outer = outer_files(conflict)
    inside = {whole_name(one) for one in conflict.accesses if one.file not in outer}
    return {whole_name(one) for one in conflict.accesses} - inside if inside else set()


def without_onlookers(
    conflict: ConflictPoints, points: Sequence[FindingPoint]
) -> list[FindingPoint]:
    """Without accesses that tests and scripts make themselves, where the others are a conflict.

    They look at what came of it; even a look can be a call that changes something (`os.umask(0)`,
    `queue.get()`).
    """
    outer = outer_files(conflict)
    inside = [one for one in points if one.file not in outer]
    names = {whole_name(one) for one in points if one.file in outer}
    return inside if all(_conflict_about(name, inside) for name in names) else list(points)


def _conflict_about(name: str, points: Sequence[FindingPoint]) -> bool:
    """Whether several roles access a variable, and one of them changes it."""
    own = [one for one in points if whole_name(one) == name]
    return len({one.role for one in own}) > 1 and any(one.op != "read" for one in own)


def accesses_in(
    conflict: Conflict, functions: Iterable[tuple[str, str]], *, calls: bool = False
) -> Iterator[LineSpan]:
    """In each function the lines from the first to the last that names a variable at fault.

    With `calls`, also those that call another one of the functions, which is then left out itself:
    what it does is done under the caller's lock.
    """
    every = sorted(set(functions))
    called = {own_name(name) for _, name in every} if calls else set()
    found: dict[tuple[str, str], LineSpan] = {}
    inner: set[str] = set()
    for file, qualified in every:
        source = conflict.sources.get(file)
        function = function_named(source, qualified) if source is not None else None
        if function is None or function.name == "__init__":
            continue
        others = called - {function.name}
        inner |= {name for _, name in called_names(function) if name in others}
        lines = [*naming(function, conflict.at_fault)]
        lines += [line for line, name in called_names(function) if name in others]
        if lines:
            found[file, qualified] = LineSpan(file, min(lines), max(lines))
    for (_, qualified), span in found.items():
        if own_name(qualified) not in inner:
            yield span


def naming(function: Function, names: frozenset[str]) -> Iterator[int]:
    """The lines of a function that name one of the variables."""
    for node in ast.walk(function):
        if (isinstance(node, ast.Attribute) and node.attr in names) or (
            isinstance(node, ast.Name) and node.id in names
        ):
            yield node.lineno


@lru_cache(maxsize=4096)
def called_names(function: Function) -> tuple[tuple[int, str], ...]:
    """The calls of functions and of the object's own methods: their lines and names.

    Other objects may have a method of the same name.
    """
    me = self_name(function)
    found = []
    for node in ast.walk(function):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name):
            found.append((called.lineno, called.id))
        elif isinstance(called, ast.Attribute) and me and ast.unparse(called.value) == me:
            found.append((called.lineno, called.attr))
    return tuple(found)


def own_name(qualified: str) -> str:
    """`book` of `Account.book`, also for a comprehension in it."""
    return UNNAMED.sub("", qualified).rpartition(".")[2]


def function_named(source: SourceFile, qualified: str) -> Function | None:
    """The function of this qualified name: `Account.book`, `main.worker`.

    A comprehension or a lambda is part of the function that it stands in.
    """
    return _functions(source).get(shown_function(UNNAMED.sub("", qualified)))


@lru_cache(maxsize=64)
def _functions(source: SourceFile) -> Mapping[str, Function]:
    found: dict[str, Function] = {}

    def walk(body: Sequence[ast.AST], prefix: str) -> None:
        for node in body:
            if isinstance(node, Function):
                found.setdefault(prefix + node.name, node)
                walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.ClassDef):
                walk(node.body, f"{prefix}{node.name}.")
            else:
                walk(list(ast.iter_child_nodes(node)), prefix)

    walk(source.tree.body, "")
    return found
