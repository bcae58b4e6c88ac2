# SPDX-License-Identifier: Apache-2.0
"""The search for a patch: small ones first, and what fails says which one comes next."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.model.report import Patch, PatchTry
from unsnarl.patches.conflict import Conflict, accesses_in
from unsnarl.patches.drafts import cost, drafts, locked, with_reentrant_lock
from unsnarl.patches.regions import Draft
from unsnarl.patches.remaining import unprotected
from unsnarl.patches.source import LINES, TextFile
from unsnarl.patches.trying import WAITS, Tried
from unsnarl.replay.portable import PACKAGES

MOST_TRIED = 20
# For each set of lines that a failing run adds.
MOST_EXTENDED = 2
Try = Callable[[Draft], Tried]


@dataclass(frozen=True)
class FoundPatch:
    """A patch with its texts, which `--apply` writes."""

    patch: Patch
    draft: Draft


class DraftSearch:
    """Tries drafts for one finding until one survives; what they are, a language says."""

    sources: Mapping[str, TextFile]

    def __init__(self, attempt: Try, budget: Budget) -> None:
        self._attempt = attempt
        self._budget = budget
        self._queue: list[Draft] = []
        self._seen: set[str] = set()
        self._tries: list[PatchTry] = []

    def find(self) -> FoundPatch | None:
        """The first that works, or else the one that came nearest; None if none could be tried."""
        self._add(self.drafts(), first=False)
        best: tuple[float, Draft, Tried] | None = None
        while self._queue and len(self._tries) < MOST_TRIED:
            draft = self._queue.pop(0)
            tried = len(self._tries)
            self._budget.doing(f"trying patch {tried + 1}")
            try:
                came = self._attempt(draft) if self._budget.may_begin else None
            except OutOfTimeError:
                came = None
            if came is None:
                self._budget.note("patch", f"patches after {tried} were not tried", "time")
                break
            self._tries.append(PatchTry(draft.says, came.checks, came.message or came.failure))
            if came.works:
                return FoundPatch(self._patch(draft, came), draft)
            if best is None or _badness(came) < best[0]:
                best = _badness(came), draft, came
            if not came.whole and not came.message:
                self._budget.note("patch", "a patch was not run often enough", "time")
                break
            if came.message == WAITS:
                self._queue = [one for one in self._queue if not waits_too(one, draft)]
            self._add(self.next(draft, came), first=True)
        if best is None:
            return None
        return FoundPatch(self._patch(best[1], best[2]), best[1])

    def _add(self, more: list[Draft], *, first: bool) -> None:
        new = []
        for draft in more:
            key = repr(sorted(draft.texts.items()))
            if key not in self._seen:
                self._seen.add(key)
                new.append(draft)
        self._queue = [*new, *self._queue] if first else [*self._queue, *new]

    def drafts(self) -> list[Draft]:
        """What is worth a try, small ones first."""
        raise NotImplementedError

    def next(self, draft: Draft, came: Tried) -> list[Draft]:
        """What a failing run under a draft suggests."""
        raise NotImplementedError

    def remaining(self, draft: Draft) -> str:
        """The functions that still change what a lock protects, without it."""
        return ""

    def _patch(self, draft: Draft, came: Tried) -> Patch:
        others = self.remaining(draft) if came.works else ""
        return Patch(
            diff=unified(draft, self.sources),
            files=tuple(sorted(draft.texts)),
            kind=draft.kind,
            says=f"{draft.says}; not under it: {others}" if others else draft.says,
            checks=came.checks,
            tried=len(self._tries),
            works=came.works,
            tries=tuple(self._tries),
        )


class PatchSearch(DraftSearch):
    """The search for a patch of Python code."""

    def __init__(self, conflict: Conflict, attempt: Try, budget: Budget) -> None:
        super().__init__(attempt, budget)
        self._conflict = conflict
        self.sources = conflict.sources

    def drafts(self) -> list[Draft]:
        """See DraftSearch. What is wrong in a library is not repaired in who calls it."""
        found = drafts(self._conflict)
        files = {one.file for one in self._conflict.accesses}
        if not files or not all(map(self._is_installed, files)):
            return found
        return [draft for draft in found if any(map(self._is_installed, draft.texts))]

    def _is_installed(self, name: str) -> bool:
        return name in self.sources and not {*self.sources[name].path.parts}.isdisjoint(PACKAGES)

    def remaining(self, draft: Draft) -> str:
        """See DraftSearch."""
        return unprotected(self._conflict, draft)

    def next(self, draft: Draft, came: Tried) -> list[Draft]:
        """See DraftSearch."""
        if came.deadlocked:
            twice = with_reentrant_lock(self._conflict, draft)
            return [twice] if twice is not None else []
        return list(self._extended(draft, came)) if draft.kind == "lock" else []

    def _extended(self, draft: Draft, came: Tried) -> Iterator[Draft]:
        """With the functions in which the failing run accessed the variables at fault."""
        at_fault = self._conflict.at_fault
        functions = {(file, function) for file, function, name in came.accessed if name in at_fault}
        for calls in (False, True):
            missed = [
                span
                for span in accesses_in(self._conflict, functions, calls=calls)
                if not any(one.covers(span) for one in draft.spans)
            ]
            if missed:
                more = locked(self._conflict, (*draft.spans, *missed))
                same = (one for one in more if one.choice == draft.choice)
                yield from sorted(same, key=cost)[:MOST_EXTENDED]


def waits_too(draft: Draft, refused: Draft) -> bool:
    """Whether a lock is held at least as long as one that was held while its thread waited.

    Which lock it is makes no difference. In every turn of a loop it is not held as long.
    """
    if draft.choice is None or refused.choice is None or (draft.turns and not refused.turns):
        return False
    return all(any(own.covers(one) for own in draft.spans) for one in refused.spans)


def _badness(came: Tried) -> float:
    checks = came.checks
    total = checks.runs + checks.replayed
    return 1.0 if came.message or not total else checks.bad / total - total / 1e6


def unified(draft: Draft, sources: Mapping[str, TextFile]) -> str:
    """The draft as a unified diff that `patch -p1` and `git apply` take."""
    parts: list[str] = []
    for name, text in sorted(draft.texts.items()):
        old, new = sources[name].lines, LINES.findall(text)
        path = name.lstrip("/")  # an absolute one: `patch -d / -p1`
        for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
            parts.append(
                line if line.endswith(("\n", "\r")) else f"{line}\n\\ No newline at end of file\n"
            )
    return "".join(parts)
