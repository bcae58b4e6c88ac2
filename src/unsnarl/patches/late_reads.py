# SPDX-License-Identifier: Apache-2.0
"""Patches of who comes too early: it waits for the critical section of who is still at work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from unsnarl.model.report import FindingPoint
from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.conflict import Conflict, whole_name
from unsnarl.patches.locks import LockChoice, classes, plain_name, with_bases
from unsnarl.patches.moves import PUBLISHED
from unsnarl.patches.pieces import made
from unsnarl.patches.regions import Draft, lock_draft

# Compared with a move of the lines that publish.
LATER = 3


def late_reads(conflict: Conflict) -> Iterator[Draft]:
    """The read of what is not ready under the lock that its writer holds from the sign that it is
    ready until it is.

    Who has seen the sign then waits until the section is over. What was looked at before needs no
    lock: that is the sign.
    """
    if conflict.finding.shape != PUBLISHED:
        return
    for early, late in combinations(conflict.points, 2):
        if early.role != late.role or "read" in (early.op, late.op):
            continue
        for lock in _held_throughout(early, late):
            spans = list(dict.fromkeys(_too_early(conflict, late, lock)))
            for choice in _choices(conflict, lock) if spans else ():
                yield from made(_under, conflict, spans, choice)


def _under(conflict: Conflict, spans: list[LineSpan], choice: LockChoice) -> Draft:
    """A kind of its own: what belongs together here need not be in one critical section.

    To publish later is better than to have everybody wait, and costs less at every read.
    """
    draft = lock_draft(conflict.sources, spans, choice)
    return replace(draft, kind="late-read", size=draft.size + LATER)


def _choices(conflict: Conflict, lock: str) -> Iterator[LockChoice]:
    """The lock as an attribute of its class, and of those that this is derived from."""
    owner, _, name = plain_name(lock).rpartition(".")
    owner = owner.rpartition(".")[2]
    owners = classes(conflict.sources)
    yield LockChoice(owner, name)
    for base in with_bases(owner, owners) if owner in owners else ():
        if base != owner and name in owners[base].members:
            yield LockChoice(base, name)


def _held_throughout(early: FindingPoint, late: FindingPoint) -> list[str]:
    """The locks of the critical sections that have both accesses."""
    first = dict(zip(early.locks, early.sections, strict=False))
    last = dict(zip(late.locks, late.sections, strict=False))
    return [lock for lock, section in first.items() if last.get(lock) == section]


def _too_early(conflict: Conflict, late: FindingPoint, lock: str) -> Iterator[LineSpan]:
    """Where others read, without the lock, what is written late."""
    for one in conflict.points:
        same = one.role != late.role and whole_name(one) == whole_name(late)
        if same and one.op == "read" and lock not in one.locks:
            yield LineSpan(one.file, one.line, one.line)
