# SPDX-License-Identifier: Apache-2.0
"""From analysis results to the report: indexes become places, threads and variables get names.

A finding is an aggregate over runs, a report tells a story; so each finding is told with the
threads of one failing run that has its edge, the exemplar where possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from unsnarl.analyses.answer import Answer
from unsnarl.model.finding import Evidence, FindingKind, FindingPoint, Region
from unsnarl.model.run import Failure, Frame
from unsnarl.reports.cycle import deadlock_points
from unsnarl.reports.details import CountedFinding, DetailedReport, NamedFailure
from unsnarl.reports.facts import CampaignFacts, Captured, FailingRun, Points, SignatureFacts
from unsnarl.reports.names import label_lines
from unsnarl.reports.patterns import FAIL, classify, contended, core
from unsnarl.reports.source import Sources

NOTHING = Captured()
# The others rank code points and predicates: they claim no order.
TELLS_ORDER = ("joined", "recon", "falcon", "avio")


def build_report(facts: CampaignFacts, points: Points, root: Path) -> DetailedReport:
    """The report of a campaign; `root` is the project's folder, for sources and relative paths."""
    sources = Sources(root)
    failures = tuple(_failure(one, points, sources) for one in facts.signatures)
    return DetailedReport(
        version=1,
        campaign=facts.campaign,
        command=facts.command,
        seconds=facts.seconds,
        runs=facts.runs,
        instrumented=facts.instrumented,
        failures=failures,
        warnings=facts.warnings,
        unlabelled=_failure(facts.unlabelled, points, sources).findings if facts.unlabelled else (),
    )


def _failure(facts: SignatureFacts, points: Points, sources: Sources) -> NamedFailure:
    exemplar = facts.failing[facts.exemplar] if facts.failing else None
    failure = exemplar.failure if exemplar else None
    return NamedFailure(
        signature=facts.signature,
        kind=facts.kind,
        switch=facts.switch,
        latent=facts.latent,
        count=facts.count,
        rate=facts.rate,
        message=_message(failure) or facts.signature,
        where=_where(failure, sources),
        findings=_findings(facts, exemplar, points, sources),
        run=exemplar.name if exemplar else "",
        threads={thread.path: thread.name for thread in exemplar.threads} if exemplar else {},
        failing=len(facts.failing),
        passing=facts.passing,
    )


def _findings(
    facts: SignatureFacts, exemplar: FailingRun | None, points: Points, sources: Sources
) -> tuple[CountedFinding, ...]:
    cycle = deadlock_points(exemplar, points, sources) if exemplar else ()
    findings = [_cycle_finding(facts, cycle)] if cycle else []
    for place, answer in enumerate(facts.findings):
        findings.append(_finding(answer, place, len(findings) + 1, facts, points, sources))
    return tuple(findings)


def _cycle_finding(facts: SignatureFacts, cycle: tuple[FindingPoint, ...]) -> CountedFinding:
    """A deadlock that the gate saw: scored as an edge of all failing and no passing runs."""
    score = facts.passing + 1.0
    return CountedFinding(
        rank=1,
        method=facts.method,
        score=score,
        features={"B": score},
        kind="deadlock",
        variables=tuple(dict.fromkeys(point.variable for point in cycle if point.variable)),
        points=cycle,
        runs=len(facts.failing),
        passing=0,
        locks_known=True,
    )


def _finding(  # noqa: PLR0917
    answer: Answer,
    place: int,
    rank: int,
    facts: SignatureFacts,
    points: Points,
    sources: Sources,
) -> CountedFinding:
    chosen = facts.exemplar if facts.exemplar in answer.runs else answer.runs[0]
    run = facts.failing[chosen]
    seen = [(run.captured or {}).get((place, at)) for at in range(len(answer.lines))]
    told = _points(answer, _paths(answer, chosen, run, seen), seen, points, sources)
    verdict = facts.verdicts[place] if facts.verdicts else None
    return CountedFinding(
        rank=rank,
        method=answer.method,
        score=answer.score,
        features=dict(answer.features),
        kind=_kind(answer, told),
        variables=_variables(answer, told),
        points=tuple(_with_failing_line(told, run.failure, sources)),
        runs=len(answer.runs),
        passing=answer.passing,
        locks_known=run.captured is not None,
        evidence=tuple(
            Evidence(one.method, one.rank, one.score, dict(one.features), one.note)
            for one in answer.support
        ),
        status=verdict.status if verdict else "untested",
        forced=verdict.forced if verdict else None,
        forbidden=verdict.forbidden if verdict else None,
        control=verdict.control if verdict else None,
        p_value=verdict.p_value if verdict else None,
    )


def _kind(answer: Answer, told: Sequence[FindingPoint]) -> FindingKind:
    """Of a pattern or a cycle all points count: somebody came between, or only too early."""
    if answer.method not in TELLS_ORDER:
        return "other"
    if "B" in answer.features:
        return classify(told)
    roles = [point.role for point in told]
    turns = [role for at, role in enumerate(roles) if at == 0 or role != roles[at - 1]]
    return "atomicity" if len(turns) > 2 else "order"


def _variables(answer: Answer, told: Sequence[FindingPoint]) -> tuple[str, ...]:
    """What the finding is about: of a pattern or a cycle, all its points.

    Of a reconstruction, the core's variables and others that its threads contend for.
    """
    names = [point.variable for point in told]
    if "B" in answer.features:
        names = [told[i].variable for i in core(told)] + contended(told)
    return tuple(dict.fromkeys(name for name in names if name))


def _points(
    answer: Answer,
    paths: Mapping[int, str],
    seen: Sequence[Captured | None],
    points: Points,
    sources: Sources,
) -> list[FindingPoint]:
    touched = [points.point(line.point) for line in answer.lines]
    labels = label_lines(answer.lines, touched, seen, sources)
    told = []
    for line, point, label, captured in zip(answer.lines, touched, labels, seen, strict=True):
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
                stack=tuple(_frame(frame, sources) for frame in known.stack[1:]),
            )
        )
    return told


def _frame(frame: Frame, sources: Sources) -> str:
    return f"{sources.relative(frame.file)}:{frame.line} in {frame.function}"


def _paths(
    answer: Answer, index: int, run: FailingRun, seen: Sequence[Captured | None]
) -> dict[int, str]:
    """The path of the thread behind each anchor, in one run: as ranked, else as replayed."""
    paths = {thread.index: thread.path for thread in run.threads}
    anchors = answer.threads.get(index, {})
    replayed = {
        line.anchor: one.thread for line, one in zip(answer.lines, seen, strict=True) if one
    }
    return {
        line.anchor: paths.get(anchors.get(line.anchor, -1)) or replayed.get(line.anchor) or "?"
        for line in answer.lines
    }


def _with_failing_line(
    told: list[FindingPoint], failure: Failure | None, sources: Sources
) -> list[FindingPoint]:
    """Adds the line that failed: behind the failing thread's access on it, else at the end."""
    if failure is None or not failure.frames or failure.kind not in ("exception", "assertion"):
        return told
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


def _message(failure: Failure | None) -> str:
    if failure is None:
        return ""
    return ": ".join(part for part in (failure.type, failure.message) if part)


def _where(failure: Failure | None, sources: Sources) -> str:
    frame: Frame | None = failure.frames[-1] if failure and failure.frames else None
    return _frame(frame, sources) if frame else ""
