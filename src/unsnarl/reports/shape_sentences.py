# SPDX-License-Identifier: Apache-2.0
"""What happened, in one sentence per shape, with the program's own names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from unsnarl.model.report import FindingPoint, UndoneWork
from unsnarl.reports.patterns import CALL, closes, mode
from unsnarl.reports.steps import UNSET

NOTHING = re.compile(r"=\s*(None|NULL|nullptr|0);?$")
Sentence = Callable[[Sequence[FindingPoint], Sequence[str]], str]


def _at(point: FindingPoint) -> str:
    return f"{point.file}:{point.line}"


def _other(points: Sequence[FindingPoint]) -> int:
    """The access of the other thread that decides: its last write, else its last."""
    other = [at for at, point in enumerate(points) if point.thread != points[0].thread]
    return ([at for at in other if mode(points[at]) == "W"] or other)[-1]


def _variable(point: FindingPoint) -> str:
    return f"{point.variable}{point.part if point.part.startswith('[') else ''}"


def _lost(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    first, last = points[0], points[-1]
    if first.thread != last.thread:
        return (
            f"{names[0]} wrote {_variable(first)} at {_at(first)}; {names[-1]} did not know of it "
            f"and overwrote it at {_at(last)}."
        )
    other = _other(points)
    if mode(last) == "R":
        return (
            f"{names[0]} wrote {_variable(first)} at {_at(first)}; {names[other]} overwrote it at "
            f"{_at(points[other])} before {names[0]} read it at {_at(last)}."
        )
    reads = mode(first) == "R"
    end = "wrote it from the old value" if reads else "overwrote it"
    return (
        f"{names[other]} wrote {_variable(points[other])} at {_at(points[other])} after "
        f"{names[0]} had {'read' if reads else 'written'} it at {_at(first)}; then {names[0]} "
        f"{end} at {_at(last)}, and {names[other]}'s write was lost."
    )


def _checked(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    apart = points[0].thread != points[-1].thread
    if apart and (mode(points[0]), mode(points[-1])) == ("W", "R"):
        return (
            f"{names[-1]} came to {_at(points[-1])} by a look-up that had found nothing; since "
            f"then, {names[0]} had changed {_variable(points[0])} at {_at(points[0])}."
        )
    if mode(points[0]) == mode(points[-1]) == "W" and points[0].op != CALL:
        other = 0 if points[0].thread != points[-1].thread else _other(points)
        return (
            f"{names[-1]} acted at {_at(points[-1])} on a check of {_variable(points[-1])} that it "
            f"had made before {names[other]} changed it at {_at(points[other])}."
        )
    if apart:
        return (
            f"{names[0]} decided by {_variable(points[0])} at {_at(points[0])}; {names[-1]} "
            f"changed it after that, at {_at(points[-1])}."
        )
    other = _other(points)
    did = "used" if points[other].op == CALL else "changed"
    return (
        f"{names[0]} checked {_variable(points[0])} at {_at(points[0])} and acted on it at "
        f"{_at(points[-1])}; in between, {names[other]} {did} {_variable(points[other])} at "
        f"{_at(points[other])}."
    )


def _stale(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    first, last = _at(points[0]), _at(points[-1])
    where = f"twice at {first}" if first == last else f"at {first} and again at {last}"
    return (
        f"{names[0]} used {_variable(points[0])} {where} as if it had not changed; in between, "
        f"{names[other]} changed it at {_at(points[other])}."
    )


def _unfinished(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    if points[0].thread != points[-1].thread:
        return (
            f"{names[0]} had emptied {_variable(points[0])} at {_at(points[0])}, and not yet "
            f"written it, when {names[-1]} read it at {_at(points[-1])}."
        )
    other = _other(points)
    first, last = points[0], points[-1]
    used = "looked at it" if mode(points[other]) == "R" else "used it"
    if first.variable == last.variable:
        return (
            f"{names[0]} changes {_variable(first)} in two steps, at {_at(first)} and at "
            f"{_at(last)}; {names[other]} {used} in between, at {_at(points[other])}."
        )
    return (
        f"{names[0]} had changed {_variable(first)} at {_at(first)} but not yet {_variable(last)} "
        f"({_at(last)}) when {names[other]} used {_variable(points[other])} at "
        f"{_at(points[other])}."
    )


def _out_of_step(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    first, last = points[0], points[-1]
    reads = mode(first) == mode(last) == "R"
    did = "read" if reads else "changed" if mode(first) == mode(last) else "used"
    came = "changed" if mode(points[other]) == "W" else "read"
    return (
        f"{_variable(first)} and {_variable(last)} belong together; {names[0]} had {did} "
        f"{_variable(first)} at {_at(first)} but not yet {_variable(last)} ({_at(last)}) when "
        f"{names[other]} {came} {_variable(points[other])} at {_at(points[other])}."
    )


def _published(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    if points[0].thread != points[-1].thread:
        late = ", too late" if points[-1].due else " only later"
        return (
            f"{names[0]} used {_variable(points[0])} at {_at(points[0])} before it was ready: "
            f"{names[-1]} sets it at {_at(points[-1])}{late}."
        )
    other = next(at for at, point in enumerate(points) if point.thread != points[0].thread)
    value = "its value" if points[0].variable == points[-1].variable else _variable(points[-1])
    return (
        f"{names[0]} made {_variable(points[0])} visible at {_at(points[0])} before {value} was "
        f"ready at {_at(points[-1])}; {names[other]} used it in between, at {_at(points[other])}."
    )


def _closed(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    others = [at for at, one in enumerate(points) if one.thread != points[-1].thread]
    closing = next((at for at in others if closes(points[at])), others[-1])
    if points[0].thread != points[-1].thread:
        closing = 0
    return (
        f"{names[closing]} {_ended(points[closing])} at {_at(points[closing])}; {names[-1]} still "
        f"used it at {_at(points[-1])}."
    )


def _ended(point: FindingPoint) -> str:
    """What somebody did who ended the use of something."""
    nothing = NOTHING.search(point.text)
    if nothing:
        return f"set {_variable(point)} to {nothing[1]}"
    if point.text.startswith("del") or point.value == UNSET:
        return f"removed {_variable(point)}"
    return f"ended the use of {_variable(point)}"


def _iterated(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    # Of several looks the last one: it fails as soon as it goes on.
    reading = max(at for at, one in enumerate(points) if one.thread != points[other].thread)
    if mode(points[other]) == "R":  # of two accesses the change may come first
        other, reading = reading, other
    return (
        f"{names[reading]} was iterating over {points[reading].variable} at "
        f"{_at(points[reading])} when {names[other]} changed it at {_at(points[other])}."
    )


def _missed(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    first, last = points[0], points[-1]
    if last.part == ".set()":
        return (
            f"{names[-1]} set {_variable(last)} at {_at(last)}, too late: {names[0]} had cleared "
            f"it at {_at(first)}."
        )
    if last.part == ".clear()":
        return (
            f"{names[-1]} cleared {_variable(last)} at {_at(last)} after {names[0]} had set it at "
            f"{_at(first)}: whoever was to see it missed it."
        )
    return (
        f"{names[-1]} waits {_awaited(points[-1])} at {_at(points[-1])}, and nobody is left who "
        "would give it."
    )


def _kept(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    return f"{names[-1]} waits {_awaited(points[-1])} at {_at(points[-1])}: {points[-1].why}."


def _awaited(point: FindingPoint) -> str:
    return point.awaits or f"for {point.variable or 'something'}"


def _waiting(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    return "; ".join(map(_wait, points, names)) + "."


def _wait(point: FindingPoint, name: str) -> str:
    holding = f"holds {' and '.join(point.locks)} and " if point.locks else ""
    return f"{name} {holding}waits {_awaited(point)} at {_at(point)}"


def stopped(asked: FindingPoint, names: tuple[str, str], undone: UndoneWork) -> str:
    """Of work left undone; the names are those of who stopped it and of who did it."""
    where = f"{undone.line.file}:{undone.line.line}"
    times, usual = (
        "once" if number == 1 else f"{number} times" for number in (undone.times, undone.usual)
    )
    had = f"had reached {where} only {times}" if undone.times else f"had not reached {where} yet"
    return (
        f"{names[0]} stopped {names[1]} by {_variable(asked)} at {_at(asked)} when it {had}; in "
        f"every passing run it gets there at least {usual}."
    )


SENTENCES: dict[str, Sentence] = {
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
    "lock never released": _kept,
    "starvation": _waiting,
}
