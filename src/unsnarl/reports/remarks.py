# SPDX-License-Identifier: Apache-2.0
"""The sentences of a report: what a finding is about, its locks, a wait cycle, a bound."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, log10

from unsnarl.model.report import FailureReport, Finding, FindingPoint, RunCounts
from unsnarl.model.run import bound_text
from unsnarl.reports.paths import shown_path
from unsnarl.reports.patterns import ACQUIRE, TIMEOUT, WAIT, is_data, whole
from unsnarl.reports.steps import Step, brief_steps, clean, core_steps
from unsnarl.reports.waits import OWNER

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
    """`lost update on Queue.qsize`; the kind where no shape fits, `what` in place of both."""
    names = [clean(name) for name in _shown_variables(finding)]
    if len(names) > 2:
        names = [", ".join(names[:2]), f"{len(names) - 2} more"]
    return (what or finding.shape or KINDS[finding.kind]) + (
        f" on {' and '.join(names)}" if names else ""
    )


def _shown_variables(finding: Finding) -> list[str]:
    """Those of the steps; not an element as well as the container that it is in."""
    points = [point for step in brief_steps(finding) for point in step.points]
    shown = {whole(point.variable) for point in points}
    names = [name for name in finding.variables if whole(name) in shown] or [*finding.variables]
    # Those that the sentence below the title is about come first, by the names that steps have.
    said = [name for name in dict.fromkeys(point.variable for point in points) if name not in names]
    names = [name for name in said if _is_said(name, finding.summary)] + names
    names.sort(key=lambda name: not _is_said(whole(name), finding.summary))
    return [name for name in names if whole(name) == name or whole(name) not in names]


def _is_said(name: str, sentence: str) -> bool:
    return bool(name and re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.]*\w)", sentence))


def experiment_note(finding: Finding) -> str:
    """`(forced: 20/20 fail · forbidden: 0/20 fail · p < 1e-10)`, if it was tested."""
    forced, forbidden = finding.forced, finding.forbidden
    if forced is None or forbidden is None or finding.p_value is None:
        return ""
    chance = finding.p_value
    p_value = f"p < 1e{ceil(log10(chance))}" if 0 < chance < 0.001 else f"p = {chance:.2g}"
    does = outcome(finding)
    given = f" · without {_others(finding)}" if finding.given else ""
    return (
        f"(forced: {forced.fail}/{forced.runs} {does} · "
        f"forbidden: {forbidden.fail}/{forbidden.runs} {does} · {p_value}{given})"
    )


def forbidden_note(finding: Finding) -> str:
    """What else was forbidden, and which failing runs it says nothing about."""
    lines = [f"{one.file}:{one.line}" for one in finding.windows]
    also = f"In other runs {_listed(lines)} does the same; forbidden as well." if lines else ""
    if finding.calls:
        also = _calls_note(finding.calls, lines)
    runs = plural(finding.left_out, "failing run")
    rest = f"Left out: {runs} without this order, which must have another cause."
    return " ".join(filter(None, (also, rest if finding.left_out else "")))


def _calls_note(function: str, lines: Sequence[str]) -> str:
    """That the calls are at fault: which of the state that they share does the harm is open."""
    others = f" ({_listed(lines)})" if lines else ""
    return (
        f"Confirmed of two calls of {function} at a time: without this order runs fail by other "
        f"state that they share{others}."
    )


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _others(finding: Finding) -> str:
    return "the other cause" if len(finding.given) == 1 else "the other causes"


def causes_note(count: int) -> str:
    """That it is not enough to repair one of several causes."""
    return f"{count} independent causes: {'both' if count == 2 else 'all'} must be mended."


def outcome(finding: Finding) -> str:
    """What runs do that go this way: a test may pass after a time limit has ended a deadlock."""
    limited = any(point.op == TIMEOUT for point in finding.points)
    return "deadlock" if limited else "fail"


def seen_in(failure: FailureReport, finding: Finding) -> str:
    """`in 25/25 failing, 0/25 passing runs`, as far as it is known."""
    if not failure.failing:
        return f"in {finding.runs}/{failure.count} failing runs"
    passing = f"{finding.passing}/{failure.passing} passing runs"
    return f"in {finding.runs}/{failure.failing} failing, {passing}"


def thread_label(failure: FailureReport, path: str) -> str:
    """The program's own name of a thread and its path: `worker-1 0.1`."""
    return f"{failure.threads.get(path) or 'thread'} {path}"


def support_note(finding: Finding) -> str:
    """What single methods say of a joined finding: `recon no. 1 (B 26, C 1, R 0.98)`."""
    parts = []
    for one in finding.evidence:
        values = ", ".join(f"{name} {value:.3g}" for name, value in one.features.items())
        parts.append(f"{one.method} no. {one.rank}" + (f" ({values})" if values else ""))
    return "support: " + " · ".join(parts) if parts else ""


def stack_lines(steps: Sequence[Step]) -> list[str]:
    """Who called what, where the calls are known: `steps 1 and 3: from spider.py:25 in run`."""
    stacks: dict[tuple[str, ...], list[Step]] = {}
    for step in steps:
        if step.number and step.points[0].stack:
            # A comprehension has a frame of its own, on the line of its function.
            stacks.setdefault(tuple(dict.fromkeys(step.points[0].stack)), []).append(step)
    return [
        f"{_numbers(behind).lower()}: from " + ", from ".join(map(shown_path, stack))
        for stack, behind in stacks.items()
    ]


def failure_bound(runs: RunCounts) -> str:
    """What runs without a failure say about the failure rate."""
    if not runs.passed:
        return f"0 failures in {plural(runs.total, 'run')}, of which none passed: nothing is known"
    hanging = f" ({runs.hang} reached the time limit)" if runs.hang else ""
    bound = bound_text(runs.total - runs.hang)
    return f"0 failures in {plural(runs.total, 'run')}{hanging}: {bound}"


def cycle_lines(failure: FailureReport, finding: Finding) -> list[tuple[str, str]]:
    """Who holds what and waits for what, and where: one pair per waiting thread."""
    lines = []
    for point in finding.points:
        if point.op == WAIT:
            taken = _taken_at(finding, point)
            holds = f"holds {' and '.join(point.locks)}{taken}, " if point.locks else ""
            who = thread_label(failure, point.thread)
            awaits = point.awaits or f"for {point.variable or 'an event'}"
            why = f": {clean(point.why)}" if point.why else ""
            sentence = f"{who} {holds}waits {clean(awaits)}{why}"
            position = f"at {shown_path(point.file)}:{point.line}  {clean(point.text)}".rstrip()
            lines.append((sentence, position))
    return lines


def _taken_at(finding: Finding, wait: FindingPoint) -> str:
    """Where a waiting thread took what it holds."""
    lines = [
        f"{shown_path(point.file)}:{point.line}"
        for point in finding.points
        if point.op == ACQUIRE and point.thread == wait.thread
    ]
    return f" (taken at {', '.join(lines)})" if lines else ""


def cycle_note(finding: Finding) -> str:
    """Why the waiting threads cannot go on."""
    waits = [point for point in finding.points if point.op == WAIT]
    if not waits:
        return ""
    held = {lock for point in waits for lock in point.locks}
    if all(point.variable in held or OWNER.match(point.why) for point in waits):
        return "Each of these threads waits for a lock that another of them holds."
    holder = next((point for point in waits if point.locks and point.variable not in held), None)
    if holder is None:
        return "None of these threads can go on: nothing will ever give them what they wait for."
    lock = " and ".join(holder.locks)
    needed = f"who would end that wait needs {lock} first"
    return f"{lock} is held while waiting {clean(holder.awaits)}, and {needed}: wait without it."


def lock_remark(finding: Finding, steps: Sequence[Step]) -> str:
    """Which lock guards the accesses that make the bug, and why it does not help."""
    core = [step for step in core_steps(finding, steps) if any(map(is_data, step.points))]
    seen = [step for step in core if not any(p.unseen for p in step.points if is_data(p))]
    if not finding.locks_checked or len(seen) < 2 or any(_hold_apart(step.points) for step in seen):
        return ""
    held = _held(seen)
    common = set.intersection(*map(set, held.values()))
    if common:
        lock = min(common, key=held[seen[0].number].index)
        who = "Every access holds" if _all_hold(steps, seen, lock) else _numbers(seen) + " hold"
        return _common_lock(f"{who} {lock}", seen)
    if not any(held.values()):
        where = "these accesses" if seen == core else _numbers(seen).lower()
        return f"No lock is held at {where}."
    return _namesakes(seen, held) or _broken_into(seen) or _no_common_lock(seen, held)


def _all_hold(steps: Sequence[Step], seen: Sequence[Step], lock: str) -> bool:
    """Whether the other accesses hold it as well."""
    others = [one for one in steps if one not in seen and any(map(is_data, one.points))]
    return all(lock in map(_plain, _locks(one.points)) for one in others)


def _held(steps: Sequence[Step]) -> dict[int, tuple[str, ...]]:
    """The locks of each step, without the numbers of those whose name is unique here."""
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


def _hold_apart(points: Sequence[FindingPoint]) -> bool:
    """Whether a step touches several objects, each under its own lock: none is common to all."""
    data = [point for point in points if is_data(point)]
    return all(point.locks for point in data) and not _locks(data)


def _numbers(steps: Sequence[Step]) -> str:
    """`Steps 1, 2 and 4`."""
    *most, last = [str(step.number) for step in steps]
    return f"Steps {', '.join(most)} and {last}" if most else f"Step {last}"


def _common_lock(held: str, core: Sequence[Step]) -> str:
    """Two steps of one thread with a remote step between, all under one lock: it was released."""
    first, last = core[0], core[-1]
    if first.thread == last.thread and any(step.thread != first.thread for step in core):
        apart = f"steps {first.number} and {last.number} are in different critical sections"
        return f"{held}, but {apart}."
    if first.thread == last.thread:
        return f"{held}."
    return f"{held}, which does not decide who comes first."


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
    """Two steps are in one critical section, but the thread in between does not take that lock."""
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
    return f"No common lock: {', '.join(parts)}.{_alike(held.values())}"


def _alike(held: Iterable[tuple[str, ...]]) -> str:
    """That locks of one name are not one lock: whoever made the second one is part of the bug."""
    names = sorted({lock for locks in held for lock in locks})
    alike = [name for name in names if sum(_plain(one) == _plain(name) for one in names) > 1]
    return f" {' and '.join(alike)} are different locks." if alike else ""
