# SPDX-License-Identifier: Apache-2.0
"""Which of the values that a capture noted belong to the lines of an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.reports.facts import CapturedAccess, FailingRun
from unsnarl.reports.line_search import CapturedEvent, LineSearch
from unsnarl.reports.names import SAME_CELL
from unsnarl.runfile import Interner, RunFile, RunFileError
from unsnarl.runfile.captures import Capture


def raw_points(answers: Sequence[Answer], index: int, interner: Interner) -> list[int]:
    """What to capture: the points of the answers that run `index` has."""
    shown = {line.point for answer in answers if index in answer.runs for line in answer.shown}
    return sorted({raw for point in shown for raw in interner.raw_points(point)})


def captured_events(replay: RunFile, interner: Interner) -> list[CapturedEvent]:
    """What a replay captured, in order of time."""
    captures = captures_of(replay)
    raw = np.array([one.point for one in captures], dtype=np.uint32)
    points = interner.indexes(raw, replay).tolist() if captures else []
    both = zip(captures, points, strict=True)
    return [CapturedEvent(at, one.path, point, one) for at, (one, point) in enumerate(both)]


def captures_of(replay: RunFile) -> Sequence[Capture]:
    """What a replay captured; nothing if that is damaged: a finding can do without values."""
    try:
        return replay.captures
    except RunFileError:
        return ()


def assign(
    seen: Sequence[CapturedEvent], answers: Sequence[Answer], run: FailingRun, index: int
) -> dict[tuple[int, int], CapturedAccess]:
    """What was seen at the lines of the answers that run `index` has, by answer and line."""
    paths = {thread.index: thread.path for thread in run.threads}
    found: dict[tuple[int, int], CapturedAccess] = {}
    for number, answer in enumerate(answers):
        if index in answer.runs:
            anchors = answer.threads.get(index, {})
            ranked = {anchor: paths[at] for anchor, at in anchors.items() if at in paths}
            match = LineSearch(seen, answer.shown, ranked).best()
            captures = {at: match[at].capture for at in sorted(match)}
            about = [captures[at] for at in captures if answer.shown[at].same_cell >= SAME_CELL]
            names = lock_names(about, list(captures.values()))
            for line, one in captures.items():
                found[number, line] = captured(one, names)
    return found


def captured(capture: Capture, names: Mapping[int, str]) -> CapturedAccess:
    """What a report shows of a captured access."""
    return CapturedAccess(
        value=capture.value or None,
        locks=tuple(names[lock.number] for lock in capture.locks),
        variable=capture.variable,
        sections=tuple(lock.section for lock in capture.locks),
        element=capture.element,
        owner=capture.owner,
        thread=capture.path,
        stack=capture.stack,
    )


def _locks(capture: Capture) -> list[tuple[str, int]]:
    """Names and numbers of the locks held."""
    return [(lock.name, lock.number) for lock in capture.locks]


def lock_names(about: Sequence[Capture], captures: Sequence[Capture]) -> dict[int, str]:
    """The names of locks by their numbers.

    Of several with one name, all but the first are numbered: the first is the one that is held most
    often around the answer's own cell.
    """
    often = Counter(lock for one in about for lock in _locks(one)).most_common()
    namesakes: dict[str, list[int]] = {}
    for name, lock in dict.fromkeys(
        [pair for pair, _ in often] + list(chain(*map(_locks, captures)))
    ):
        namesakes.setdefault(name, []).append(lock)
    return {
        lock: f"{name} #{at}" if at > 1 else name
        for name, locks in namesakes.items()
        for at, lock in enumerate(locks, 1)
    }
