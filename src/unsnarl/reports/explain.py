# SPDX-License-Identifier: Apache-2.0
"""From the lines of an answer to the points of a report: source, names, values, failing line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from unsnarl.analyses.answer import Line
from unsnarl.model.cpp_names import SYSTEM_HEADERS
from unsnarl.model.python_names import shown_function
from unsnarl.model.report import FindingPoint, Region
from unsnarl.model.run import Caught, Frame, is_iterated
from unsnarl.model.site import Site
from unsnarl.model.sources import Sources
from unsnarl.reports.facts import CapturedAccess, FailingRun, Points
from unsnarl.reports.names import label_lines
from unsnarl.reports.patterns import FAIL, is_data, mode, whole

NOTHING = CapturedAccess()
# Failures that strike at one line.
ENDS = ("exception", "assertion", "signal")


def describe_lines(
    lines: Sequence[Line],
    paths: Mapping[int, str],
    seen: Sequence[CapturedAccess | None],
    points: Points,
    sources: Sources,
) -> list[FindingPoint]:
    """The points of some lines; `paths` has the thread of one run behind each anchor."""
    touched = [points.point(line.point) for line in lines]
    labels = label_lines(lines, touched, seen, sources)
    described = []
    for line, point, label, captured in zip(lines, touched, labels, seen, strict=True):
        seen_here = captured or NOTHING
        shown = own_line(point.site, seen_here.stack)
        described.append(
            FindingPoint(
                file=sources.relative(shown.file),
                line=shown.line,
                function=shown_function(shown.function),
                thread=paths[line.anchor],
                role=line.role,
                op=point.op.word,
                variable=label.variable,
                region=line.region,
                confidence=line.confidence,
                value=seen_here.value,
                locks=seen_here.locks,
                text=sources.line(shown.file, shown.line),
                time=line.time,
                part=label.part,
                sections=seen_here.sections,
                unseen=captured is None,
                # The innermost frame is the access itself.
                stack=tuple(frame_text(frame, sources) for frame in seen_here.stack[1:]),
            )
        )
    return described


def own_line(site: Site, stack: Sequence[Frame]) -> Frame:
    """Where the program is: not the line of a system's header that it has called.

    Without optimisation `std::atomic` and its like are functions of their own.
    """
    if stack and site.file.startswith(SYSTEM_HEADERS) and stack[0].file != site.file:
        return stack[0]
    return Frame(site.file, site.line, site.function)


def frame_text(frame: Frame, sources: Sources) -> str:
    """`spider.py:25 in Spider.run`."""
    return f"{sources.relative(frame.file)}:{frame.line} in {shown_function(frame.function)}"


class _Raised(NamedTuple):
    """An exception where it was raised; `caught` is "" if the program did not catch it.

    `iterated` says that something changed while its thread went through it.
    """

    type: str
    thread: str
    frame: Frame
    caught: str = ""
    iterated: bool = False


def with_failing_lines(
    points: Sequence[FindingPoint], run: FailingRun, sources: Sources
) -> list[FindingPoint]:
    """Adds the lines that failed: with exceptions that the program swallowed, then for all to see.

    Each stands behind its thread's access on it, else at the end.
    """
    raised = [
        _Raised(
            _named(one),
            one.thread,
            one.frames[-1],
            _caught_at(one, sources),
            is_iterated(one.message),
        )
        for one in run.chain
        if one.frames
    ]
    failure = run.failure
    if failure is not None and failure.frames and (raised or failure.kind in ENDS):
        iterated = is_iterated(failure.message)
        raised.append(_Raised(failure.type, failure.thread, failure.frames[-1], iterated=iterated))
    shown = list(points)
    for one in raised:
        shown = _with_line(shown, one, sources)
    return shown


def _named(caught: Caught) -> str:
    return f"{caught.call} returned {caught.type}" if caught.call else caught.type


def _caught_at(caught: Caught, sources: Sources) -> str:
    if caught.call:  # it was returned, not raised
        return ""
    return f"{sources.relative(caught.by.file)}:{caught.by.line}"


def _with_line(
    points: Sequence[FindingPoint], raised: _Raised, sources: Sources
) -> list[FindingPoint]:
    frame = raised.frame
    file = sources.relative(frame.file)
    thread = _raising(points, raised.thread, file, frame.line)
    same = [i for i, point in enumerate(points) if _is_on(point, thread, file, frame.line)]
    if same and not raised.caught:
        # What nobody caught is the last that its thread did.
        same += [i for i, point in enumerate(points) if i > same[-1] and _is_end(point, thread)]
    # What was still to come would have come later.
    happened = next((i for i, point in enumerate(points) if point.due), len(points))
    at = same[-1] + 1 if same else happened
    if same and raised.iterated:
        at = _behind_change(points, same[-1])
    region: Region = points[at - 1].region if points else "suffix"
    after: dict[Region, Region] = {"source": "body", "sink": "suffix"}
    point = FindingPoint(
        file=file,
        line=frame.line,
        function=frame.function,
        thread=thread,
        role=role_of(points, thread),
        op=FAIL,
        variable="",
        region=after.get(region, region),
        confidence=1.0,
        value=raised.type or None,
        text=sources.line(frame.file, frame.line),
        time=points[at - 1].time if points else 0.0,
        caught=raised.caught,
    )
    return [*points[:at], point, *points[at:]]


def _behind_change(points: Sequence[FindingPoint], look: int) -> int:
    """The place behind the change of what a thread had begun to go through: it fails only then."""
    changes = (
        at
        for at, point in enumerate(points)
        if at > look
        and is_data(point)
        and mode(point) == "W"
        and point.thread != points[look].thread
        and whole(point.variable) == whole(points[look].variable)
    )
    return next(changes, look) + 1


def _raising(points: Sequence[FindingPoint], thread: str, file: str, line: int) -> str:
    """Who raised it: a future hands its exception to a thread that never was on that line."""
    there = [point.thread for point in points if (point.file, point.line) == (file, line)]
    return there[-1] if there and thread not in there else thread


def _is_at(point: FindingPoint, thread: str, file: str, line: int) -> bool:
    return (point.thread, point.file, point.line) == (thread, file, line)


def _is_end(point: FindingPoint, thread: str) -> bool:
    """Whether it may be the last that a thread did: a replay saw it."""
    return point.thread == thread and point.op != FAIL and not (point.due or point.unseen)


def _is_on(point: FindingPoint, thread: str, file: str, line: int) -> bool:
    """Whether a thread did it on a line, or in what it called there: what is raised comes later."""
    called = point.thread == thread and any(
        frame.startswith(f"{file}:{line} in ") for frame in point.stack
    )
    return called or _is_at(point, thread, file, line)


def role_of(points: Sequence[FindingPoint], thread: str) -> int:
    """The role of a thread, a new one if no point is of it."""
    roles = {point.thread: point.role for point in points}
    return roles.get(thread, max(roles.values(), default=0) + 1)
