# SPDX-License-Identifier: Apache-2.0
"""All patches of C and C++ that are worth a try for a finding, and their search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from unsnarl.execution.budget import Budget
from unsnarl.model.report import FindingPoint
from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.conflict import frames
from unsnarl.patches.drafts import cost
from unsnarl.patches.locks import plain_name
from unsnarl.patches.native.conflict import CConflict, accesses_in, span_sets
from unsnarl.patches.native.mutexes import (
    Mutex,
    is_unlock,
    mutexes,
    new_name,
    new_type,
    synchronises,
)
from unsnarl.patches.native.other_drafts import other_drafts
from unsnarl.patches.native.regions import lock_draft
from unsnarl.patches.native.source import CSource, covering
from unsnarl.patches.regions import Draft
from unsnarl.patches.search import DraftSearch, Try
from unsnarl.patches.source import UnpatchableError
from unsnarl.patches.trying import Tried


class CPatchSearch(DraftSearch):
    """The search for a patch of C or C++ code."""

    def __init__(self, conflict: CConflict, attempt: Try, budget: Budget) -> None:
        super().__init__(attempt, budget)
        self._conflict = conflict
        self.sources = conflict.sources

    def drafts(self) -> list[Draft]:
        """See DraftSearch."""
        found: dict[tuple[tuple[str, str], ...], Draft] = {}
        for draft in (*other_drafts(self._conflict), *self._locked()):
            found.setdefault(tuple(sorted(draft.texts.items())), draft)
        return sorted(found.values(), key=cost)

    def _locked(self) -> Iterator[Draft]:
        for spans in span_sets(self._conflict):
            yield from locked(self._conflict, spans)

    def next(self, draft: Draft, came: Tried) -> list[Draft]:
        """See DraftSearch."""
        if draft.kind != "lock":
            return []
        if came.deadlocked:
            # Another mutex may be held there: this one is taken before it.
            spans = [outside(self._conflict.sources[one.file], one) for one in draft.spans]
            return [one for one in locked(self._conflict, spans) if one.choice == draft.choice]
        names = {name for _, name in self._conflict.names}
        functions = {(file, function) for file, function, name in came.accessed if name in names}
        missed = [
            span
            for span in accesses_in(self._conflict, functions)
            if not any(one.covers(span) for one in draft.spans)
        ]
        sets = [(*draft.spans, *missed)] if missed else []
        sets.append(tuple(wider(self._conflict.sources[one.file], one) for one in draft.spans))
        more = [one for spans in sets for one in locked(self._conflict, spans)]
        return [one for one in more if one.choice == draft.choice][:2]


def outside(source: CSource, span: LineSpan) -> LineSpan:
    """With the critical sections that a span lies in; itself if it lies in none."""
    try:
        run = covering(source, span.first, span.last)
    except UnpatchableError:
        return span
    first, last = run.first, run.last
    siblings = run.body.statements
    for index in range(run.first):
        if synchronises(siblings[index]) and not is_unlock(siblings[index]):
            closing = [at for at in range(index, run.first) if is_unlock(siblings[at])]
            if not closing:
                behind = range(run.last + 1, len(siblings))
                first = min(first, index)
                last = next((at for at in behind if is_unlock(siblings[at])), len(siblings) - 1)
    whole = run.widened(first, last)
    return LineSpan(span.file, *whole.lines)


def wider(source: CSource, span: LineSpan) -> LineSpan:
    """The lines of the loop or branch around a span; itself if there is none."""
    try:
        run = covering(source, span.first, span.last)
    except UnpatchableError:
        return span
    loops = [one for one in run.around if one.kind != "block"]
    return LineSpan(span.file, *source.lines_of(loops[-1])) if loops else span


def locked(conflict: CConflict, spans: Iterable[LineSpan]) -> Iterator[Draft]:
    """The lines under each mutex that they can reach, and under a new one."""
    wanted = _apart(span for span in spans if span.file in conflict.sources)
    if not wanted:
        return
    for mutex in choices(conflict, wanted):
        try:
            draft = lock_draft(conflict.sources, wanted, mutex, conflict.at_fault)
        except UnpatchableError:
            continue
        if protects(conflict, draft, mutex):
            yield draft


def _apart(spans: Iterable[LineSpan]) -> list[LineSpan]:
    """Without those that lie in others."""
    every = sorted(set(spans), key=lambda one: (one.file, one.first, -one.last))
    found: list[LineSpan] = []
    for span in every:
        if not any(one.covers(span) for one in found):
            found.append(span)
    return found


def choices(conflict: CConflict, spans: Sequence[LineSpan]) -> Iterator[Mutex]:
    """The program's mutexes, those first that the finding names, then a new one."""
    named = {
        plain_name(lock).rpartition(".")[2] for point in conflict.points for lock in point.locks
    }
    fix = conflict.finding.fix
    if fix is not None and fix.lock:
        named.add(plain_name(fix.lock).rpartition(".")[2])
    yield from sorted(mutexes(conflict.sources), key=lambda one: one.name not in named)
    variable = next((name for _, name in conflict.names if name.isidentifier()), "shared")
    taken = frozenset().union(*(source.words for source in conflict.sources.values()))
    # Two underscores in a row are the compiler's: `values_` is a member.
    name = new_name(f"{variable.strip('_') or 'shared'}_lock", taken)
    used = {span.file: conflict.sources[span.file] for span in spans}
    yield Mutex("", name, spans[0].file, is_new=True, type=new_type(used))


def protects(conflict: CConflict, draft: Draft, mutex: Mutex) -> bool:
    """Whether every access at fault is under the mutex: else the failure only becomes rarer."""
    return all(_is_protected(point, draft, mutex) for point in conflict.conflicting)


def _is_protected(point: FindingPoint, draft: Draft, mutex: Mutex) -> bool:
    for frame in frames(point):
        line = LineSpan(frame.file, frame.line, frame.line)
        if any(span.covers(line) for span in draft.spans):
            return True
    held = {plain_name(lock).rpartition(".")[2] for lock in point.locks}
    return not mutex.is_new and mutex.name in held
