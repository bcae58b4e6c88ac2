# SPDX-License-Identifier: Apache-2.0
"""The smallest set of constraints under which the failure happens every time.

A run that passes although it keeps the chosen constraints breaks others that the failing run
keeps: at least one of these is missing. So every passing trial is a clause, the next choice is the
cheapest set that has a constraint of every clause, and it is challenged until no trial passes any
more. Nothing is dropped on the strength of a few lucky trials, as when constraints are left out one
by one (delta debugging made sets that failed in 77 of 100 runs).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from unsnarl.experiments.constraints import Constraint, Event, Key, Moments, Timeline, departures
from unsnarl.experiments.hitting import cheapest
from unsnarl.experiments.orders import orders
from unsnarl.experiments.scene import Spot
from unsnarl.experiments.told import Chain, chains, is_implied, steps, tells
from unsnarl.experiments.trials import Plan, Trial, Trials, fresh_plans, replaying
from unsnarl.runfile import RunFile

MOST_REPLAYS = 300
# Failing runs to start from, and how many of the replays may have been used after each.
SHARES = (200, MOST_REPLAYS)
# Trials without constraints for a start.
FIRST = 12
# Fresh trials that certify a choice, a few first.
BATCHES = (4, 8, 16, 32, 40)
# More for a choice under which threads do not do the same in every run: what it speaks of may have
# another meaning in one of them.
MORE = (60,)
# Runs that end in another failure of the campaign say nothing, unless they are more than this.
ODD = 0.2
# Where nothing is certain: what fails in so many of the fresh trials is told as it is.
NEAR = 0.9
# Passing schedules that are tried again under every new choice, and orders broken on purpose.
OLD_PASSES = 4
DOUBTS = (6, 6, 12)
# To leave out a step of the finding costs this: it decides between sets that cost the same. What is
# known to bring the failure is left out only for something that says more.
UNTOLD = 0.4
UNTOLD_THOUGH_SURE = 1.0
# An event whose thread does it more or less often from run to run makes a poor anchor.
UNSTEADY = 0.3


@dataclass(frozen=True)
class Minimal:
    """Constraints, and how often the failure came about under them in fresh runs.

    Attributes:
        replays: Trials that it took to find them, without those that certify them.
        run: The failing run that they are taken from.
        timeline: Its events.
        failing: The thread that failed in it.
        told: The finding as it occurred in that run, if the constraints imply its order.
        passes: The passing trials that were met on the way.
        odd: Further fresh runs, which another failure of the program ended first.
    """

    constraints: tuple[Constraint, ...]
    reproduced: int
    tries: int
    replays: int
    run: RunFile
    timeline: Timeline
    failing: str
    told: Chain = ()
    passes: tuple[Trial, ...] = ()
    odd: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether the failure came about in every fresh run."""
        return self.reproduced == self.tries

    @property
    def tells_all(self) -> bool:
        """Whether every step of the finding is among what makes the failure certain."""
        return bool(self.told)


class Minimiser:
    """Cuts failing runs of one signature down to what matters.

    `others` are signatures that have other causes.
    """

    def __init__(self, trials: Trials, signature: str, others: Collection[str] = ()) -> None:
        self._trials = trials
        self._signature = signature
        self._others = others

    def minimise(
        self, runs: Iterable[RunFile], spots: Sequence[Spot], *, is_sure: bool = False
    ) -> Minimal | None:
        """The smallest set found; None if nothing makes the failure certain, or nearly so.

        Args:
            runs: Failing runs with traces, the simplest first; others are for the case that the
                first has orders which no constraints can repeat.
            spots: The lines of a finding, told rather than other orders; may be empty.
            is_sure: Whether an experiment confirmed the finding.
        """
        start = self._trials.count
        found: list[Minimal] = []
        for run, share in zip(runs, SHARES, strict=False):
            search = _Search(self._trials, (self._signature, self._others), run, spots)
            search.untold = UNTOLD_THOUGH_SURE if is_sure else UNTOLD
            tested = search.tested(start + share)
            if tested is not None:
                found.append(search.minimal(tested))
                if found[-1].is_certain:
                    break
        best = max(found, key=lambda one: (one.is_certain, one.tries), default=None)
        if best is None:
            return None
        # All of them: a second search that came to nothing was paid for, too.
        return replace(best, replays=self._trials.count - start - best.tries - best.odd)


class _Tested(NamedTuple):
    """A choice, and in how many fresh trials the failure came about under it."""

    chosen: Sequence[Constraint]
    reproduced: int = 0
    tries: int = 0
    odd: int = 0

    @property
    def is_near(self) -> bool:
        """Whether it is worth telling though it is not certain."""
        return self.tries >= sum(BATCHES[:-1]) and self.reproduced >= NEAR * self.tries


class _Search:
    """The search from one failing run.

    Attributes:
        untold: What it costs to leave out a step of the finding.
    """

    def __init__(
        self,
        trials: Trials,
        signatures: tuple[str, Collection[str]],
        run: RunFile,
        spots: Sequence[Spot],
    ) -> None:
        self._trials = trials
        self._signature, self._others = signatures
        self._run = run
        self._failing = run.failures[0].thread if run.failures else "0"
        self._timeline = Timeline(run)
        self._costs = orders(self._timeline, spots, self._failing)
        self._chains = chains(self._timeline, spots)
        self._telling = [_telling(chain, self._costs) for chain in self._chains]
        self._passes: list[Trial] = []
        self._clauses: list[frozenset[Constraint]] = []
        self._best = _Tested(())
        self.untold = UNTOLD

    def tested(self, limit: int) -> _Tested | None:
        """A set that is certain, or when the trials' count comes near the limit the nearest."""
        passed = self._learn(self._trials.run(self._fresh((), FIRST)), ())
        self._costs = _steadied(self._costs, passed)
        while self._trials.count + OLD_PASSES + sum(DOUBTS) <= limit:
            chosen = self._choice()
            known = len(self._clauses)
            if self._stands(chosen):
                return self._best
            if len(self._clauses) == known:
                break  # what lets it pass is not in the traces
        return self._best if self._best.is_near else None

    def minimal(self, tested: _Tested) -> Minimal:
        """A choice with all that is known of it."""
        chosen = sorted(tested.chosen, key=lambda one: one.after.at)
        return Minimal(
            constraints=tuple(chosen),
            reproduced=tested.reproduced,
            tries=tested.tries,
            replays=0,  # not known before all searches are over
            run=self._run,
            timeline=self._timeline,
            failing=self._failing,
            told=next((chain for chain in self._chains if tells(chain, chosen)), ()),
            passes=tuple(self._passes),
            odd=tested.odd,
        )

    def _choice(self) -> list[Constraint]:
        """The cheapest set for all clauses, whichever occurrence of the finding it tells."""
        choices = [self._choice_telling(steps) for steps in self._telling or [[]]]
        best, _ = min(choices, key=lambda choice: choice[1])
        return [item for item in best if isinstance(item, Constraint)]

    def _choice_telling(
        self, steps: Sequence[frozenset[Constraint]]
    ) -> tuple[list[Constraint | int], float]:
        """With what it costs; a number in it is that of a step that is left untold."""
        costs: dict[Constraint | int, float] = dict(self._costs.items())
        costs.update(dict.fromkeys(range(len(steps)), self.untold))
        clauses: list[frozenset[Constraint | int]] = [frozenset(one) for one in self._clauses]
        clauses += [one | {number} for number, one in enumerate(steps)]
        found = cheapest(clauses, costs)
        return found, sum(costs[item] for item in found)

    def _stands(self, chosen: Sequence[Constraint]) -> bool:
        """Whether all trials fail under the choice; it stops at the first batch that has others."""
        if self._learn(self._trials.run(self._old(chosen)), chosen):
            return False
        doubts = iter(self._doubts(chosen))
        for count in DOUBTS:
            trials = self._trials.run(islice(doubts, count))
            # What is broken on purpose must not have been in the way of the choice.
            if self._learn([trial for trial in trials if _keeps(trial, chosen)], chosen):
                return False
        return self._is_certified(chosen)

    def _is_certified(self, chosen: Sequence[Constraint]) -> bool:
        tested = _Tested(chosen)
        batches = list(BATCHES)
        for place, count in enumerate(batches):  # it may grow
            trials = self._trials.run(self._fresh(chosen, count))
            tested = self._counted(tested, trials)
            odd_ones = tested.odd > ODD * (tested.tries + tested.odd)
            if self._learn(trials, chosen, odd_ones):
                self._best = max(self._best, tested, key=lambda one: one.tries)
                return False
            if len(batches) == len(BATCHES) and any(self._strays(one, chosen) for one in trials):
                batches.extend(MORE)
            if place == len(batches) - 1 and tested.tries < sum(BATCHES):
                batches.append(sum(BATCHES) - tested.tries)
        self._best = tested
        return True

    def _counted(self, tested: _Tested, trials: Sequence[Trial]) -> _Tested:
        """With some more trials; what ended in another failure does not count."""
        odd = sum(self._is_odd(trial) for trial in trials)
        fails = sum(trial.fails_as(self._signature) for trial in trials)
        return _Tested(
            tested.chosen,
            tested.reproduced + fails,
            tested.tries + len(trials) - odd,
            tested.odd + odd,
        )

    def _is_odd(self, trial: Trial) -> bool:
        return trial.label != "pass" and trial.signature in self._others

    def _strays(self, trial: Trial, chosen: Sequence[Constraint]) -> bool:
        return trial.run is not None and Moments(trial.run, chosen).strays(
            chosen, departures(trial.run, self._run)
        )

    def _learn(
        self, trials: Sequence[Trial], chosen: Sequence[Constraint], odd_ones: bool = False
    ) -> list[Moments]:
        """Makes a clause of every trial that did not fail; returns their moments."""
        found = []
        for trial in trials:
            if trial.fails_as(self._signature) or trial.run is None:
                continue
            if self._is_odd(trial) and not odd_ones:
                continue
            moments = Moments(trial.run, self._costs)
            found.append(moments)
            broken = {one for one in self._costs if moments.breaks(one)}.difference(chosen)
            if broken:
                leaves = departures(trial.run, self._run)
                could = {one for one in broken if moments.could_keep(one, leaves)}
                self._clauses.append(frozenset(could or broken))
                self._passes.append(trial)
        return found

    def _old(self, chosen: Sequence[Constraint]) -> list[Plan]:
        """The latest passing schedules again, as far as the choice lets them be."""
        rules = [one.rule for one in chosen]
        return [
            {**replaying(trial.run, trial.plan["seed"]), "rules": rules, "trace": True}
            for trial in self._passes[: -OLD_PASSES - 1 : -1]
            if trial.run is not None
        ]

    def _doubts(self, chosen: Sequence[Constraint]) -> list[Plan]:
        """The orders that were broken most often, each broken on purpose.

        The rule for that comes first, because the first one is given up first.
        """
        # In the order of the costs: that of a set is not the same in every process.
        often = {one: sum(one in clause for clause in self._clauses) for one in self._costs}
        doubted = [one for one in self._costs if often[one] and one not in chosen]
        doubted.sort(key=often.__getitem__, reverse=True)
        plans = self._fresh(chosen, sum(DOUBTS))
        return [
            {**plan, "rules": [self._timeline.inverse(one).rule, *plan["rules"]]}
            for plan, one in zip(plans, doubted, strict=False)
        ]

    def _fresh(self, chosen: Sequence[Constraint], count: int) -> list[Plan]:
        rules = [one.rule for one in chosen]
        return fresh_plans(f"minimise/{self._trials.count}", count, rules=rules, trace=True)


def _telling(chain: Chain, orders: Iterable[Constraint]) -> list[frozenset[Constraint]]:
    """By step of a finding the orders that tell it."""
    return [
        frozenset(order for order in orders if is_implied(one, other, [order]))
        for one, other in steps(chain)
    ]


def _keeps(trial: Trial, chosen: Sequence[Constraint]) -> bool:
    if trial.run is None:
        return False
    moments = Moments(trial.run, chosen)
    return not any(moments.breaks(one) for one in chosen)


def _steadied(
    costs: Mapping[Constraint, float], passes: Sequence[Moments]
) -> dict[Constraint, float]:
    """Costs with something added for events that are not as frequent in every run."""

    def is_unsteady(event: Event) -> bool:
        return len({one.counts[event.path, event.point] for one in passes}) > 1

    return {
        one: cost * (1 + UNSTEADY * (is_unsteady(one.before) + is_unsteady(one.hold)))
        for one, cost in costs.items()
    }


def explanation(minimal: Minimal, timeline: Timeline) -> list[Event]:
    """The events of the constraints, those of the finding, and the failing one, in order of time.

    A finding whose order the constraints do not imply is left out: it need not have been so.
    """
    events = [event for one in minimal.constraints for event in (one.before, one.after)]
    told: dict[Key, Event] = {}
    for event in sorted([*map(timeline.meaning, events), *minimal.told]):
        told.setdefault(event.key, event)
    for event in timeline.failing(minimal.failing):
        told.setdefault(timeline.meaning(event).key, timeline.meaning(event))
    return sorted(told.values())
