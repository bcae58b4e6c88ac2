# SPDX-License-Identifier: Apache-2.0
"""Rules that change the write that a read takes: one that no run has seen it take (rff).

After RFF (Wolff et al., "Greybox fuzzing for concurrency testing", ASPLOS 2024). The communication
graph of earlier runs has which points met at one cell and which writes were followed by which
reads. A target is a read and a write that it has not taken yet, or the value from before all
writes. The gate's rules lead a run there: the reader is held until the write has happened and other
writers until the read has, or all writers until the read has. Where the rules hold everybody the
gate gives them up, so a target that cannot be reached costs a run and no more. Locks count as
cells: who takes one next is decided where it is acquired.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable

from unsnarl.campaigns.profile import Profile
from unsnarl.model.event import Op, op_of, point_of, site_of
from unsnarl.model.plan import Match, Rule
from unsnarl.model.run import Switch

# A read and the write that it is to take; None: the value from before all writes.
Source = tuple[int, int | None]

READS = (Op.READ, Op.CALL, Op.ACQUIRE)
WRITES = (Op.WRITE, Op.CALL, Op.ACQUIRE)
# Operations that may be pending at the switch point before an access.
PENDING = (Op.READ, Op.WRITE, Op.ACQUIRE, Op.CALL)
MOST_SOURCES = 5000
# How many targets a run has: bugs of two variables need two, but each makes the others less likely.
TARGETS = (1, 1, 2)


class ReadSources:
    """Which writes reads have taken, and which they could."""

    def __init__(self) -> None:
        self._tries: Counter[Source] = Counter()
        self._taken: set[Source] = set()
        self._writes: dict[int, set[int]] = defaultdict(set)
        self._near: dict[int, set[int]] = defaultdict(set)
        self._paths: dict[int, set[str]] = defaultdict(set)
        self._heads: dict[int, set[int]] = defaultdict(set)
        self._cells: set[tuple[int, ...]] = set()
        self._met: dict[str, set[int]] = defaultdict(set)
        self._met_heads: set[tuple[int, int]] = set()

    def __bool__(self) -> bool:
        return bool(self._tries)

    def learn(self, profile: Profile) -> None:
        """Take in what one run shows."""
        # Runs of one program are mostly alike: only what is new in this one is looked at.
        for path, sites in profile.counts.items():
            new = sites.keys() - self._met[path]
            self._met[path] |= new
            for site in new:
                self._paths[site].add(path)
        heads = profile.heads.items() - self._met_heads
        self._met_heads |= heads
        for site, head in heads:
            self._heads[site].add(head)
        for cell in sorted(profile.cells - self._cells):
            self._cells.add(cell)
            self._add_cell(cell)
        for write, read in profile.sources:
            if (read, write) in self._tries and (read, write) not in self._taken:
                self._taken.add((read, write))
                self._tries[read, write] += 1

    def _add_cell(self, points: Iterable[int]) -> None:
        reads = [point for point in points if op_of(point) in READS]
        writes = [point for point in points if op_of(point) in WRITES]
        for read in reads:
            self._near[read].update(points)
            self._writes[read].update(writes)
            for source in (None, *writes):
                if len(self._tries) < MOST_SOURCES:
                    self._tries.setdefault((read, source), 0)

    def rules(
        self, draw: random.Random, switch: Switch | None, limit: int, *, counts: bool = True
    ) -> tuple[Rule, ...]:
        """Rules for the next run, towards what was tried and seen least.

        Where plans do not count, they know nothing of each other: each is towards any source.
        """
        found: list[Rule] = []
        for _ in range(draw.choice(TARGETS)):
            read, write = self._least_tried(draw) if counts else draw.choice(list(self._tries))
            self._tries[read, write] += counts
            if write is None:
                found += self._before_writes(read, draw)
            else:
                found += self._from_write(read, write, draw)
        return tuple(self._as_gated(rule, switch, limit) for rule in found)

    def _least_tried(self, draw: random.Random) -> Source:
        least = min(self._tries.values())
        pool = [source for source, tries in self._tries.items() if tries == least]
        return draw.choice(pool)

    def _before_writes(self, read: int, draw: random.Random) -> tuple[Rule, ...]:
        """All writers wait until the read has happened."""
        reader = self._drawn_path(read, draw)
        # Who only writes what it reads itself cannot come between.
        held = [w for w in self._writes[read] if w != read and self._paths[site_of(w)] != {reader}]
        until = Match((read,), path=reader)
        return (Rule(hold=_match(held), until=until),) if held else ()

    def _from_write(self, read: int, write: int, draw: random.Random) -> tuple[Rule, ...]:
        """The reader waits until the write has happened, then other writers until the read has."""
        reader = self._drawn_path(read, draw)
        writer = self._drawn_path(write, draw, other_than=reader)
        after = [point for point in self._near[read] if point != read]
        # The write between two accesses of the reader, or before the first.
        when = _match(after, reader) if after and draw.random() < 0.5 else None
        wait = Rule(
            when=when,
            hold=Match((read,), path=reader, who="self" if when else "any"),
            until=Match((write,), path=writer, who="others" if when else "any"),
        )
        others = [point for point in self._writes[read] if point != read]
        if not others:
            return (wait,)
        until = Match((read,), path=reader)
        keep = Rule(when=Match((write,), path=writer), hold=_match(others), until=until, once=True)
        return (wait, keep)

    def _drawn_path(
        self, point: int, draw: random.Random, other_than: str | None = None
    ) -> str | None:
        """One thread of those that come by a point; None, for any, half of the time."""
        paths = sorted(path for path in self._paths[site_of(point)] if path != other_than)
        one = draw.choice(paths) if paths else None
        return one if draw.random() < 0.5 or len(paths) < 2 else None

    def _as_gated(self, rule: Rule, switch: Switch | None, limit: int) -> Rule:
        """Under the interpreter's lock, a thread can be held only at the head of an access."""
        hold = rule.hold
        if switch == "free" or hold is None:
            return Rule(rule.when, hold, rule.until, limit, rule.once)
        heads = {head for point in hold.points for head in self._heads[site_of(point)]}
        points = {point_of(head, op) for head in heads for op in PENDING} | set(hold.points)
        at_heads = Match(tuple(sorted(points)), hold.path, hold.occurrence, hold.who)
        return Rule(rule.when, at_heads, rule.until, limit, rule.once)


def _match(points: Iterable[int], path: str | None = None) -> Match:
    return Match(tuple(sorted(points)), path=path)
