# SPDX-License-Identifier: Apache-2.0
"""The plan of each run: which strategy, with which seed and which hints.

A rotation of strategies finds more than any one of them: SURW is strong where threads do unequal
work, RFF where a read must take one certain write, bugs of three threads need the others. Plans
feed on what earlier runs showed: the sites that touched shared cells, how often each thread came
by, which writes reads took, and which strategies' runs failed. Apart from that, the draw for a run
depends on the campaign's seed and the run's number alone, so that hunts repeat (lessons.py).
"""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from unsnarl.campaigns.narrowing import Narrowing
from unsnarl.campaigns.profile import Profile
from unsnarl.campaigns.read_sources import ReadSources
from unsnarl.campaigns.shares import Shares
from unsnarl.model.plan import Plan, Strategy

# SURW: selectively uniform random walk (Zhao et al., ASPLOS 2025). POS: partial order sampling
# (Yuan et al., CAV 2018). PCT: random priorities with few change points (Burckhardt et al., 2010).
# RFF: read_sources.py.
STRATEGIES: tuple[Strategy, ...] = ("surw", "rff", "pos", "walk", "pct")
# They need nothing of earlier runs; as first ones in this order (docs/adr/0058).
UNTAUGHT: tuple[Strategy, ...] = ("walk", "pos", "pct")
# The latest passing runs, of which SURW draws one for its counts.
PROFILES = 8
# Of the runs of a hunt with a lead: those that switch only there.
LED_SHARE = 0.5
# What chooses among the threads that RFF's rules do not hold: SURW so often, else POS.
SURW_SHARE_OF_RFF = 0.6


class Rotation:
    """Makes plans; learns from profiles and from what came of the runs.

    Plans after that of run `teachers` do not depend on each other.
    """

    def __init__(
        self,
        seed: int,
        strategies: tuple[Strategy, ...] = STRATEGIES,
        teachers: int = sys.maxsize,
    ) -> None:
        self._seed = seed
        self._teachers = teachers
        self._strategies = strategies
        self._shares = Shares()
        self._narrowing = Narrowing()
        self._sources = ReadSources()
        self._passing: deque[Profile] = deque(maxlen=PROFILES)
        self._clusters: list[list[int]] | None = None
        self._suspected: list[int] = []

    def count(self, strategy: str, failed: bool) -> None:
        """Take in how a run ended."""
        self._shares.count(strategy, failed)

    def learn(self, profile: Profile, *, passed: bool, wide: bool = True) -> None:
        """Take in what a finished run showed; `wide`: it could switch anywhere."""
        self._narrowing.learn(profile.shared, profile.steps, wide)
        self._sources.learn(profile)
        if passed:
            self._passing.append(profile)
            self._clusters = None

    def plan(self, number: int, *, want_passing: bool = False, **fields: Any) -> Plan:
        """The plan of a run: what the rotation decides, and `fields` from whoever runs it."""
        # By number: a run's seed does not depend on the order in which runs end. Each choice has
        # its own generator, so that no draw depends on how many others were made before it.
        draw = random.Random(f"{self._seed}/{number}")
        sites = self._lead_of(number) or self._narrowing.draw(draw)
        plan = Plan(
            number=number,
            seed=draw.getrandbits(32),
            # 92 % of such bugs need an order of at most four accesses (Lu et al., ASPLOS 2008).
            depth=draw.randint(2, 4),
            strategy=self._strategy(number, want_passing),
            length=self._narrowing.length(sites is None),
            sites=sites,
            **fields,
        )
        return replace(plan, **self._hints(plan, draw))

    def lead(self, sites: Iterable[int]) -> None:
        """Have half of the runs switch only at these sites: something else suspects them."""
        self._suspected = sorted(sites)

    def _lead_of(self, number: int) -> list[int] | None:
        if not self._suspected:
            return None
        # Drawn apart: other draws are the same with and without a lead.
        is_led = random.Random(f"{self._seed}/{number}/led").random() < LED_SHARE
        return self._suspected if is_led else None

    def serial_plan(self, number: int, **fields: Any) -> Plan:
        """A run in which no thread is interrupted: another comes when one waits or has ended."""
        return replace(self.plan(number, **fields), strategy="serial", rules=())

    def _strategy(self, number: int, want_passing: bool) -> Strategy:
        possible = [strategy for strategy in self._strategies if self._can(strategy)]
        taught = [strategy for strategy in self._strategies if strategy not in UNTAUGHT]
        if taught and not set(taught) & set(possible):
            # Nothing is known yet: the others take turns.
            first = [strategy for strategy in UNTAUGHT if strategy in possible] or UNTAUGHT
            return first[(number - 1) % len(first)]
        if want_passing:
            draw = random.Random(f"{self._seed}/{number}/strategy")
            return self._shares.passing(draw, possible)
        return self._shares.next(number, possible)

    def _can(self, strategy: Strategy) -> bool:
        if strategy == "surw":
            return bool(self._passing and self.clusters())
        return strategy != "rff" or bool(self._sources)

    def _hints(self, plan: Plan, draw: random.Random) -> dict[str, Any]:
        if plan.strategy == "surw":
            return self._interest(draw)
        if plan.strategy == "rff":
            # A hold that outlasts a whole run helps nobody: somebody spins.
            limit = 2 * plan.length + 100
            counts = plan.number <= self._teachers
            rules = self._sources.rules(draw, plan.switch, limit, counts=counts)
            with_surw = draw.random() < SURW_SHARE_OF_RFF and self._can("surw")
            return {"rules": rules} | (self._interest(draw) if with_surw else {})
        return {}

    def _interest(self, draw: random.Random) -> dict[str, Any]:
        """One cluster of sites, with each thread's events there in one passing run."""
        cluster = draw.choice(self.clusters())
        profile = draw.choice(self._passing)
        # Under the lock, SURW can only wait at the switch point before a site. On logsweep 67 of
        # 182 runs failed with it, and none without (docs/adr/0009).
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
