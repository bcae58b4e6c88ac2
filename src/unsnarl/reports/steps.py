# SPDX-License-Identifier: Apache-2.0
"""From a finding's points to the few numbered steps that a person reads.

The points that make the bug and the failing line are always kept; the room that is left goes to
other accesses of the same variables, then to what happened in between. Adjacent points of one
thread on one line become one step.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from unsnarl.model.report import Finding, FindingPoint
from unsnarl.reports.names import PATHS
from unsnarl.reports.paths import shown_path
from unsnarl.reports.patterns import (
    ACQUIRE,
    CALL,
    ENTER,
    FAIL,
    MOST_STEPS,
    NO_EVENTS,
    RELEASE,
    SYNC,
    TIMEOUT,
    WAIT,
    core,
    gives_back,
    is_data,
)

# Accesses of other variables before and after the bug rarely help: they get less room.
STEPS_WITH_SURROUNDINGS = 6
LONGEST_VALUE = 48
SET_UP = "set-up"
UNSET = "<unset>"  # the value of what is not there: an element, an attribute, a name
NOT_THERE, GONE = "(not there)", "(gone)"  # in words
CALLED = re.compile(r"(?:\.|\b(?=pthread_|cnd_|sem_))(\w+)\(")
TOO_LATE = "too late"  # of an access that the end of the process prevented


@dataclasses.dataclass(frozen=True)
class Step:
    """One printed line: a thread, a source line, and what happened there.

    Attributes:
        failing: Whether something was raised there that matters.
        swallowed: What, if the program caught it: `KeyError, caught at helpers.py:18`.
    """

    number: int
    thread: str
    role: int
    file: str
    line: int
    text: str
    what: str
    mark: str
    failing: bool
    points: tuple[FindingPoint, ...]
    swallowed: str = ""


def explanation(finding: Finding) -> tuple[FindingPoint, ...]:
    """The few points, in time order, that a person should read."""
    return tuple(point for step in brief_steps(finding) for point in step.points)


def brief_steps(finding: Finding) -> list[Step]:
    """What was proved to matter; else at most eight steps.

    These are the bug, the failing line and the most relevant accesses around it.
    """
    if finding.orders:
        shown = [at for at, point in enumerate(finding.explanation) if not point.setup]
        return _steps(finding.explanation, _grouped(finding.explanation, shown))
    points = finding.points
    kept = set(_essential(points))
    for index in _candidates(points, kept):
        room = MOST_STEPS if _priority(points, index, kept) < 2 else STEPS_WITH_SURROUNDINGS
        if len(_grouped(points, kept | {index})) <= room:
            kept.add(index)
    # If the essential ones are too many already, the latest stay: they are nearest to the failure.
    return _steps(points, _grouped(points, kept)[-MOST_STEPS:])


def passing_steps(finding: Finding, steps: Sequence[Step]) -> list[Step]:
    """The nearest passing run as steps, each with its number in the failing one."""
    if finding.nearest is None:
        return []
    points = finding.nearest.points
    numbers = {_name(point): step.number for step in steps for point in step.points}
    found = _steps(points, _grouped(points, range(len(points))))
    return [replace(step, number=numbers.get(_name(step.points[0]), 0)) for step in found]


def _name(point: FindingPoint) -> tuple[str, str, int, str]:
    return point.thread, point.file, point.line, point.op


def step_of(finding: Finding, steps: Sequence[Step], position: int) -> int:
    """The number of the step that has the point at a position of the explanation, from 1.

    0 if the point is part of the set-up, which has no numbers.
    """
    point = finding.explanation[position - 1]
    return next((step.number for step in steps if _has(step, point)), 0)


def _has(step: Step, point: FindingPoint) -> bool:
    # Equal points may be two rounds of a loop.
    return any(one is point for one in step.points)


def setup_orders(finding: Finding) -> int:
    """How many of the proved orders are about the set-up, and not among the steps."""
    setup = [point.setup for point in finding.explanation]
    return sum(setup[before - 1] or setup[after - 1] for before, after in finding.orders)


def all_steps(finding: Finding) -> list[Step]:
    """Every point of the finding, as steps; of a proved one those that matter."""
    if finding.orders:
        brief = brief_steps(finding)
        every = _steps(
            finding.explanation, _grouped(finding.explanation, range(len(finding.explanation)))
        )
        return [_numbered(step, brief) for step in every]
    return _steps(finding.points, _grouped(finding.points, range(len(finding.points))))


def _numbered(step: Step, brief: Sequence[Step]) -> Step:
    """With the number that it has without the set-up; a step of the set-up has none."""
    same = (one.number for one in brief if any(_has(one, point) for point in step.points))
    number = next(same, 0)
    return replace(step, number=number, mark=step.mark if number else SET_UP)


def core_steps(finding: Finding, steps: Sequence[Step]) -> list[Step]:
    """Those of the steps that make the bug; of a proved explanation those that are ordered."""
    if finding.orders:
        ordered = {
            step_of(finding, steps, position) for pair in finding.orders for position in pair
        }
        return [step for step in steps if step.number and step.number in ordered]
    wanted = [finding.points[i] for i in core(finding.points)]
    return [step for step in steps if any(p == w for p in step.points for w in wanted)]


def clean(text: str) -> str:
    """One line of printable text: what a target printed must not steer the terminal."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def _essential(points: Sequence[FindingPoint]) -> list[int]:
    return [*core(points), *(i for i, point in enumerate(points) if point.op in NO_EVENTS)]


def _candidates(points: Sequence[FindingPoint], kept: set[int]) -> list[int]:
    rest = [i for i in range(len(points)) if i not in kept and _matters(points, i, kept)]
    middle = sum(kept) / len(kept) if kept else 0.0
    return sorted(
        rest,
        key=lambda i: (_priority(points, i, kept), -points[i].confidence, abs(i - middle), i),
    )


def _matters(points: Sequence[FindingPoint], index: int, kept: set[int]) -> bool:
    """Data, what lets others into a lock, and taking a lock that is the variable at fault."""
    point = points[index]
    is_at_fault = point.op == ACQUIRE and point.variable in {points[i].variable for i in kept}
    return is_data(point) or gives_back(point) or is_at_fault


def _priority(points: Sequence[FindingPoint], index: int, kept: set[int]) -> int:
    if gives_back(points[index]) or points[index].variable in {points[i].variable for i in kept}:
        return 0
    return 1 if points[index].region == "body" else 2


def _grouped(points: Sequence[FindingPoint], kept: Iterable[int]) -> list[list[int]]:
    """Runs of kept points that one thread passed on one line."""
    groups: list[list[int]] = []
    for index in sorted(kept):
        if groups and _is_one(points[groups[-1][-1]], points[index]):
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def _is_one(before: FindingPoint, point: FindingPoint) -> bool:
    """Whether two points make one step: on one line, or a call and what was done in it."""
    is_inside = point.within and before.op == ENTER and before.thread == point.thread
    return is_inside or _position(before) == _position(point)


def _position(point: FindingPoint) -> tuple[str, str, int]:
    return point.thread, point.file, point.line


def _steps(points: Sequence[FindingPoint], groups: list[list[int]]) -> list[Step]:
    names = _short_names([points[i] for group in groups for i in group])
    seen: dict[tuple[str, str, str], str] = {}
    steps = []
    for number, group in enumerate(groups, 1):
        members = tuple(points[i] for i in group)
        mark = _mark(members, seen)
        steps.append(_step(number, members, mark, names))
    return steps


def _short_names(points: Sequence[FindingPoint]) -> dict[str, str]:
    """What to call each variable; nothing, if there is only one.

    The title has their whole names: `_created` is enough, unless another one ends like it.
    """
    variables = list(dict.fromkeys(point.variable for point in points if is_data(point)))
    if len(variables) < 2:
        return {}
    last = {name: _last_name(name) for name in variables}
    ends = list(last.values())
    return {name: end if ends.count(end) == 1 else name for name, end in last.items()}


def _last_name(variable: str) -> str:
    """`_created` of `Binding._created`; what is in brackets or quotes, and calls, stay whole."""
    head, bracket, rest = variable.partition("[")
    if variable.startswith(PATHS) or "(" in head:
        return variable
    return head.rpartition(".")[2] + bracket + rest if head.isascii() else variable


def _step(
    number: int, members: tuple[FindingPoint, ...], mark: str, names: Mapping[str, str]
) -> Step:
    first = members[0]
    words = dict.fromkeys(_words([point for point in members if point.op != FAIL], names))
    return Step(
        number,
        first.thread,
        first.role,
        first.file,
        first.line,
        clean(first.text),
        ", ".join(words),
        mark,
        any(point.op == FAIL for point in members),
        members,
        "; ".join(_swallowed(point) for point in members if point.caught),
    )


def _swallowed(point: FindingPoint) -> str:
    """`KeyError, caught at helpers.py:18`; only `:18` in the file of the step."""
    file, _, line = point.caught.rpartition(":")
    where = f":{line}" if file == point.file else shown_path(point.caught)
    return f"{point.value}, caught at {where}"


def _words(points: Sequence[FindingPoint], names: Mapping[str, str]) -> Iterator[str]:
    """What was done, with the variable's name only where it changes."""
    before = ""
    for at, point in enumerate(points):
        if point.op == "read" and _is_called(points[at + 1 : at + 2], point.variable):
            continue  # whoever calls a method of something has read it
        if point.op == ACQUIRE and not point.variable and len(points) > 1:
            continue  # a lock of a library's own, on the way to what the line does
        is_same = is_data(point) and point.value is not None and point.variable == before
        if is_same and _is_repeated(points[at - 1], point):
            continue  # what is in it, after the variable that has it
        what = _what(point, "" if is_same else names.get(point.variable, ""))
        yield f"{what} at {_line_of(point, points[0])}{_code(point)}" if point.within else what
        before = point.variable


def _line_of(point: FindingPoint, first: FindingPoint) -> str:
    """Where it is, if the step stands for the line of a call: `:736` in the same file."""
    same = point.file == first.file
    return f":{point.line}" if same else f"{shown_path(point.file)}:{point.line}"


def _code(point: FindingPoint) -> str:
    """The source of an access that stands on the line of a call, which has its own."""
    text = clean(point.text)
    return f": {text.removesuffix(':')}" if text else ""


def _is_repeated(before: FindingPoint, point: FindingPoint) -> bool:
    return (before.op, before.part, before.value) == (point.op, point.part, point.value)


def _is_called(points: Sequence[FindingPoint], variable: str) -> bool:
    return any(point.op == CALL and point.variable == variable for point in points)


def _what(point: FindingPoint, name: str) -> str:
    """`read 1`, or `read qsize = 1` where several variables are shown."""
    if point.op == TIMEOUT:
        return f"time limit of {point.value} ran out"
    if point.op == ENTER:
        return f"calls {_called(clean(point.value or ''))}"
    if point.op == WAIT and point.awaits:
        return f"waits {clean(point.awaits)}"
    value, part = _short(point.value), clean(point.part)
    if point.value == UNSET:
        value, name = GONE if point.op == "write" else NOT_THERE, name or point.variable
    if point.op in SYNC or point.op == CALL or not (value or part):
        name = name or point.variable
    if point.op in (ACQUIRE, RELEASE) and (not name or gives_back(point)):
        return _library_lock(point, clean(name))
    touched = f"{clean(name)}{part}"
    if touched:
        return f"{point.op} {touched}" + (f" = {value}" if value else "")
    return f"{point.op} {value}".strip()


def _library_lock(point: FindingPoint, name: str) -> str:
    """What a library does to a lock, its own or one that it was given, on a line of the program."""
    if gives_back(point):
        begin = f"calls {_called(clean(point.awaits))}, which waits" if point.awaits else "waits,"
        return f"{begin} and releases {name or 'its lock'} meanwhile"
    called = CALLED.findall(point.text)
    return f"calls {called[-1]}()" if called else f"{point.op} a lock of a library"


def _called(function: str) -> str:
    """`Lock.release`; of a function in a function only its own name, which its line has as well."""
    head, _, last = function.rpartition(".")
    owner = head.rpartition(".")[2]
    return f"{owner}.{last}" if owner.lstrip("_")[:1].isupper() else last


def _mark(members: tuple[FindingPoint, ...], seen: dict[tuple[str, str, str], str]) -> str:
    """`was 1` where a thread reads another value than it last read or wrote itself."""
    mark = TOO_LATE if all(point.due for point in members) else ""
    for point in members:
        if point.value is None or point.op in (*NO_EVENTS, WAIT):
            continue
        key = (point.thread, point.variable, point.part)
        before = seen.get(key)
        if point.op == "read" and before is not None and before != point.value:
            mark = f"was {NOT_THERE if before == UNSET else _short(before)}"
        seen[key] = point.value
    return mark


def _short(value: str | None) -> str:
    """A long value without its middle: two of them often differ only at the end."""
    text, half = clean(value or ""), LONGEST_VALUE // 2
    return text if len(text) <= LONGEST_VALUE else f"{text[:half]}…{text[1 - half :]}"
