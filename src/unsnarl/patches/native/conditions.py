# SPDX-License-Identifier: Apache-2.0
"""An order kept by a condition: one side waits until the other has said that it is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from unsnarl.model.report import Fix
from unsnarl.patches.native.conflict import CConflict
from unsnarl.patches.native.mutexes import HEADERS, PTHREAD, declare, include, new_name, new_type
from unsnarl.patches.native.source import CEdits, CSource, covering
from unsnarl.patches.regions import Draft

MAIN = (0,)


class Names(NamedTuple):
    """What is declared for it."""

    flag: str
    lock: str
    change: str
    guard: str


def events(conflict: CConflict) -> Iterator[Draft]:
    """A flag that is set behind what must come first, and waited for before the other."""
    fix = conflict.finding.fix
    if fix is None or fix.scope not in ("once", "") or fix.begin.file != fix.end.file:
        return
    source = conflict.sources.get(fix.begin.file)
    if source is None or source.path.suffix in HEADERS or not _is_natural(conflict, fix):
        return
    begin = covering(source, fix.begin.line, fix.begin.line)
    end = covering(source, fix.end.line, fix.end.line)
    if begin.function is end.function or not (begin.body.braced and end.body.braced):
        return
    if begin.statements[-1].kind not in ("simple", "for", "while", "block", "if"):
        return
    edits = CEdits(source)
    names = _names(source)
    pthread = new_type({source.name: source}) == PTHREAD
    for header in ("pthread.h",) if pthread else ("condition_variable", "mutex"):
        include(edits, header)
    declare(edits, _declarations(names, pthread=pthread))
    edits.line_behind(begin.statements[-1], _set(names, pthread=pthread), like=begin.statements[0])
    edits.line_before(end.statements[0], _wait(names, source, pthread=pthread))
    says = f"{source.name}:{end.lines[0]} waits until :{begin.lines[1]} has been done"
    yield Draft("event", says, {source.name: edits.text()}, 12)


def _is_natural(conflict: CConflict, fix: Fix) -> bool:
    """Whether no thread waits for one that was started after it: that would keep it from its part
    in the order that the program is written for."""
    paths = [
        [_started(one.thread) for one in conflict.points if (one.file, one.line) == position]
        for position in ((fix.begin.file, fix.begin.line), (fix.end.file, fix.end.line))
    ]
    first, last = paths
    return not first or not last or min(first) < max(last) or max(last) == MAIN


def _started(path: str) -> tuple[int, ...]:
    return tuple(int(part) for part in path.split(".") if part.isdigit())


def _names(source: CSource) -> Names:
    return Names(
        *(new_name(one, source.words) for one in ("is_ready", "ready_lock", "ready", "guard"))
    )


def _declarations(names: Names, *, pthread: bool) -> str:
    if pthread:
        return (
            f"static pthread_mutex_t {names.lock} = PTHREAD_MUTEX_INITIALIZER;\n"
            f"static pthread_cond_t {names.change} = PTHREAD_COND_INITIALIZER;\n"
            f"static int {names.flag};"
        )
    return (
        f"static std::mutex {names.lock};\n"
        f"static std::condition_variable {names.change};\n"
        f"static bool {names.flag};"
    )


def _set(names: Names, *, pthread: bool) -> str:
    if pthread:
        return (
            f"pthread_mutex_lock(&{names.lock});\n"
            f"{names.flag} = 1;\n"
            f"pthread_cond_broadcast(&{names.change});\n"
            f"pthread_mutex_unlock(&{names.lock});"
        )
    return (
        f"{names.lock}.lock();\n"
        f"{names.flag} = true;\n"
        f"{names.lock}.unlock();\n"
        f"{names.change}.notify_all();"
    )


def _wait(names: Names, source: CSource, *, pthread: bool) -> str:
    unit = source.unit_of_indentation
    if pthread:
        return (
            f"pthread_mutex_lock(&{names.lock});\n"
            f"while (!{names.flag})\n"
            f"{unit}pthread_cond_wait(&{names.change}, &{names.lock});\n"
            f"pthread_mutex_unlock(&{names.lock});"
        )
    return (
        f"std::unique_lock<std::mutex> {names.guard}({names.lock});\n"
        f"while (!{names.flag})\n"
        f"{unit}{names.change}.wait({names.guard});\n"
        f"{names.guard}.unlock();"
    )
