# SPDX-License-Identifier: Apache-2.0
"""What would repair the program, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from unsnarl.model.cpp_names import C_HEADERS, C_SOURCES
from unsnarl.model.report import FindingPoint, Fix, Patch, SourceLine
from unsnarl.model.sources import Sources
from unsnarl.reports.paths import shown_path

MOST_OTHERS = 3


def with_texts(fix: Fix, sources: Sources) -> Fix:
    """The fix with the source text of its lines."""
    return replace(fix, begin=_with_text(fix.begin, sources), end=_with_text(fix.end, sources))


def _with_text(line: SourceLine, sources: Sources) -> SourceLine:
    return replace(line, text=sources.line(line.file, line.line))


def fix_note(fix: Fix, points: Sequence[FindingPoint] = (), others: int = 0) -> str:
    """`Fix: hold Queue.lock from weblech.py:49 to :50: 0/200 runs fail, no deadlock.`

    `points` are the finding's: where its threads held which locks. Where there are other causes, it
    repairs one of them, and nothing more is promised.
    """
    advice = _advice(fix, points)
    if fix.works and others:
        repaired = "once the other cause is" if others == 1 else "once the other causes are"
        return f"For this cause: {advice}: 0/{fix.runs} runs fail {repaired} repaired, too."
    if fix.works:
        return f"Fix: {advice}: 0/{fix.runs} runs fail, no deadlock."
    if not fix.runs:
        return f"No fix found: there was no time to try this one: {advice}."
    return f"No fix found: the best one tried, {advice}, still {_shortcomings(fix)}."


def patch_note(patch: Patch, number: int) -> str:
    """What a patch does and how it was checked; where none was found, how near one came."""
    checks = patch.checks
    if patch.works:
        written = f"unsnarl fix {number} --apply writes it"
        return f"patch ({_said(patch)}): {_survived(patch)}. {written}."
    if not checks.bad:
        where = f"{_said(patch)} was not run often enough"
        return f"no patch was found yet: {where}. unsnarl fix {number} goes on."
    bad, runs = checks.bad, checks.runs + checks.replayed
    why = next((one.message for one in patch.tries if one.says == patch.says and one.message), "")
    came = f", but {why}" if why else f" still fails in {bad} of {runs} runs"
    return f"no patch was found; nearest: {_said(patch)}{came}."


def same_patch_note(patch: Patch, number: int) -> str:
    """What the patch of another failure, already shown, does for this one."""
    return f"The same patch repairs finding {number}: {_survived(patch)}."


def _survived(patch: Patch) -> str:
    checks = patch.checks
    replays = f", nor do {checks.replayed} replays of what failed" if checks.replayed else ""
    return f"0/{checks.runs} runs fail, no deadlock{replays}"


def _said(patch: Patch) -> str:
    """What it does, with paths as a person reads them."""
    said = patch.says
    for file in sorted(patch.files, key=len, reverse=True):
        said = said.replace(file, shown_path(file))
    return said


def try_notes(patch: Patch) -> list[str]:
    """Of every patch that was tried: what it does and what came of it."""
    notes = []
    for number, one in enumerate(patch.tries, 1):
        checks = one.checks
        runs = checks.runs + checks.replayed
        came = f"{checks.bad} of {runs} runs fail" if runs else "it cannot be run"
        why = f" ({one.message})" if one.message else ""
        notes.append(f"{number}. {one.says}: {came}{why}")
    return notes


def _shortcomings(fix: Fix) -> str:
    counts = [("fails", fix.fail), ("deadlocks", fix.deadlocks)]
    parts = [f"{verb} in {count}/{fix.runs}" for verb, count in counts if count]
    return f"{' and '.join(parts)} runs"


def _advice(fix: Fix, points: Sequence[FindingPoint]) -> str:
    if fix.kind == "region" and fix.lock and _is_held(fix, points):
        # Between the sections, not within one: there it is held.
        return f"keep {fix.lock} from one pass of {_lines(fix)} to the next{_also(fix, ', and')}"
    return _order(fix) if fix.kind == "order" else _region(fix)


def _is_held(fix: Fix, points: Sequence[FindingPoint]) -> bool:
    """Whether a thread came through the same line of the region twice, with the lock each time."""
    sections: dict[tuple[str, str, int], set[int]] = {}
    inside = [
        one
        for one in points
        if one.file == fix.begin.file and fix.begin.line <= one.line <= fix.end.line
    ]
    for one in inside:
        if fix.lock in one.locks and len(one.sections) == len(one.locks):
            section = one.sections[one.locks.index(fix.lock)]
            sections.setdefault((one.thread, one.file, one.line), set()).add(section)
    return any(len(some) > 1 for some in sections.values()) and all(
        fix.lock in one.locks for one in inside if one.variable
    )


def _region(fix: Fix) -> str:
    if not fix.lock_site:
        return f"make {_lines(fix)} atomic (a new lock{_also(fix, ', also')})"
    lock = fix.lock or f"the lock of {shown_path(fix.lock_site)}"
    if fix.reentrant:
        # A plain one would wait for itself.
        native = fix.begin.file.endswith(C_SOURCES + C_HEADERS)
        lock += " (a recursive mutex)" if native else " (an RLock)"
    link = "around" if _is_one_line(fix) else "from"
    return f"hold {lock} {link} {_lines(fix)}{_also(fix, ', and')}"


def _order(fix: Fix) -> str:
    before, after = _position(fix.begin), _position(fix.end)
    match fix.scope:
        case "each":
            return f"{before} of every thread must come before {after}"
        case "turns":
            return f"{after} must wait for {before} every time"
        case "ended":
            return f"the threads of {before} must have ended before {after}"
    return f"{before} must come before {after}"


def _also(fix: Fix, link: str) -> str:
    """The other lines at which the lock must be held."""
    if not fix.others:
        return ""
    shown = ", ".join(map(shown_path, fix.others[:MOST_OTHERS]))
    more = len(fix.others) - MOST_OTHERS
    return f"{link} around {shown}" + (f" and {more} more" if more > 0 else "")


def _is_one_line(fix: Fix) -> bool:
    return (fix.begin.file, fix.begin.line) == (fix.end.file, fix.end.line)


def _lines(fix: Fix) -> str:
    """`bank.py:14`, `bank.py:14 to :17`; the second file only if it is another one."""
    if _is_one_line(fix):
        return _position(fix.begin)
    file = "" if fix.begin.file == fix.end.file else shown_path(fix.end.file)
    return f"{_position(fix.begin)} to {file}:{fix.end.line}"


def _position(line: SourceLine) -> str:
    return f"{shown_path(line.file)}:{line.line}"
