# SPDX-License-Identifier: Apache-2.0
"""From analysis results to the report: indexes become places, threads and variables get names.

A finding is an aggregate over runs, a report tells a story; so each finding is told with the
threads of one failing run that has its edge, the exemplar where possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from unsnarl.analyses.answer import Answer
from unsnarl.model.finding import Evidence, FindingKind, FindingPoint, Replay
from unsnarl.model.run import Failure, Frame
from unsnarl.reports.cycle import Named, lock_names
from unsnarl.reports.details import CountedFinding, DetailedReport, NamedFailure
from unsnarl.reports.facts import CampaignFacts, Captured, FailingRun, Points, SignatureFacts
from unsnarl.reports.fixes import with_texts
from unsnarl.reports.patterns import classify, contended, core
from unsnarl.reports.proofs import with_proof
from unsnarl.reports.source import Sources
from unsnarl.reports.steps import explanation
from unsnarl.reports.told import frame_text, tell_points, with_failing_line

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
        findings=_findings(facts, points, sources),
        run=exemplar.name if exemplar else "",
        threads={thread.path: thread.name for thread in exemplar.threads} if exemplar else {},
        failing=len(facts.failing),
        passing=facts.passing,
        replay=_replay(facts, exemplar),
    )


def _replay(facts: SignatureFacts, exemplar: FailingRun | None) -> Replay | None:
    proof = facts.proofs.get(0)
    if proof is None or exemplar is None:
        return None
    return Replay(
        run=exemplar.name,
        constraints=len(proof.orders),
        reproduced=proof.reproduced,
        tries=proof.tries,
        searched=proof.searched,
        odd=proof.odd,
    )


def _findings(
    facts: SignatureFacts, points: Points, sources: Sources
) -> tuple[CountedFinding, ...]:
    return tuple(
        _finding(answer, place, facts, points, sources)
        for place, answer in enumerate(facts.findings)
    )


def _finding(
    answer: Answer,
    place: int,
    facts: SignatureFacts,
    points: Points,
    sources: Sources,
) -> CountedFinding:
    chosen = facts.exemplar if facts.exemplar in answer.runs else answer.runs[0]
    run = facts.failing[chosen]
    seen = [(run.captured or {}).get((place, at)) for at in range(len(answer.lines))]
    told = tell_points(answer.lines, _paths(answer, chosen, run, seen), seen, points, sources)
    if answer.is_stuck:
        told = _with_locks(told, lock_names(run, points, sources))
    verdict = facts.verdicts[place] if facts.verdicts else None
    repair = facts.repairs.get(place)
    finding = CountedFinding(
        rank=place + 1,
        method=answer.method,
        score=answer.score,
        features=dict(answer.features),
        kind=_kind(answer, told),
        variables=_variables(answer, told),
        points=tuple(with_failing_line(told, run.failure, sources)),
        runs=len(answer.runs),
        passing=answer.passing,
        locks_known=run.captured is not None or answer.is_stuck,
        evidence=tuple(
            Evidence(one.method, one.rank, one.score, dict(one.features), one.note)
            for one in answer.support
        ),
        status=verdict.status if verdict else "untested",
        forced=verdict.forced if verdict else None,
        forbidden=verdict.forbidden if verdict else None,
        control=verdict.control if verdict else None,
        p_value=verdict.p_value if verdict else None,
        fix=with_texts(repair, sources) if repair else None,
    )
    proof = facts.proofs.get(place)
    if proof is None:
        return replace(finding, explanation=explanation(finding))
    return with_proof(finding, proof, run, points, sources)


def _with_locks(told: Sequence[FindingPoint], names: Sequence[Named]) -> list[FindingPoint]:
    """The points of a run that got stuck: its locks are told apart."""
    return [
        replace(point, variable=name.variable, locks=name.locks) if name.variable else point
        for point, name in zip(told, names, strict=True)
    ]


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


def _message(failure: Failure | None) -> str:
    if failure is None:
        return ""
    return ": ".join(part for part in (failure.type, failure.message) if part)


def _where(failure: Failure | None, sources: Sources) -> str:
    frame: Frame | None = failure.frames[-1] if failure and failure.frames else None
    return frame_text(frame, sources) if frame else ""
