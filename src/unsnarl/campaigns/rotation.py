# SPDX-License-Identifier: Apache-2.0
"""The plan of each run: which strategy, with which seed, told what.

A rotation of strategies finds more than any one of them: SURW is strong where threads do unequal
work, bugs of three threads need the others (design 5). SURW and the choice of switch points feed on
what earlier runs showed: the sites that touched shared cells, and how often each thread came by.
The draw for a run depends on the campaign's seed and the run's number alone.
"""

from __future__ import annotations

import random
import statistics
from collections import deque
from typing import Any

import msgspec

SURW_SHARE = 0.6
OTHERS = ("pos", "walk", "pct")
RUNS_BEFORE_NARROWING = 3
PROFILES = 8
DEFAULT_LENGTH = 200


class Profile(msgspec.Struct, frozen=True):
    """What a run tells the plans of later ones."""

    steps: int
    shared: frozenset[int]
    counts: dict[str, dict[int, int]]
    edges: tuple[tuple[int, int], ...]
    # Sites of writes and lock operations that could come in another order: a cell that is written
    # once, before it is shared, has none.
    contested: frozenset[int]
    # The switch point that stands before a site: all that the gate knows of it beforehand.
    heads: dict[int, int] = {}


class Rotation:
    """Makes plans; learns from profiles."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._learned = 0
        self._shared: set[int] = set()
        self._sites: list[int] = []
        self._passing: deque[Profile] = deque(maxlen=PROFILES)
        self._steps: deque[int] = deque(maxlen=PROFILES)
        self._clusters: list[list[int]] | None = None

    @property
    def learned(self) -> int:
        """How many profiles were taken in."""
        return self._learned

    def learn(self, profile: Profile, passed: bool) -> None:
        """Take in the profile of a finished run."""
        self._learned += 1
        self._steps.append(profile.steps)
        if not profile.shared <= self._shared:
            self._shared |= profile.shared
            self._sites = sorted(self._shared)
        if passed:
            self._passing.append(profile)
            self._clusters = None

    def plan(self, number: int) -> dict[str, Any]:
        """The part of a run's plan that the rotation decides."""
        draw = random.Random(f"{self._seed}/{number}")
        plan: dict[str, Any] = {
            "number": number,
            "seed": draw.getrandbits(32),
            "strategy": self._strategy(number, draw),
            "depth": draw.randint(2, 4),
            "length": self._length(),
            "sites": self._sites if self._learned >= RUNS_BEFORE_NARROWING else None,
            "interest": None,
            "counts": None,
        }
        if plan["strategy"] == "surw":
            plan |= self._interest(draw)
        return plan

    def _strategy(self, number: int, draw: random.Random) -> str:
        choice = draw.random()
        if not self._passing:
            return OTHERS[number % len(OTHERS)]
        if choice >= SURW_SHARE:
            return OTHERS[int((choice - SURW_SHARE) / (1 - SURW_SHARE) * len(OTHERS))]
        return "surw" if self.clusters() else OTHERS[number % len(OTHERS)]

    def _length(self) -> int:
        return max(1, int(statistics.median(self._steps))) if self._steps else DEFAULT_LENGTH

    def _interest(self, draw: random.Random) -> dict[str, Any]:
        """One cluster of sites, with each thread's events there in one passing run."""
        cluster = draw.choice(self.clusters())
        profile = draw.choice(self._passing)
        wanted = {profile.heads.get(site, site) for site in cluster}
        counts = {
            path: sum(count for site, count in sites.items() if site in wanted)
            for path, sites in profile.counts.items()
        }
        return {"interest": sorted(wanted), "counts": {p: n for p, n in counts.items() if n}}

    def clusters(self) -> list[list[int]]:
        """Connected components of the sites that edges join: roughly one per shared variable.

        Those whose order is fixed (set up by one thread, then only read) are left out: a run
        spent on them is a run wasted.
        """
        if self._clusters is None:
            pairs = {edge for profile in self._passing for edge in profile.edges}
            contested = frozenset().union(*(profile.contested for profile in self._passing))
            found = components(pairs)
            self._clusters = [c for c in found if not contested.isdisjoint(c)] or found
        return self._clusters


def components(pairs: set[tuple[int, int]]) -> list[list[int]]:
    """The connected components of a graph given by its edges; sorted, so that draws repeat."""
    parent: dict[int, int] = {}

    def top(site: int) -> int:
        parent.setdefault(site, site)
        while parent[site] != site:
            parent[site] = parent[parent[site]]
            site = parent[site]
        return site

    for one, other in pairs:
        parent[top(one)] = top(other)
    groups: dict[int, list[int]] = {}
    for site in sorted(parent):
        groups.setdefault(top(site), []).append(site)
    return sorted(groups.values())
