# SPDX-License-Identifier: Apache-2.0
"""The sentences of a report: what a finding is about, its locks, a cycle, a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log10

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


def experiment_note(finding: Finding) -> str:
    """`(forced: 20/20 fail · forbidden: 0/20 fail · p < 1e-10)`, if it was tested."""
    forced, forbidden = finding.forced, finding.forbidden
    if forced is None or forbidden is None or finding.p_value is None:
        return ""
    chance = finding.p_value
    p_value = f"p < 1e{ceil(log10(chance))}" if 0 < chance < 0.001 else f"p = {chance:.2g}"
    return (
        f"(forced: {forced.fail}/{forced.runs} fail · "
        f"forbidden: {forbidden.fail}/{forbidden.runs} fail · {p_value})"
    )


def evidence_note(finding: Finding) -> str:
    """What single methods say of a joined finding: `recon 1st: B 26, C 1, R 0.98`."""
    parts = []
    for one in finding.evidence:
        values = ", ".join(f"{name} {value:.3g}" for name, value in one.features.items())
        parts.append(f"{one.method} no. {one.rank}" + (f" ({values})" if values else ""))
    return "evidence: " + " · ".join(parts) if parts else ""


def stack_lines(steps: Sequence[Step]) -> list[str]:
    """Who called what, for every step whose calls are known: `step 1: from spider.py:25 in run`."""
    return [
        f"step {step.number}: from " + ", from ".join(step.points[0].stack)
        for step in steps
        if step.points[0].stack
    ]


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
    seen = [step for step in core if not any(p.unseen for p in step.points if is_data(p))]
    if not known or len(seen) < 2:
        return ""
    held = _held(seen)
    common = set.intersection(*map(set, held.values()))
    if common:
        others = len([step for step in steps if any(map(is_data, step.points))]) - len(seen)
        who = _numbers(seen) + " hold" if others else "Every access holds"
        lock = min(common, key=held[seen[0].number].index)
        return _common_lock(f"{who} {lock}", seen)
    if not any(held.values()):
        where = "these accesses" if seen == core else _numbers(seen).lower()
        return f"No lock is held at {where}."
    return _namesakes(seen, held) or _broken_into(seen) or _no_common_lock(seen, held)


def _held(steps: Sequence[Step]) -> dict[int, tuple[str, ...]]:
    """The locks of each step; a number that tells none of them apart is left out."""
    held = {step.number: _locks(step.points) for step in steps}
    everything = {lock for locks in held.values() for lock in locks}
    names = [_plain(lock) for lock in everything]
    return {
        number: tuple(_plain(lock) if names.count(_plain(lock)) == 1 else lock for lock in locks)
        for number, locks in held.items()
    }


def _plain(lock: str) -> str:
    return lock.partition(" #")[0]


def _locks(points: Sequence[FindingPoint]) -> tuple[str, ...]:
    """The locks held at all the accesses of a step."""
    first, *rest = [point.locks for point in points if is_data(point)]
    return tuple(lock for lock in first if all(lock in locks for locks in rest))


def _numbers(steps: Sequence[Step]) -> str:
    """`Steps 1, 2 and 4`."""
    *most, last = [str(step.number) for step in steps]
    return f"Steps {', '.join(most)} and {last}" if most else f"Step {last}"


def _common_lock(held: str, core: Sequence[Step]) -> str:
    """Two steps of one thread with a remote step between, all under one lock: it was let go."""
    first, last = core[0], core[-1]
    if first.thread == last.thread and any(step.thread != first.thread for step in core):
        apart = f"steps {first.number} and {last.number} are in different critical sections"
        return f"{held}, but {apart}."
    if first.thread == last.thread:
        return f"{held}."
    return f"{held}, which does not say who comes first."


def _namesakes(core: Sequence[Step], held: Mapping[int, tuple[str, ...]]) -> str:
    """Every step holds a lock of this name, but they are not the same lock."""
    names = [set(map(_plain, held[step.number])) for step in core]
    for name in sorted(set.intersection(*names)):
        locks = {lock for all_of in held.values() for lock in all_of if _plain(lock) == name}
        count = {2: "two", 3: "three"}.get(len(locks), str(len(locks)))
        owner = name.rpartition(".")[0]
        what = f"locks of {count} different {owner} objects"
        return f"{_numbers(core)} hold {what if owner else f'{count} different locks'}."
    return ""


def _broken_into(core: Sequence[Step]) -> str:
    """Two steps are in one critical section, but who comes between does not take that lock."""
    first, last = core[0], core[-1]
    inner = [step for step in core if step.thread != first.thread]
    same = set(_sections(first)) & set(_sections(last))
    if first is last or first.thread != last.thread or not inner or not same:
        return ""
    lock = _sections(first)[min(same)]
    if any(lock in _locks(step.points) for step in inner):
        return ""
    does = "does" if len(inner) == 1 else "do"
    where = f"{_numbers([first, last])} are in one critical section of {_plain(lock)}"
    return f"{where}, but {_numbers(inner).lower()} {does} not hold it."


def _sections(step: Step) -> dict[int, str]:
    """The critical sections that a step is in, with their locks."""
    pairs = [
        pair
        for point in step.points
        if is_data(point)
        for pair in zip(point.sections, point.locks, strict=False)
    ]
    return dict(pairs)


def _no_common_lock(core: Sequence[Step], held: Mapping[int, tuple[str, ...]]) -> str:
    parts = []
    for locks in dict.fromkeys(held[step.number] for step in core):
        holders = [step for step in core if held[step.number] == locks]
        holds = "holds" if len(holders) == 1 else "hold"
        parts.append(f"{_numbers(holders).lower()} {holds} {' and '.join(locks) or 'none'}")
    return f"No common lock: {', '.join(parts)}."
