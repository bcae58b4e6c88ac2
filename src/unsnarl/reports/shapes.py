# SPDX-License-Identifier: Apache-2.0
"""The shape of a bug in the words that engineers use, and one sentence that says what happened.

A shape follows from the conflict, who touched what between whose accesses, and from what the source
lines do: check, iterate, close. docs/shapes.md has a paragraph and a picture for each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from msgspec.structs import replace

from unsnarl.model.report import FailureReport, Finding, FindingPoint
from unsnarl.reports.paths import shown_path
from unsnarl.reports.patterns import CALL, WAIT, conflicts, ends, is_data, mode, whole

Shape = Literal[
    "lost update",
    "check-then-act",
    "stale read",
    "unfinished change seen",
    "two variables out of step",
    "published before initialised",
    "used after close",
    "changed while iterated",
    "missed signal",
    "lock-order deadlock",
    "lock held while waiting",
    "starvation",
]
# Where several conflicts could be named, the more specific name: what a line does says more than
# in which order threads read and wrote.
PRIORITY: tuple[Shape, ...] = (
    "changed while iterated",
    "check-then-act",
    "published before initialised",
    "used after close",
    "two variables out of step",
    "lost update",
    "stale read",
    "unfinished change seen",
)
UNFINISHED: Shape = "unfinished change seen"
Text = Callable[[str, int], str]

CHECK = re.compile(
    r"(el)?if\b|while\b|assert\b"
    r"|(?!.*\bfor\b).*(\s(if|not|in|is)\s|[=!<>]=|\s[<>]\s)"
)
LOOP = re.compile(
    r"(async )?for\b|.*[\[({].*\bfor\b.*\bin\b|.*\b(list|tuple|set|dict|sorted|sum)\("
)
ITERATED = re.compile(r"changed size during iteration|mutated during iteration")
CLOSE = re.compile(
    r"\.?_?(close|shutdown|stop|terminate|dispose|free|delete|destroy|disconnect|release|exit)",
    re.IGNORECASE,
)
EMPTY = re.compile(r"(None|NULL|nullptr|False|0|\[\]|\{\}|\(\)|''|\"\"|<unset>)$")
PLAIN = re.compile(r"[^=!<>]*[^=!<>]=[^=]|.*[-+*/|&^]=")


@dataclass(frozen=True)
class _Conflict:
    """The accesses that make the bug: mine around the other thread's, or one of each."""

    points: tuple[FindingPoint, ...]
    text: Text
    length: int

    @property
    def variables(self) -> set[str]:
        return {point.variable for point in self.points}

    @property
    def first(self) -> FindingPoint:
        return self.points[0]

    @property
    def last(self) -> FindingPoint:
        return self.points[-1]

    @property
    def modes(self) -> str:
        return "".join(map(mode, self.points))

    def checks(self, point: FindingPoint) -> bool:
        """Whether a line decides something; of a getter, the line that called it."""
        line = point.text
        if line.startswith("return") and point.stack:
            line = self._caller(point) or line
        return bool(CHECK.match(" " + line.removeprefix("return ")) or CHECK.match(line))

    def _caller(self, point: FindingPoint) -> str:
        where, _, _ = point.stack[0].partition(" in ")
        file, _, number = where.rpartition(":")
        return self.text(file, int(number)) if number.isdigit() else ""


def shape_and_summary(failure: FailureReport, finding: Finding, text: Text) -> tuple[str, str]:
    """The shape of a finding and its sentence; two empty strings for what fits none."""
    found = shape_of(failure, finding, text)
    if found is None:
        return "", ""
    shape, points = found
    names = [_who(failure, point) for point in points]
    return shape, SENTENCES[shape](points, names)


def shape_of(
    failure: FailureReport, finding: Finding, text: Text
) -> tuple[Shape, tuple[FindingPoint, ...]] | None:
    """The shape and the accesses that it is about."""
    points = finding.explanation if finding.orders else finding.points
    waits = tuple(point for point in points if point.op == WAIT)
    if waits:
        return _stuck(waits), waits
    data = [replace(point, variable=whole(point.variable)) for point in points if is_data(point)]
    about = {whole(name) for name in finding.variables}
    found = [(_shape(failure, one), one) for one in _conflicts(data, text)]
    if found:
        shape, chosen = min(found, key=lambda one: _preference(one[0], one[1], about))
        return shape, chosen.points
    pairs = ((_order(pair), pair.points) for pair in _pairs(finding, points, text))
    return next(((name, pair) for name, pair in pairs if name is not None), None)


def _preference(shape: Shape, found: _Conflict, about: set[str]) -> tuple[int, ...]:
    """Less is better: about all that the finding is about, by what it is called, tight."""
    apart = found.first.function != found.last.function
    return -len(about & found.variables), PRIORITY.index(shape), apart, found.length


def _stuck(waits: Sequence[FindingPoint]) -> Shape:
    """By what the threads hold and wait for: locks only, a lock and something else, no lock."""
    held = {lock for point in waits for lock in point.locks}
    if len(waits) > 1 and all(point.variable in held for point in waits):
        return "lock-order deadlock"
    if held:
        return "lock held while waiting"
    results = [point for point in waits if point.awaits.startswith("for the result")]
    return "starvation" if len(results) == len(waits) > 1 else "missed signal"


def _conflicts(data: Sequence[FindingPoint], text: Text) -> Iterator[_Conflict]:
    """Every broken atomicity; the latest first, which is nearest to the failure."""
    for pick in sorted(conflicts(data), reverse=True, key=lambda pick: pick[::-1]):
        yield _Conflict(tuple(data[i] for i in pick), text, pick[-1] - pick[0])


def _pairs(finding: Finding, points: Sequence[FindingPoint], text: Text) -> Iterator[_Conflict]:
    """Two accesses of one variable by two threads: as proved, as ranked, as they came."""
    proved = [(points[before - 1], points[after - 1]) for before, after in finding.orders]
    ranked = [tuple(points[i] for i in ends(points))]
    data = [point for point in points if is_data(point)]
    for pair in [*proved, *ranked, *pairwise(data)]:
        if len(pair) != 2 or not all(map(is_data, pair)):
            continue
        one, other = pair
        if one.thread != other.thread and whole(one.variable) == whole(other.variable):
            yield _Conflict((one, other), text, 1)


def _shape(failure: FailureReport, found: _Conflict) -> Shape:
    if _is_iteration(failure, found):
        return "changed while iterated"
    if len(found.variables) > 1:
        return _several(found)
    return _single(found)


def _is_iteration(failure: FailureReport, found: _Conflict) -> bool:
    if ITERATED.search(failure.message):
        return True
    first, last = found.first, found.last
    same = (first.file, first.line) == (last.file, last.line)
    return same and mode(last) == "R" and bool(LOOP.match(first.text))


def _single(found: _Conflict) -> Shape:
    """By Falcon's table of triples, and by what the first line does with what it read."""
    if (found.checks(found.first) and mode(found.first) == "R") or _is_asked(found):
        return "check-then-act"
    if found.modes == "WRW":
        return "published before initialised" if _is_empty(found.first) else UNFINISHED
    if found.modes == "RWW" or _overwrites(found):
        return "lost update"
    return UNFINISHED if found.modes == "WWW" else "stale read"


def _is_asked(found: _Conflict) -> bool:
    """Whether the first line calls something to decide by its answer."""
    return found.first.op == CALL and found.checks(found.first)


def _several(found: _Conflict) -> Shape:
    """One thread is between its accesses of two variables when another comes."""
    if mode(found.first) == "R" and found.checks(found.first):
        return "check-then-act"
    if mode(found.first) == "W":
        seen = [point for point in found.points if point.thread != found.first.thread]
        if any(mode(point) == "R" and EMPTY.match(point.value or "") for point in seen):
            return "published before initialised"
    elif any(_closes(point) for point in found.points if point.thread != found.first.thread):
        return "used after close"
    return "two variables out of step"


def _order(found: _Conflict) -> Shape | None:
    """Two accesses alone: it was gone already, or it was not there yet."""
    first, last = found.first, found.last
    if mode(first) == "W" and (_closes(first) or _sets_nothing(first)):
        return "used after close"
    early = last.due or EMPTY.match(first.value or "<unset>")
    if (mode(first), mode(last)) == ("R", "W") and early:
        return "published before initialised"
    return None


def _closes(point: FindingPoint) -> bool:
    last = point.function.rpartition(".")[2]
    named = CLOSE.match(last) or CLOSE.search(point.text)
    return mode(point) == "W" and (bool(named) or point.text.startswith("del "))


def _sets_nothing(point: FindingPoint) -> bool:
    return bool(re.search(r"=\s*(None|NULL|nullptr|0);?$", point.text))


def _is_empty(point: FindingPoint) -> bool:
    return bool(EMPTY.match(point.value or "") or EMPTY.search(point.text.rstrip(";")))


def _overwrites(found: _Conflict) -> bool:
    """Whether the writes set the variable, as opposed to changing what it contains."""
    return (
        all(
            point.op == "write" and not point.part and bool(PLAIN.match(point.text))
            for point in found.points
            if mode(point) == "W"
        )
        and found.modes != "RWR"
    )


# The sentences.

Sentence = Callable[[Sequence[FindingPoint], Sequence[str]], str]


def _who(failure: FailureReport, point: FindingPoint) -> str:
    """The thread's name; with its path where others have the same one."""
    name = failure.threads.get(point.thread) or "thread"
    alike = sum(other == name for other in failure.threads.values())
    return name if name != "thread" and alike == 1 else f"{name} {point.thread}"


def _at(point: FindingPoint) -> str:
    return f"{shown_path(point.file).rpartition('/')[2]}:{point.line}"


def _other(points: Sequence[FindingPoint]) -> int:
    """The access of the other thread that decides: its last write, else its last."""
    other = [at for at, point in enumerate(points) if point.thread != points[0].thread]
    return ([at for at in other if mode(points[at]) == "W"] or other)[-1]


def _variable(point: FindingPoint) -> str:
    return f"{point.variable}{point.part if point.part.startswith('[') else ''}"


def _lost(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    first, last = points[0], points[-1]
    did = "read" if mode(first) == "R" else "wrote"
    if mode(last) == "W":
        end = f"wrote it at {_at(last)} from what it had {did} before: that write is lost"
        return (
            f"{names[other]} wrote {_variable(points[other])} at {_at(points[other])} after "
            f"{names[0]} had {did} it at {_at(first)}; then {names[0]} {end}."
        )
    return (
        f"{names[0]} wrote {_variable(first)} at {_at(first)}; {names[other]} overwrote it at "
        f"{_at(points[other])} before it was read at {_at(last)}."
    )


def _checked(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    return (
        f"{names[0]} checked {_variable(points[0])} at {_at(points[0])} and acted on it at "
        f"{_at(points[-1])}; in between, {names[other]} changed {_variable(points[other])} at "
        f"{_at(points[other])}."
    )


def _stale(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    first, last = _at(points[0]), _at(points[-1])
    where = f"twice at {first}" if first == last else f"at {first} and at {last}"
    return (
        f"{names[0]} used {_variable(points[0])} {where} as if it were the same; in "
        f"between, {names[other]} changed it at {_at(points[other])}."
    )


def _unfinished(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    return (
        f"{names[0]} was between two changes of {_variable(points[0])} ({_at(points[0])} and "
        f"{_at(points[-1])}) when {names[other]} used it at {_at(points[other])}."
    )


def _out_of_step(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    both = " and ".join(dict.fromkeys(_variable(point) for point in (points[0], points[-1])))
    return (
        f"{both} belong together; {names[0]} was between the two ({_at(points[0])} and "
        f"{_at(points[-1])}) when {names[other]} came, at {_at(points[other])}."
    )


def _published(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    if points[0].thread != points[-1].thread:
        late = ", too late" if points[-1].due else " only later"
        return (
            f"{names[0]} used {_variable(points[0])} at {_at(points[0])} before it was ready: "
            f"{names[-1]} sets it at {_at(points[-1])}{late}."
        )
    other = next(at for at, point in enumerate(points) if point.thread != points[0].thread)
    return (
        f"{names[0]} made {_variable(points[0])} visible at {_at(points[0])} before its value was "
        f"ready at {_at(points[-1])}; {names[other]} used it in between, at {_at(points[other])}."
    )


def _closed(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    closing = next((at for at, point in enumerate(points) if _closes(point)), _other(points[::-1]))
    if points[0].thread != points[-1].thread:
        closing = 0
    return (
        f"{names[closing]} ended the use of {_variable(points[closing])} at "
        f"{_at(points[closing])}; {names[-1]} still used it at {_at(points[-1])}."
    )


def _iterated(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    return (
        f"{names[0]} was iterating over {points[0].variable} at {_at(points[0])} when "
        f"{names[other]} changed it at {_at(points[other])}."
    )


def _missed(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    return (
        f"{names[-1]} waits {_awaited(points[-1])} at {_at(points[-1])}, and nobody is left who "
        "would give it."
    )


def _holding(point: FindingPoint) -> str:
    return f"holds {' and '.join(point.locks)} and " if point.locks else ""


def _awaited(point: FindingPoint) -> str:
    return point.awaits or f"for {point.variable or 'something'}"


def _waiting(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    return (
        "; ".join(
            f"{name} holds {' and '.join(point.locks)} and waits for "
            f"{point.variable or 'something'} at {_at(point)}"
            if point.locks
            else f"{name} waits for {point.variable or 'something'} at {_at(point)}"
            for point, name in zip(points, names, strict=True)
        )
        + "."
    )


SENTENCES: dict[Shape, Sentence] = {
    "lost update": _lost,
    "check-then-act": _checked,
    "stale read": _stale,
    "unfinished change seen": _unfinished,
    "two variables out of step": _out_of_step,
    "published before initialised": _published,
    "used after close": _closed,
    "changed while iterated": _iterated,
    "missed signal": _missed,
    "lock-order deadlock": _waiting,
    "lock held while waiting": _waiting,
    "starvation": _waiting,
}
