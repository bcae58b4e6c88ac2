# SPDX-License-Identifier: Apache-2.0
"""What happened, in one sentence per shape, with the program's own names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unsnarl.model.report import FindingPoint
from unsnarl.reports.patterns import closes, mode

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
    other = _other(points)
    first, last = points[0], points[-1]
    reads = mode(first) == "R"
    did = "read" if reads else "written"
    if mode(last) == "W":
        does = f"wrote it at {_at(last)} from what it had read before"
        end = f"{does if reads else f'overwrote it at {_at(last)}'}: that write is lost"
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
        f"{names[0]} used {_variable(points[0])} {where} as if it were the same; in between, "
        f"{names[other]} changed it at {_at(points[other])}."
    )


def _unfinished(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    changed = list(dict.fromkeys(_variable(point) for point in (points[0], points[-1])))
    what = f"two changes of {changed[0]}" if len(changed) == 1 else " and ".join(changed)
    used = "used it" if len(changed) == 1 else "looked,"
    return (
        f"{names[0]} was between {what} ({_at(points[0])} and {_at(points[-1])}) when "
        f"{names[other]} {used} at {_at(points[other])}."
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
        f"{names[closing]} ended the use of {_variable(points[closing])} at "
        f"{_at(points[closing])}; {names[-1]} still used it at {_at(points[-1])}."
    )


def _iterated(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    other = _other(points)
    reading = next(at for at, _ in enumerate(points) if at != other)
    if mode(points[other]) == "R":  # of two accesses the change may come first
        other, reading = reading, other
    return (
        f"{names[reading]} was iterating over {points[reading].variable} at "
        f"{_at(points[reading])} when {names[other]} changed it at {_at(points[other])}."
    )


def _missed(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    return (
        f"{names[-1]} waits {_awaited(points[-1])} at {_at(points[-1])}, and nobody is left who "
        "would give it."
    )


def _kept(points: Sequence[FindingPoint], names: Sequence[str]) -> str:
    return f"{names[-1]} waits {_awaited(points[-1])} at {_at(points[-1])}: {points[-1].why}."


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
