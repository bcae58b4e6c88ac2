# SPDX-License-Identifier: Apache-2.0
"""From answers to the report: indexes become source lines, threads and variables get names.

An answer is an aggregate over runs, but a report shows one course of events; so each finding shows
the threads of one failing run that has it, the exemplar where possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from unsnarl.analyses.answer import Answer
from unsnarl.execution.signatures import without_addresses
from unsnarl.experiments.verdict import Verdict
from unsnarl.model.cpp_names import C_HEADERS, C_SOURCES
from unsnarl.model.report import (
    FailureReport,
    Finding,
    FindingKind,
    FindingPoint,
    Replay,
    Report,
    SourceLine,
    UndoneWork,
)
from unsnarl.model.run import Failure, Frame
from unsnarl.model.site import Site
from unsnarl.model.sources import Sources
from unsnarl.reports import finding_ids
from unsnarl.reports.calls import with_calls
from unsnarl.reports.chain import chain_of
from unsnarl.reports.deadlock import LockNames, lock_names, run_names
from unsnarl.reports.explain import describe_lines, frame_text, with_failing_lines
from unsnarl.reports.facts import (
    CampaignFacts,
    CapturedAccess,
    FailingRun,
    Points,
    SignatureFacts,
)
from unsnarl.reports.fixes import with_texts
from unsnarl.reports.paths import shown_path
from unsnarl.reports.patterns import classify, contended, core
from unsnarl.reports.program_text import ProgramText
from unsnarl.reports.proofs import captured_names, with_proof
from unsnarl.reports.remarks import causes_note
from unsnarl.reports.shapes import shape_and_summary
from unsnarl.reports.steps import explanation
from unsnarl.reports.waits import with_reasons
from unsnarl.reports.ways import with_ways

# The others rank code points and predicates: they claim no order.
CLAIM_ORDER = ("joined", "recon", "falcon", "avio")
# Locks that several may hold at once.
SHARED_LOCK = re.compile(r"\bpthread_rwlock_|\bshared_(?:timed_)?mutex\b")


def build_report(facts: CampaignFacts, points: Points, root: Path) -> Report:
    """The report of a campaign; `root` is the project's folder, for sources and relative paths."""
    sources = Sources(root)
    unlabelled = [facts.unlabelled] if facts.unlabelled else []
    signatures = [*facts.signatures, *unlabelled]
    made = [_with_shapes(_failure(one, points, sources), sources) for one in signatures]
    failures = _with_ids(made, [
        finding_ids.digests(one.signature, one.findings, points, sources) for one in signatures
    ])  # fmt: skip
    failures = [
        _with_causes(failure, one.causes) for failure, one in zip(failures, signatures, strict=True)
    ]
    return Report(
        version=1,
        campaign=facts.campaign,
        command=facts.command,
        seconds=facts.seconds,
        runs=facts.runs,
        instrumented=facts.instrumented,
        failures=tuple(failures[: len(facts.signatures)]),
        warnings=facts.warnings,
        unlabelled=failures[-1].findings if unlabelled else (),
    )


def _with_ids(
    failures: Sequence[FailureReport], digests: Sequence[Sequence[str]]
) -> list[FailureReport]:
    """The failures, each of their findings with a name that no other one of the report has."""
    findings = [finding for failure in failures for finding in failure.findings]
    words = [finding_ids.word(finding.variables, finding.kind) for finding in findings]
    names = iter(finding_ids.names(words, [one for each in digests for one in each]))
    return [
        replace(
            failure,
            findings=tuple(replace(finding, id=next(names)) for finding in failure.findings),
        )
        for failure in failures
    ]


def _with_causes(failure: FailureReport, count: int) -> FailureReport:
    """The failure, which says that the first of its findings are causes of their own."""
    if not count:
        return failure
    ids = tuple(finding.id for finding in failure.findings[:count])
    findings = [
        replace(finding, given=tuple(one for one in ids if one != finding.id))
        for finding in failure.findings[:count]
    ]
    return replace(
        failure,
        findings=(*findings, *failure.findings[count:]),
        causes=ids,
        causes_note=causes_note(count),
    )


def _with_shapes(failure: FailureReport, sources: Sources) -> FailureReport:
    """The failure, each of its findings with the shape of its bug."""
    findings = []
    code = ProgramText(sources.text)
    for finding in failure.findings:
        shape, summary = shape_and_summary(failure, finding, code)
        findings.append(replace(finding, shape=shape, summary=summary))
    return replace(failure, findings=tuple(findings))


def _failure(facts: SignatureFacts, points: Points, sources: Sources) -> FailureReport:
    exemplar = facts.failing[facts.exemplar] if facts.failing else None
    failure = exemplar.failure if exemplar else None
    return FailureReport(
        signature=facts.signature,
        kind=facts.kind,
        switch=facts.switch,
        latent=facts.latent,
        count=facts.count,
        rate=facts.rate,
        message=_message(failure, sources) or facts.signature,
        where=_where(failure, sources),
        findings=_findings(facts, points, sources),
        run=exemplar.name if exemplar else "",
        threads={thread.path: thread.name for thread in exemplar.threads} if exemplar else {},
        failing=len(facts.failing),
        passing=facts.passing,
        replay=_replay(facts, exemplar),
        chain=chain_of(facts.swallowed, exemplar, sources) if exemplar else (),
    )


def _replay(facts: SignatureFacts, exemplar: FailingRun | None, index: int = 0) -> Replay | None:
    proof = facts.proofs.get(index)
    if proof is None or exemplar is None:
        return None
    return Replay(
        run=exemplar.name,
        constraints=len(proof.orders),
        reproduced=proof.reproduced,
        tries=proof.tries,
        searched=proof.searched,
        odd=proof.odd,
        same=proof.same,
        watched=proof.watched,
    )


def _findings(facts: SignatureFacts, points: Points, sources: Sources) -> tuple[Finding, ...]:
    return tuple(
        _finding(answer, index, facts, points, sources)
        for index, answer in enumerate(facts.findings)
    )


def _finding(
    answer: Answer,
    index: int,
    facts: SignatureFacts,
    points: Points,
    sources: Sources,
) -> Finding:
    proof = facts.proofs.get(index)
    chosen = facts.exemplar if facts.exemplar in answer.runs else answer.runs[0]
    run = facts.failing[proof.at if proof is not None and index else chosen]
    seen = [(run.captured or {}).get((index, at)) for at in range(len(answer.shown))]
    paths = _paths(answer, chosen, run, seen)
    described = describe_lines(answer.shown, paths, seen, points, sources)
    due = {(one.path, one.point) for one in run.due}
    described = [
        replace(point, due=(point.thread, line.point) in due and point.unseen)
        for line, point in zip(answer.shown, described, strict=True)
    ]
    if answer.is_stuck:
        locks = _captured_names(answer, seen, run)
        locks |= captured_names(proof.events, run) if proof is not None else {}
        named = lock_names(answer.lines, run, points, sources, locks)
        described = _with_locks(described, answer, named)
        names = run_names(run, points, sources, locks)
        described = with_ways(with_reasons(described, run, names, points, sources), sources.line)
    ranked = [
        point
        for line, point in zip(answer.shown, described, strict=False)
        if line not in answer.closing
    ]
    verdict = facts.verdicts[index] if facts.verdicts else None
    fix = facts.fixes.get(index)
    finding = Finding(
        rank=index + 1,
        method=answer.method,
        score=answer.score,
        features=dict(answer.features),
        kind=_kind(answer, ranked),
        variables=_variables(answer, ranked),
        points=tuple(with_calls(with_failing_lines(described, run, sources), sources.call)),
        runs=len(answer.runs),
        passing=answer.passing,
        locks_checked=(run.captured is not None or answer.is_stuck)
        and not _shares_locks(described, sources),
        evidence=answer.support,
        fix=with_texts(fix, sources) if fix else None,
        replay=_replay(facts, run, index) if index else None,
        **_tested(verdict, points, sources),
    )
    if proof is None:
        return replace(finding, explanation=explanation(finding))
    return with_proof(finding, proof, run, points, sources)


def _with_text(undone: UndoneWork, sources: Sources) -> UndoneWork:
    line = undone.line
    text, file = sources.line(line.file, line.line), sources.relative(line.file)
    return replace(undone, line=replace(line, file=file, text=text))


def _tested(verdict: Verdict | None, points: Points, sources: Sources) -> dict[str, Any]:
    """The fields of a finding that its experiments filled in; none if there were none."""
    if verdict is None:
        return {}
    same = ("status", "forced", "forbidden", "control", "p_value", "why", "left_out", "calls")
    return {name: getattr(verdict, name) for name in same} | {
        "windows": tuple(_source_line(points.point(at).site, sources) for at in verdict.windows),
        "undone": _with_text(verdict.undone, sources) if verdict.undone else None,
    }


def _shares_locks(points: Iterable[FindingPoint], sources: Sources) -> bool:
    """Whether a C file has locks that several hold at once: who holds them is not known.

    Then "no lock is held" would be a guess.
    """
    files = {point.file for point in points if point.file.endswith((*C_SOURCES, *C_HEADERS))}
    return any(SHARED_LOCK.search(sources.text(file)) for file in files)


def _source_line(site: Site, sources: Sources) -> SourceLine:
    text = sources.line(site.file, site.line)
    return SourceLine(sources.relative(site.file), site.line, site.function, text)


def _captured_names(
    answer: Answer, seen: Sequence[CapturedAccess | None], run: FailingRun
) -> dict[int, str]:
    """What the program calls the locks that its threads wait for, where a replay saw it."""
    paths = {thread.path: thread.index for thread in run.threads}
    names = {
        (paths.get(one.thread), line.point): one.variable + one.element
        for line, one in zip(answer.shown, seen, strict=True)
        if one is not None
    }
    found = {wait.object: names.get((wait.thread, wait.point)) for wait in run.waits}
    return {lock: name for lock, name in found.items() if name}


def _with_locks(
    described: Sequence[FindingPoint], answer: Answer, names: Sequence[LockNames]
) -> list[FindingPoint]:
    """The points of a run that got stuck, with names that set its locks apart."""
    by_line = dict(zip(answer.lines, names, strict=True))
    found = []
    for line, point in zip(answer.shown, described, strict=True):
        name = by_line.get(line, LockNames(""))
        locks = name.locks or point.locks
        found.append(replace(point, variable=name.variable or point.variable, locks=locks))
    return found


def _kind(answer: Answer, described: Sequence[FindingPoint]) -> FindingKind:
    """Of a pattern or a cycle all points count: somebody came between, or only too early."""
    if answer.method not in CLAIM_ORDER:
        return "other"
    # Only reconstructions and runs that got stuck have B.
    if "B" in answer.features:
        return classify(described)
    roles = [point.role for point in described]
    turns = [role for at, role in enumerate(roles) if at == 0 or role != roles[at - 1]]
    return "atomicity" if len(turns) > 2 else "order"


def _variables(answer: Answer, described: Sequence[FindingPoint]) -> tuple[str, ...]:
    """What the finding is about: of a pattern or a cycle, all its points.

    Of a reconstruction, the core's variables and others that its threads contend for.
    """
    names = [point.variable for point in described]
    if "B" in answer.features:
        names = [described[i].variable for i in core(described)] + contended(described)
    return tuple(dict.fromkeys(name for name in names if name))


def _paths(
    answer: Answer, index: int, run: FailingRun, seen: Sequence[CapturedAccess | None]
) -> dict[int, str]:
    """The path of the thread behind each anchor, in one run: as ranked, else as replayed."""
    paths = {thread.index: thread.path for thread in run.threads}
    anchors = answer.threads.get(index, {})
    replayed = {
        line.anchor: one.thread for line, one in zip(answer.shown, seen, strict=True) if one
    }
    return {
        line.anchor: paths.get(anchors.get(line.anchor, -1)) or replayed.get(line.anchor) or "?"
        for line in answer.shown
    }


def _message(failure: Failure | None, sources: Sources) -> str:
    """The exception and what it says; a deadlock says where threads wait, by short paths."""
    if failure is None:
        return ""
    message = without_addresses(failure.message)
    for frame in failure.frames if failure.kind == "deadlock" else ():
        message = message.replace(f"{frame.file}:", f"{shown_path(sources.relative(frame.file))}:")
    # That a program ends with a status is what happened; by which exception says no more.
    is_plain = failure.kind == "exit" and message.startswith("exit status")
    parts = ("" if is_plain else failure.type, message)
    return ": ".join(part for part in parts if part)


def _where(failure: Failure | None, sources: Sources) -> str:
    frame: Frame | None = failure.frames[-1] if failure and failure.frames else None
    return frame_text(frame, sources) if frame else ""
