# SPDX-License-Identifier: Apache-2.0
"""From a report to what a browser shows: the same sentences and steps as at a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from unsnarl.model.cpp_names import C_HEADERS, C_SOURCES
from unsnarl.model.page import (
    Page,
    PageArm,
    PageCommand,
    PageFailure,
    PageFinding,
    PageLock,
    PagePassing,
    PagePatch,
    PageStep,
    PageThread,
    PageTrace,
)
from unsnarl.model.report import FailureReport, Finding, NumberedFinding, Report, numbered
from unsnarl.model.sources import Sources
from unsnarl.model.trace import RunTrace
from unsnarl.reports.chain import chain_note, type_in
from unsnarl.reports.fixes import patch_note, try_notes
from unsnarl.reports.paths import short_files, shown_path
from unsnarl.reports.patterns import is_data
from unsnarl.reports.remarks import (
    cycle_lines,
    cycle_note,
    experiment_note,
    failure_bound,
    lock_remark,
    plural,
    seen_in,
    support_note,
    thread_label,
    title,
)
from unsnarl.reports.render.compare_view import difference_note
from unsnarl.reports.render.terminal import LATENT, proof_lines, run_summary, status_word
from unsnarl.reports.steps import Step, all_steps, brief_steps, clean, passing_steps, step_of

AROUND = 4  # lines of source before and after a step
LONGEST_LINE = 400  # of source: a minified file must not fill the page
LONGEST_VALUE = 2000
MOST_FINDINGS = 12  # of one failure, with their steps


def page(
    report: Report,
    sources: Sources,
    *,
    first: int = 1,
    labels: str = "",
    trace: RunTrace | None = None,
    missing: str = "",
) -> Page:
    """The page of a report.

    Args:
        first: The number of the finding to show first.
        sources: Where the lines around a step are read.
        labels: One letter per run, in the order of time.
        trace: Every event of the run that the first failure shows.
        missing: Why there is no trace.
    """
    seen = report.instrumented
    return Page(
        title=_title(report),
        command=shlex.join(report.command),
        campaign=report.campaign,
        verdict=verdict(report),
        summary=run_summary(report),
        labels=labels,
        coverage=f"{plural(seen.modules, 'module')} and {plural(seen.sites, 'site')} instrumented, "
        f"{seen.threads_controlled} of {plural(seen.threads_seen, 'thread')} controlled",
        covered=seen.threads_controlled == seen.threads_seen,
        warnings=tuple(f"{clean(one.message)} [{one.slug}]" for one in report.warnings),
        unfinished=tuple(f"{one.phase}: {clean(one.what)}" for one in report.unfinished),
        timings=report.timings,
        failures=tuple(_failure(report, failure, sources) for failure in report.failures),
        first=first,
        trace=None if trace is None else columns(trace),
        missing=missing,
    )


def verdict(report: Report) -> str:
    """The answer in one sentence."""
    if not report.failures:
        return failure_bound(report.runs)
    best = [failure.findings[0] for failure in report.failures if failure.findings]
    confirmed = [one for one in best if one.status == "confirmed"]
    if not best:
        return f"{plural(len(report.failures), 'failure')}, and no interleaving that explains it."
    first = (confirmed or best)[0]
    said = first.summary or f"{title(first)}."
    if confirmed:
        return said
    return f"Suspected, not confirmed: {said}"


def _title(report: Report) -> str:
    first = next((one for failure in report.failures for one in failure.findings), None)
    return title(first) if first is not None else "no failure"


def _failure(report: Report, failure: FailureReport, sources: Sources) -> PageFailure:
    found = [one for one in numbered(report) if one.failure is failure][:MOST_FINDINGS]
    remarks = [LATENT] if failure.latent else []
    remarks += [failure.causes_note] if failure.causes_note else []
    return PageFailure(
        message=clean(failure.message.split("\n")[0]) or failure.kind,
        where=shown_path(failure.where),
        kind=failure.kind,
        count=failure.count,
        chain=chain_note(failure),
        printed=failure.printed,
        remarks=tuple(remarks),
        causes=max(len(failure.causes), 1),
        findings=tuple(_finding(one, sources) for one in found),
    )


def _finding(one: NumberedFinding, sources: Sources) -> PageFinding:
    failure, finding = one.failure, one.finding
    steps = brief_steps(finding)
    names = short_files(step.file for step in all_steps(finding))
    threads = {step.thread: step.role for step in sorted(steps, key=lambda step: step.role)}
    return PageFinding(
        number=one.number,
        id=finding.id,
        title=title(finding),
        status=finding.status,
        word=status_word(finding),
        sentence=_sentence(failure, finding),
        why=finding.why,
        score=finding.score,
        threads=tuple(
            PageThread(path, thread_label(failure, path), role) for path, role in threads.items()
        ),
        steps=tuple(_shown_steps(failure, steps, names, sources)),
        notes=tuple(_notes(failure, finding, steps)),
        arms=tuple(_arms(failure, finding)),
        experiment=experiment_note(finding) or seen_in(failure, finding),
        orders=tuple(_orders(finding, steps)),
        passing=_passing(failure, finding, steps, names, sources),
        patch=_patch(one),
        commands=tuple(_commands(one)),
        features=_features(finding),
        evidence=support_note(finding),
    )


def _sentence(failure: FailureReport, finding: Finding) -> str:
    cycle = cycle_lines(failure, finding)
    if cycle:
        return " ".join(f"{sentence} {position}." for sentence, position in cycle)
    return finding.summary


def _notes(failure: FailureReport, finding: Finding, steps: Sequence[Step]) -> Iterator[str]:
    remark = cycle_note(finding) or lock_remark(finding, [step for step in steps if step.number])
    commands = ("replay: ",)
    for line in (remark, *proof_lines(failure, finding)):
        if line and not line.startswith(commands):
            yield line


def _shown_steps(
    failure: FailureReport, steps: Sequence[Step], names: dict[str, str], sources: Sources
) -> Iterator[PageStep]:
    exception = clean(type_in(failure.message))
    writers: dict[tuple[str, str], Step] = {}
    for step in steps:
        yield _shown_step(step, names, sources, exception, _writer(step, writers))
        for point in step.points:
            if point.op == "write":
                writers[point.variable, point.part] = step


def _writer(step: Step, writers: dict[tuple[str, str], Step]) -> int:
    """Whose write a step reads, if another thread's."""
    for point in step.points:
        latest = writers.get((point.variable, point.part))
        if point.op == "read" and latest is not None and latest.thread != step.thread:
            return latest.number
    return 0


def _shown_step(
    step: Step, names: dict[str, str], sources: Sources, exception: str, writer: int
) -> PageStep:
    first = step.points[0]
    return PageStep(
        number=step.number,
        thread=step.thread,
        role=step.role,
        file=shown_path(step.file),
        line=step.line,
        position=f"{names.get(step.file, shown_path(step.file))}:{step.line}",
        text=step.text[:LONGEST_LINE],
        what=step.what,
        mark=step.mark,
        failing=(step.swallowed or exception or "fails") if step.failing else "",
        values={
            f"{point.variable}{point.part}": clean(point.value)[:LONGEST_VALUE]
            for point in step.points
            if point.value is not None and is_data(point) and point.variable
        },
        writer=writer,
        locks=tuple(map(PageLock, first.locks, first.sections or range(len(first.locks)))),
        stack=tuple(map(shown_path, dict.fromkeys(first.stack))),
        code=_code(step.file, step.line, sources),
    )


def _code(file: str, line: int, sources: Sources) -> dict[int, str]:
    """The source around a line, without what all of its lines are indented by."""
    near = range(max(line - AROUND, 1), line + AROUND + 1)
    raw = {number: sources.raw_line(file, number).decode("utf-8", "replace") for number in near}
    while raw and not raw[max(raw)].strip() and max(raw) > line:
        del raw[max(raw)]
    lines = {number: text.expandtabs()[:LONGEST_LINE] for number, text in raw.items()}
    used = [len(text) - len(text.lstrip()) for text in lines.values() if text.strip()]
    return {number: text[min(used) :].rstrip() for number, text in lines.items()} if used else {}


def _arms(failure: FailureReport, finding: Finding) -> Iterator[PageArm]:
    arms = (
        ("forced", "must fail", finding.forced),
        ("forbidden", "must pass", finding.forbidden),
        ("control", "held elsewhere", finding.control),
    )
    for name, wanted, arm in arms:
        if arm is not None and arm.runs:
            yield PageArm(name, wanted, arm.fail, arm.runs)
    replay = finding.replay or failure.replay
    if finding.orders and replay is not None and replay.tries:
        yield PageArm("fresh runs", "must fail", replay.reproduced, replay.tries)
    if finding.patch is not None and finding.patch.checks.runs:
        checks = finding.patch.checks
        yield PageArm("with the patch", "must pass", checks.fail + checks.deadlocks, checks.runs)


def _features(finding: Finding) -> Mapping[str, float]:
    """Recon's, also of what another method found as well."""
    recon = next((one.features for one in finding.evidence if one.method == "recon"), None)
    return recon or finding.features


def _orders(finding: Finding, steps: Sequence[Step]) -> Iterator[tuple[int, int]]:
    for before, after in finding.orders:
        pair = step_of(finding, steps, before), step_of(finding, steps, after)
        if all(pair) and pair[0] != pair[1]:
            yield pair


def _passing(
    failure: FailureReport,
    finding: Finding,
    steps: Sequence[Step],
    names: dict[str, str],
    sources: Sources,
) -> PagePassing | None:
    if finding.nearest is None:
        return None
    shown = tuple(_shown_steps(failure, passing_steps(finding, steps), names, sources))
    note = difference_note(finding)
    return PagePassing(
        note=f"In the nearest passing run, {note}." if note else "The nearest passing run.",
        moved=step_of(finding, steps, finding.nearest.moved[1]),
        steps=shown,
    )


def _patch(one: NumberedFinding) -> PagePatch | None:
    patch = one.finding.patch
    if patch is None:
        return None
    return PagePatch(
        note=patch_note(patch, one.number),
        diff=patch.diff if patch.works else "",
        works=patch.works,
        tries=tuple(try_notes(patch)),
    )


def _commands(one: NumberedFinding) -> Iterator[PageCommand]:
    finding, name = one.finding, one.finding.id or str(one.number)
    run = (finding.replay.run if finding.replay else one.failure.run).lstrip("0")
    native = any(point.file.endswith(C_SOURCES + C_HEADERS) for point in finding.points)
    if run:
        debugger, there = ("--gdb", "gdb") if native else ("--pdb", "pdb")
        yield PageCommand("Replay it", f"unsnarl replay {run}")
        yield PageCommand(f"Stop in {there}", f"unsnarl replay {run} {debugger}")
    if finding.status == "confirmed":
        file = "repro.gdb" if native else "test_repro.py"
        yield PageCommand("Reproducer for others", f"unsnarl export {name} --reproducer {file}")
    if finding.patch is not None and finding.patch.works:
        yield PageCommand("Apply the patch", f"unsnarl fix {name} --apply")
        yield PageCommand("Check your own fix", "unsnarl verify")


def columns(trace: RunTrace) -> PageTrace:
    """A run in columns: what repeats is stored once."""
    threads = {path: at for at, path in enumerate(trace.threads)}
    points: dict[tuple[str, int, str, str, str], int] = {}
    ops: dict[str, int] = {}
    rows = []
    for at, event in enumerate(trace.events):
        point = (
            shown_path(event.file),
            event.line,
            event.function,
            event.text[:LONGEST_LINE],
            event.variable,
        )
        rows.append(
            (
                threads[event.thread],
                points.setdefault(point, len(points)),
                ops.setdefault(event.op, len(ops)),
                at - event.source if event.source >= 0 else 0,
            )
        )
    thread, where, op, source = zip(*rows, strict=True) if rows else ((), (), (), ())
    labels = [f"{name or 'thread'} {path}" for path, name in trace.threads.items()]
    return PageTrace(
        tuple(labels), tuple(points), tuple(ops), thread, where, op, source, trace.dropped
    )
