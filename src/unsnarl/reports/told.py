# SPDX-License-Identifier: Apache-2.0
"""Lines become points of the report: places, names, values, and the line that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unsnarl.analyses.answer import Line
from unsnarl.model.finding import FindingPoint, Region
from unsnarl.model.run import Failure, Frame
from unsnarl.reports.facts import Captured, Points
from unsnarl.reports.names import label_lines
from unsnarl.reports.patterns import FAIL
from unsnarl.reports.source import Sources

NOTHING = Captured()
# Failures that strike at one line.
ENDS = ("exception", "assertion", "signal")


def tell_points(
    lines: Sequence[Line],
    paths: Mapping[int, str],
    seen: Sequence[Captured | None],
    points: Points,
    sources: Sources,
) -> list[FindingPoint]:
    """The points of some lines; `paths` are the threads of one run behind their anchors."""
    touched = [points.point(line.point) for line in lines]
    labels = label_lines(lines, touched, seen, sources)
    told = []
    for line, point, label, captured in zip(lines, touched, labels, seen, strict=True):
        known = captured or NOTHING
        told.append(
            FindingPoint(
                file=sources.relative(point.site.file),
                line=point.site.line,
                function=point.site.function,
                thread=paths[line.anchor],
                role=line.role,
                op=point.op.word,
                variable=label.variable,
                region=line.region,
                confidence=line.confidence,
                value=known.value,
                locks=known.locks,
                text=sources.line(point.site.file, point.site.line),
                time=line.time,
                part=label.part,
                sections=known.sections,
                unseen=captured is None,
                stack=tuple(frame_text(frame, sources) for frame in known.stack[1:]),
            )
        )
    return told


def frame_text(frame: Frame, sources: Sources) -> str:
    """`spider.py:25 in Spider.run`."""
    return f"{sources.relative(frame.file)}:{frame.line} in {frame.function}"


def with_failing_line(
    told: Sequence[FindingPoint], failure: Failure | None, sources: Sources
) -> list[FindingPoint]:
    """Adds the line that failed: behind the failing thread's access on it, else at the end."""
    if failure is None or not failure.frames or failure.kind not in ENDS:
        return list(told)
    frame = failure.frames[-1]
    file = sources.relative(frame.file)
    same = [i for i, p in enumerate(told) if _is_at(p, failure.thread, file, frame.line)]
    at = same[-1] + 1 if same else len(told)
    region: Region = told[at - 1].region if told else "suffix"
    after: dict[Region, Region] = {"source": "body", "sink": "suffix"}
    point = FindingPoint(
        file=file,
        line=frame.line,
        function=frame.function,
        thread=failure.thread,
        role=_role(told, failure.thread),
        op=FAIL,
        variable="",
        region=after.get(region, region),
        confidence=1.0,
        value=failure.type or None,
        text=sources.line(frame.file, frame.line),
        time=told[at - 1].time if told else 0.0,
    )
    return [*told[:at], point, *told[at:]]


def _is_at(point: FindingPoint, thread: str, file: str, line: int) -> bool:
    return (point.thread, point.file, point.line) == (thread, file, line)


def _role(told: Sequence[FindingPoint], thread: str) -> int:
    known = {point.thread: point.role for point in told}
    return known.get(thread, max(known.values(), default=0) + 1)
