# SPDX-License-Identifier: Apache-2.0
"""What would mend the program, in one sentence."""

from __future__ import annotations

from msgspec.structs import replace

from unsnarl.model.finding import Repair, RepairPlace
from unsnarl.reports.source import Sources

MOST_OTHERS = 3


def with_texts(repair: Repair, sources: Sources) -> Repair:
    """The repair with the source text of its lines."""
    return replace(
        repair, begin=_with_text(repair.begin, sources), end=_with_text(repair.end, sources)
    )


def _with_text(place: RepairPlace, sources: Sources) -> RepairPlace:
    return replace(place, text=sources.line(place.file, place.line))


def fix_note(repair: Repair) -> str:
    """`Fix: hold Queue.lock from weblech.py:49 to :50: 0/200 runs fail, no deadlock.`"""
    if repair.works:
        return f"Fix: {_advice(repair)}: 0/{repair.runs} runs fail, no deadlock."
    return f"No fix found: the best tried, {_advice(repair)}, still {_shortcomings(repair)}."


def _shortcomings(repair: Repair) -> str:
    counts = [("fails", repair.fail), ("deadlocks", repair.deadlocks)]
    told = [f"{verb} in {count}/{repair.runs}" for verb, count in counts if count]
    return f"{' and '.join(told)} runs"


def _advice(repair: Repair) -> str:
    return _order(repair) if repair.kind == "order" else _region(repair)


def _region(repair: Repair) -> str:
    if not repair.lock_site:
        return f"make {_lines(repair)} atomic (a new lock{_also(repair, ', also')})"
    lock = repair.lock or f"the lock of {repair.lock_site}"
    if repair.reentrant:
        lock += " (an RLock)"  # a plain one would wait for itself
    link = "around" if _is_one_line(repair) else "from"
    return f"hold {lock} {link} {_lines(repair)}{_also(repair, ', and')}"


def _order(repair: Repair) -> str:
    before, after = _place(repair.begin), _place(repair.end)
    match repair.scope:
        case "each":
            return f"{before} of every thread must come before {after}"
        case "turns":
            return f"{after} must wait each time until {before} has come"
        case "ended":
            return f"the threads of {before} must have ended before {after}"
    return f"{before} must come before {after}"


def _also(repair: Repair, link: str) -> str:
    """The other places at which the lock must be held."""
    if not repair.others:
        return ""
    shown = ", ".join(repair.others[:MOST_OTHERS])
    more = len(repair.others) - MOST_OTHERS
    return f"{link} around {shown}" + (f" and {more} more" if more > 0 else "")


def _is_one_line(repair: Repair) -> bool:
    return (repair.begin.file, repair.begin.line) == (repair.end.file, repair.end.line)


def _lines(repair: Repair) -> str:
    """`bank.py:14`, `bank.py:14 to :17`; the second file only if it is another one."""
    if _is_one_line(repair):
        return _place(repair.begin)
    file = "" if repair.begin.file == repair.end.file else repair.end.file
    return f"{_place(repair.begin)} to {file}:{repair.end.line}"


def _place(place: RepairPlace) -> str:
    return f"{place.file}:{place.line}"
