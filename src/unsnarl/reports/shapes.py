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
from unsnarl.reports.paths import short_files
from unsnarl.reports.patterns import (
    CALL,
    WAIT,
    closes,
    conflicts,
    ends,
    is_data,
    mode,
    sets,
    whole,
)
from unsnarl.reports.shape_sentences import SENTENCES
from unsnarl.reports.waits import NEVER_RELEASED

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
    "lock never released",
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
EMPTY = re.compile(r"(None|NULL|nullptr|False|0|\[\]|\{\}|\(\)|''|\"\"|<unset>)$")
# What a look-up gives where there is nothing yet.
ABSENT = re.compile(r"(None|<unset>)$")
# What is stored there is new: a name or what a call returns, not computed from what was there.
STORES_NEW = re.compile(r".*\]\s*=\s*[\w.]+(\(.*\))?$")
LOOKS_UP = re.compile(r".*(\.get\(|\w\[[^\]]*\]$)")
MAKES = re.compile(r"[\w.]+\s*=\s*[\w.]+\(.*\)$")
BINDS = re.compile(r"(\w+)\s*(?::[^=]+)?=(?!=)")
FAR = 200  # lines between reading something and storing what came of it
PLAIN = re.compile(r"[^=!<>]*[^=!<>]=[^=]|.*[-+*/|&^]=")


@dataclass(frozen=True)
class _Conflict:
    """The accesses that make the bug: mine around the other thread's, or one of each."""

    points: tuple[FindingPoint, ...]
    text: Text
    length: int
    elements: tuple[str, ...] = ()

    def ends_last(self, point: FindingPoint) -> bool:
        """Whether it ends the use of what the last access uses: not of another element."""
        if not _ends_use(point):
            return False
        elements = dict(zip(map(id, self.points), self.elements, strict=False))
        ended, used = elements.get(id(point), ""), elements.get(id(self.last), "")
        return not ended or ended == used

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

    @property
    def others(self) -> list[FindingPoint]:
        """Those of the thread that came in between."""
        return [point for point in self.points if point.thread != self.first.thread]

    def checks(self, point: FindingPoint) -> bool:
        """Whether a line decides something; of a getter, the line that called it."""
        line = point.text
        if line.startswith("return") and point.stack:
            line = self._caller(point) or line
        return bool(CHECK.match(" " + line.removeprefix("return ")) or CHECK.match(line))

    def looks(self, point: FindingPoint) -> bool:
        """Whether it changes nothing: it reads, or asks to decide by the answer."""
        return mode(point) == "R" or (point.op == CALL and self.checks(point))

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
    files = short_files([point.file for point in finding.explanation or finding.points])
    shown = [replace(point, file=files.get(point.file, point.file)) for point in points]
    return shape, SENTENCES[shape](shown, names)


def shape_of(
    failure: FailureReport, finding: Finding, text: Text
) -> tuple[Shape, tuple[FindingPoint, ...]] | None:
    """The shape and the accesses that it is about."""
    points = finding.explanation if finding.orders else finding.points
    waits = tuple(point for point in points if point.op == WAIT and not point.setup)
    if waits:
        return _stuck(waits), waits
    shown = [point for point in points if is_data(point) and not point.setup]
    data = [replace(point, variable=whole(point.variable)) for point in shown]
    about = {whole(name) for name in finding.variables}
    elements = [_element(point) for point in shown]
    found = [(_shape(failure, one), one) for one in _conflicts(data, elements, text)]
    if found:
        shape, chosen = min(found, key=lambda one: _preference(one[0], one[1], about))
        return shape, chosen.points
    pairs = ((_order(failure, pair), pair.points) for pair in _pairs(finding, points, text))
    return next(((name, pair) for name, pair in pairs if name is not None), None)


def _preference(shape: Shape, found: _Conflict, about: set[str]) -> tuple[int, ...]:
    """Less is better: about all that the finding is about, by what it is called, tight."""
    apart = found.first.function != found.last.function
    # Further up in the same function means another call of it, or another round of a loop.
    turned = not apart and found.first.line > found.last.line and len(found.variables) > 1
    return turned, -len(about & found.variables), PRIORITY.index(shape), apart, found.length


def _stuck(waits: Sequence[FindingPoint]) -> Shape:
    """By what the threads hold and wait for: locks only, a lock and something else, no lock."""
    if all(point.why.endswith(NEVER_RELEASED) for point in waits):
        return "lock never released"
    held = {lock for point in waits for lock in point.locks}
    if len(waits) > 1 and all(point.variable in held for point in waits):
        return "lock-order deadlock"
    if held:
        return "lock held while waiting"
    results = [point for point in waits if point.awaits.startswith("for the result")]
    return "starvation" if len(results) == len(waits) > 1 else "missed signal"


def _conflicts(
    data: Sequence[FindingPoint], elements: Sequence[str], text: Text
) -> Iterator[_Conflict]:
    """Every broken atomicity; the latest first, which is nearest to the failure."""
    for pick in sorted(conflicts(data), reverse=True, key=lambda pick: pick[::-1]):
        parts = tuple(elements[i] for i in pick)
        yield _Conflict(tuple(data[i] for i in pick), text, pick[-1] - pick[0], parts)


def _element(point: FindingPoint) -> str:
    """`['tea']` of an access to an element; "" for a variable or a whole container."""
    own = point.variable[len(whole(point.variable)) :]
    return own or (point.part if point.part.startswith("[") else "")


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


def _says_iterated(failure: FailureReport) -> bool:
    """Whether the interpreter itself noticed it; the program may have caught what it said."""
    said = (failure.message, *(one.message for one in failure.chain))
    return any(ITERATED.search(text) for text in said)


def _is_iteration(failure: FailureReport, found: _Conflict) -> bool:
    if _says_iterated(failure):
        return True
    first, last = found.first, found.last
    same = (first.file, first.line) == (last.file, last.line)
    return same and mode(last) == "R" and bool(LOOP.match(first.text))


def _single(found: _Conflict) -> Shape:
    """By Falcon's table of triples, and by what the first line does with what it read.

    Who stores what it computed from what it had read loses an update; who stores something else
    because of what it had read acted on a check.
    """
    if found.modes == "RWW" and _is_computed(found):
        return "lost update"
    looks = found.checks(found.first) and mode(found.first) == "R"
    if looks or _is_asked(found) or _found_nothing(found):
        return "check-then-act"
    if mode(found.last) == "R" and any(map(found.ends_last, found.others)):
        return "used after close"
    if found.modes == "WRW":
        return "published before initialised" if _is_empty(found.first) else UNFINISHED
    if found.modes == "RWW" or _overwrites(found):
        return "lost update"
    return UNFINISHED if found.modes == "WWW" and not _is_set_anew(found) else "stale read"


def _is_computed(found: _Conflict) -> bool:
    """Whether a local name carries what the first line read to the line that writes.

    What is computed with such a name carries it as well; one that is bound anew does not.
    """
    first, last = found.first, found.last
    bound = BINDS.match(first.text)
    is_one = (first.file, first.function) == (last.file, last.function)
    if bound is None or not is_one or not 0 < last.line - first.line < FAR:
        return False
    carrying = {bound[1]}
    for line in range(first.line + 1, last.line):
        text = found.text(first.file, line)
        rebound = BINDS.match(text)
        if rebound and _uses(text, carrying):
            carrying.add(rebound[1])
        elif rebound:
            carrying.discard(rebound[1])
    return _uses(last.text, carrying)


def _uses(assignment: str, names: set[str]) -> bool:
    """Whether one of the names is on the right side of an assignment."""
    return bool(names & set(re.findall(r"\w+", assignment.partition("=")[2])))


def _found_nothing(found: _Conflict) -> bool:
    """Whether a thread looked something up, found nothing, and put its own there."""
    if found.modes != "RWW" or found.first.line == found.last.line:
        return False
    if found.first.value is not None:
        return bool(ABSENT.match(found.first.value))
    looks_up = LOOKS_UP.match(found.first.text) and STORES_NEW.match(found.last.text)
    return bool(looks_up) or _stores_own(found)


def _stores_own(found: _Conflict) -> bool:
    """Whether a function that had looked at a variable puts something made there into it."""
    first, last = found.first, found.last
    made = MAKES.match(last.text)
    is_one = (first.file, first.function) == (last.file, last.function)
    name = last.variable.rpartition(".")[2]
    return bool(made) and is_one and not _uses(last.text, {name})


def _is_set_anew(found: _Conflict) -> bool:
    """Whether a thread sets the state of an object, another one does, and the first one uses it."""
    return sets(found.first) and any(map(sets, found.others)) and not sets(found.last)


def _ends_use(point: FindingPoint) -> bool:
    """Whether it closes something, or leaves nothing behind."""
    gone = re.search(r"=\s*(None|NULL|nullptr);?$", point.text)
    return closes(point) or (point.op == "write" and bool(gone))


def _is_asked(found: _Conflict) -> bool:
    """Whether the first line calls something to decide by its answer."""
    return found.first.op == CALL and found.checks(found.first)


def _several(found: _Conflict) -> Shape:
    """One thread is between its accesses of two variables when another comes."""
    if mode(found.first) == "R" and found.checks(found.first):
        return "check-then-act"
    if mode(found.first) == "W":
        if any(_is_missing(point, found) for point in found.others) and not _is_empty(found.first):
            return "published before initialised"
        if found.first.op == CALL and all(map(found.looks, found.others)):
            return UNFINISHED
    elif any(map(closes, found.others)):
        return "used after close"
    return "two variables out of step"


def _is_missing(point: FindingPoint, found: _Conflict) -> bool:
    """Whether somebody read what was still to come, and found nothing."""
    is_last = point.variable == found.last.variable
    return is_last and mode(point) == "R" and bool(EMPTY.match(point.value or ""))


def _order(failure: FailureReport, found: _Conflict) -> Shape | None:
    """Two accesses alone: it was gone already, or it was not there yet."""
    first, last = found.first, found.last
    if "W" in found.modes and _says_iterated(failure):
        return "changed while iterated"
    if mode(first) == "W" and (closes(first) or _sets_nothing(first)):
        return "used after close"
    early = last.due or EMPTY.match(first.value or "<unset>")
    if (mode(first), mode(last)) == ("R", "W") and early:
        return "published before initialised"
    return None


def _sets_nothing(point: FindingPoint) -> bool:
    return bool(re.search(r"=\s*(None|NULL|nullptr|0);?$", point.text))


def _is_empty(point: FindingPoint) -> bool:
    """Whether a write leaves nothing behind: by its value, else by what its line assigns."""
    if point.value is not None:
        return bool(EMPTY.match(point.value))
    return bool(EMPTY.match(point.text.rstrip(";").rpartition("=")[2].strip()))


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


def _who(failure: FailureReport, point: FindingPoint) -> str:
    """The thread's name; with its path where others have the same one."""
    name = failure.threads.get(point.thread) or "thread"
    alike = sum(other == name for other in failure.threads.values())
    return name if name != "thread" and alike == 1 else f"{name} {point.thread}"
