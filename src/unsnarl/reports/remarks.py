# SPDX-License-Identifier: Apache-2.0
"""The sentences of a report: what a finding is about, its locks, a cycle, a bound."""

from __future__ import annotations

from collections.abc import Sequence

from unsnarl.model.finding import FailureReport, Finding, FindingPoint, RunCounts
from unsnarl.reports.details import thread_label
from unsnarl.reports.patterns import ACQUIRE, WAIT, is_data
from unsnarl.reports.steps import Step, clean, core_steps

KINDS = {
    "atomicity": "atomicity violation",
    "order": "order violation",
    "race": "data race",
    "deadlock": "deadlock",
    "other": "suspicious interleaving",
}


def plural(count: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def title(finding: Finding, what: str = "") -> str:
    """`atomicity violation on Queue.qsize`; `what` in place of the kind."""
    names = [clean(name) for name in finding.variables]
    if len(names) > 2:
        names = [", ".join(names[:2]), f"{len(names) - 2} more"]
    return (what or KINDS[finding.kind]) + (f" on {' and '.join(names)}" if names else "")


def evidence_note(finding: Finding) -> str:
    """What single methods say of a joined finding: `recon 1st: B 26, C 1, R 0.98`."""
    parts = []
    for one in finding.evidence:
        values = ", ".join(f"{name} {value:.3g}" for name, value in one.features.items())
        parts.append(f"{one.method} no. {one.rank}" + (f" ({values})" if values else ""))
    return "evidence: " + " · ".join(parts)


def failure_bound(runs: RunCounts) -> str:
    """What runs without a failure allow to say (the rule of three; design 6)."""
    if not runs.passed:
        return f"0 failures in {plural(runs.total, 'run')}, of which none passed: nothing is known"
    percent = min(300 / runs.passed, 100.0)
    digits = f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"
    bound = f"failure rate below {digits} % at 95 % confidence"
    hanging = f" ({runs.hang} reached the time limit)" if runs.hang else ""
    return f"0 failures in {plural(runs.total, 'run')}{hanging}: {bound}"


def cycle_lines(failure: FailureReport, finding: Finding) -> list[tuple[str, str]]:
    """Who holds what and waits for what, and where: one pair per waiting thread."""
    lines = []
    for point in finding.points:
        if point.op == WAIT:
            taken = _taken_at(finding, point)
            holds = f"holds {' and '.join(point.locks)}{taken}, " if point.locks else ""
            who = thread_label(failure, point.thread)
            sentence = f"{who} {holds}waits for {point.variable or 'an event'}"
            place = f"at {point.file}:{point.line}  {clean(point.text)}".rstrip()
            lines.append((sentence, place))
    return lines


def _taken_at(finding: Finding, wait: FindingPoint) -> str:
    """Where a waiting thread took what it holds."""
    places = [
        f"{point.file}:{point.line}"
        for point in finding.points
        if point.op == ACQUIRE and point.thread == wait.thread
    ]
    return f" (taken at {', '.join(places)})" if places else ""


def cycle_note(finding: Finding) -> str:
    """How the waiting threads hang together."""
    waits = [point for point in finding.points if point.op == WAIT]
    if not waits:
        return ""
    held = {lock for point in waits for lock in point.locks}
    if all(point.variable in held for point in waits):
        return "Each of these threads waits for a lock that another of them holds."
    return "None of these threads can go on: nobody is left to give them what they wait for."


def lock_remark(finding: Finding, steps: Sequence[Step], *, known: bool) -> str:
    """Which lock guards the accesses that make the bug, and why it does not help."""
    core = [step for step in core_steps(finding, steps) if any(map(is_data, step.points))]
    if not known or len(core) < 2:
        return ""
    held = [_locks(step.points) for step in core]
    common = set.intersection(*(set(locks) for locks in held))
    if common:
        others = len([step for step in steps if any(map(is_data, step.points))]) - len(core)
        who = _numbers(core) + " hold" if others else "Every access holds"
        return _common_lock(f"{who} {min(common, key=held[0].index)}", core)
    if not any(held):
        return "No lock is held at these accesses."
    parts = [
        f"step {s.number} holds {' and '.join(h) or 'none'}"
        for s, h in zip(core, held, strict=True)
    ]
    return f"No common lock: {', '.join(parts)}."


def _locks(points: Sequence[FindingPoint]) -> tuple[str, ...]:
    """The locks held at all the accesses of a step."""
    first, *rest = [point.locks for point in points if is_data(point)]
    return tuple(lock for lock in first if all(lock in locks for locks in rest))


def _numbers(steps: Sequence[Step]) -> str:
    """`Steps 1, 2 and 4`."""
    numbers = [str(step.number) for step in steps]
    return f"Steps {', '.join(numbers[:-1])} and {numbers[-1]}"


def _common_lock(held: str, core: Sequence[Step]) -> str:
    """Two steps of one thread with a remote step between, all under one lock: it was let go."""
    first, last = core[0], core[-1]
    if first.thread == last.thread and first is not last:
        apart = f"steps {first.number} and {last.number} are in different critical sections"
        return f"{held}, but {apart}."
    return f"{held}, which does not say who comes first."
