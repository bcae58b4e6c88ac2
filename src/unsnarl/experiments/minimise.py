# SPDX-License-Identifier: Apache-2.0
"""The smallest set of constraints under which the failure happens every time.

A run that passes although it keeps the chosen constraints breaks others that the failing run
keeps: at least one of these is missing. So every passing trial is a clause, the next choice is the
cheapest set that has a constraint of every clause, and it is challenged until no trial passes any
more. Nothing is dropped on the strength of a few lucky trials, as when constraints are left out one
by one (delta debugging made sets that failed in 77 of 100 runs).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace as with_fields

from unsnarl.execution.budget import OutOfTimeError
from unsnarl.execution.symptom import Symptom
from unsnarl.execution.trials import Trial, Trials, fresh_plans, replaying
from unsnarl.experiments.arms import RUNS
from unsnarl.experiments.hitting import cheapest
from unsnarl.experiments.orders import orders
from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, EventKey
from unsnarl.model.plan import Plan
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import (
    Occurrence,
    are_implied,
    is_implied,
    occurrences,
    switches,
)
from unsnarl.placement.timeline import EventTimes, Timeline, departures
from unsnarl.runfile import RunFile

# Only stubborn failures need so many; most need 20 to 60 (docs/adr/0013).
MOST_REPLAYS = 300
# Failing runs to start from, and how many of the replays may have been used after each.
SHARES = (200, MOST_REPLAYS)
# Trials without constraints for a start.
FIRST = 12
# Fresh trials that certify a choice, a few first.
# Together they are the 100 of docs/adr/0013.
BATCHES = (4, 8, 16, 32, 40)
# As many as an arm needs that forces the choice, and what is not shown to anybody.
FEW_BATCHES = BATCHES[:3]
# More for a choice under which threads do not do the same in every run: its events may mean
# something else in one of them.
MORE = (60,)
# Runs that end in another failure of the campaign say nothing, unless they are more than this.
# When they counted, the search also kept the other bug away, and explanations grew by half
# (docs/adr/0016).
ODD = 0.2
# If time runs out while a choice is being certified: after so many fresh trials it is reported.
CERTIFIED_ENOUGH = 12
# Where nothing is certain: a choice that fails in so many of the fresh trials is still reported.
NEAR = 0.9
# Passing schedules that are tried again under every new choice, and orders broken on purpose.
OLD_PASSES = 4
DOUBTS = (6, 6, 12)
# What it costs to leave out an order of the answer: it decides between sets that cost the same. If
# the answer is confirmed, it is left out only for something that says more.
LEFT_OUT = 0.4
LEFT_OUT_THOUGH_CONFIRMED = 1.0
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
        occurrence: The answer as it occurred in that run, if the constraints imply its order.
        passes: The passing trials that were met on the way.
        odd: Further fresh runs, which another failure of the program ended first.
        certifying: The first of the fresh trials that certify them: an arm that forces the same
            need not make them once more.
        whole: If only few trials certify them: makes the others. None if that fails.
    """

    constraints: tuple[Constraint, ...]
    reproduced: int
    tries: int
    replays: int
    run: RunFile
    timeline: Timeline
    failing: str
    occurrence: Occurrence = ()
    passes: tuple[Trial, ...] = ()
    odd: int = 0
    certifying: tuple[Trial, ...] = ()
    whole: Callable[[], Minimal | None] | None = None

    @property
    def is_certain(self) -> bool:
        """Whether the failure came about in every fresh run."""
        return self.reproduced == self.tries

    @property
    def implies_answer(self) -> bool:
        """Whether every order of the answer is among what makes the failure certain."""
        return bool(self.occurrence)


class Minimiser:
    """Cuts failing runs of one symptom down to what matters.

    `others` are signatures that have other causes.
    """

    def __init__(self, trials: Trials, symptom: Symptom, others: Collection[str] = ()) -> None:
        self._trials = trials
        self._symptom = symptom
        self._others = others

    def minimise(
        self,
        runs: Iterable[RunFile],
        lines: Sequence[LinePoints],
        *,
        is_confirmed: bool = False,
        orders: Sequence[Sequence[Constraint]] = (),
        few: bool = False,
    ) -> Minimal | None:
        """The smallest set found; None if nothing makes the failure certain, or nearly so.

        Args:
            runs: Failing runs with traces, the simplest first; others are for the case that the
                first has orders which no constraints can repeat.
            lines: Those of an answer, preferred to other orders; may be empty.
            is_confirmed: Whether an experiment confirmed the answer.
            orders: Sets of the first run that are tried before any is searched for.
            few: Certify with few trials for now (`Minimal.whole`).
        """
        start = self._trials.count
        found: list[Minimal] = []
        for run, share in zip(runs, SHARES, strict=False):
            search = _Search(self._trials, (self._symptom, self._others), run, lines)
            search.left_out = LEFT_OUT_THOUGH_CONFIRMED if is_confirmed else LEFT_OUT
            search.batches = FEW_BATCHES if few else BATCHES
            try:
                tested = search.tested(start + share, orders)
            except OutOfTimeError:
                if not found:
                    raise
                break
            if tested is not None:
                found.append(search.minimal(tested))
                if found[-1].is_certain:
                    break
        best = max(found, key=lambda one: (one.is_certain, one.tries), default=None)
        if best is None:
            return None
        # All of them: a second search that came to nothing was paid for, too.
        best = replace(best, replays=self._trials.count - start - best.tries - best.odd)
        if not few or not best.is_certain:
            return best
        left = start + MOST_REPLAYS - self._trials.count
        return replace(best, whole=partial(self._whole, best, search, left))

    def _whole(self, begun: Minimal, search: _Search, left: int) -> Minimal | None:
        """The same after all trials that certify; other constraints if one of these passes."""
        start = self._trials.count
        tested = search.gone_on(start + left)
        if tested is None:
            return None
        found = search.minimal(tested)
        made = self._trials.count - start + begun.tries + begun.odd
        return replace(found, replays=begun.replays + made - found.tries - found.odd)


class _Tested(NamedTuple):
    """A choice, and in how many fresh trials the failure came about under it."""

    chosen: Sequence[Constraint]
    reproduced: int = 0
    tries: int = 0
    odd: int = 0
    trials: tuple[Trial, ...] = ()

    @property
    def is_near(self) -> bool:
        """Whether it is worth reporting though it is not certain."""
        return self.tries >= sum(BATCHES[:-1]) and self.reproduced >= NEAR * self.tries


class _Search:
    """The search from one failing run.

    Attributes:
        left_out: What it costs to leave out an order of the answer.
        batches: The fresh trials that certify a choice.
    """

    def __init__(
        self,
        trials: Trials,
        symptom: tuple[Symptom, Collection[str]],
        run: RunFile,
        lines: Sequence[LinePoints],
    ) -> None:
        self._trials = trials
        self._symptom, self._others = symptom
        self._run = run
        self._failing = run.failing_thread
        self._timeline = Timeline(run)
        self._costs = orders(self._timeline, lines, self._failing)
        self._occurrences = occurrences(self._timeline, lines)
        self._implying = [_implying(one, self._costs) for one in self._occurrences]
        self._passes: list[Trial] = []
        self._clauses: list[frozenset[Constraint]] = []
        self._best = _Tested(())
        self._so_far = _Tested(())
        self._has_strayed = False
        self.left_out = LEFT_OUT
        self.batches: Sequence[int] = BATCHES

    def tested(self, limit: int, orders: Sequence[Sequence[Constraint]]) -> _Tested | None:
        """A set that is certain, or when trials or time come to their limit the nearest.

        The given ones come first.
        """
        return self._in_time(
            lambda: self._best if any(map(self._is_certified, orders)) else self._tested(limit)
        )

    def gone_on(self, limit: int) -> _Tested | None:
        """With the certification that was left after a few trials; with the search if it fails."""
        self.batches, best = BATCHES, self._best
        return self._in_time(
            lambda: self._best if self._is_certified(best.chosen, best) else self._searched(limit)
        )

    def _in_time(self, work: Callable[[], _Tested | None]) -> _Tested | None:
        try:
            return work()
        except OutOfTimeError:
            if self._so_far.tries < CERTIFIED_ENOUGH:
                raise
            text = f"certifying the orders ended after {self._so_far.tries} fresh runs"
            self._trials.budget.note("minimise", text, "time")
            return self._so_far

    def _tested(self, limit: int) -> _Tested | None:
        passed = self._learn(self._trials.run(self._fresh((), FIRST)), ())
        # Not earlier: whether an event is as frequent in every run shows only over several.
        self._costs = _steadied(self._costs, passed)
        return self._searched(limit)

    def _searched(self, limit: int) -> _Tested | None:
        while self._trials.count + OLD_PASSES + sum(DOUBTS) <= limit:
            chosen = self._choice()
            clauses = len(self._clauses)
            if self._stands(chosen):
                return self._best
            if len(self._clauses) == clauses:
                break  # what lets it pass is not in the traces
        return self._best if self._best.is_near else None

    def minimal(self, tested: _Tested) -> Minimal:
        """A choice with all that was found out about it."""
        chosen = sorted(tested.chosen, key=lambda one: one.after.at)
        return Minimal(
            constraints=tuple(chosen),
            reproduced=tested.reproduced,
            tries=tested.tries,
            replays=0,  # not known before all searches are over
            run=self._run,
            timeline=self._timeline,
            failing=self._failing,
            occurrence=next((o for o in self._occurrences if are_implied(o, chosen)), ()),
            passes=tuple(self._passes),
            odd=tested.odd,
            certifying=tested.trials,
        )

    def _choice(self) -> list[Constraint]:
        """The cheapest set for all clauses, whichever occurrence of the answer it implies."""
        choices = [self._choice_implying(orders) for orders in self._implying or [[]]]
        best, _ = min(choices, key=lambda choice: choice[1])
        return [item for item in best if isinstance(item, Constraint)]

    def _choice_implying(
        self, orders: Sequence[frozenset[Constraint]]
    ) -> tuple[list[Constraint | int], float]:
        """With what it costs; a number in it is that of an order of the answer that is left out."""
        costs: dict[Constraint | int, float] = dict(self._costs.items())
        # Leaving out an order of the answer is an item with a price: one search decides all.
        costs.update(dict.fromkeys(range(len(orders)), self.left_out))
        clauses: list[frozenset[Constraint | int]] = [frozenset(one) for one in self._clauses]
        clauses += [one | {number} for number, one in enumerate(orders)]
        found = cheapest(clauses, costs)
        return found, sum(costs[item] for item in found)

    def _stands(self, chosen: Sequence[Constraint]) -> bool:
        """Whether all trials fail under the choice; it stops at the first batch that has others."""
        # The few trials that are most likely to pass come before the hundred that certify.
        if self._learn(self._trials.run(self._old(chosen)), chosen):
            return False
        doubts = iter(self._doubts(chosen))
        for count in DOUBTS:
            trials = self._trials.run(islice(doubts, count))
            # Count only trials that kept the chosen constraints.
            if self._learn([trial for trial in trials if _keeps(trial, chosen)], chosen):
                return False
        return self._is_certified(chosen)

    def _is_certified(self, chosen: Sequence[Constraint], begun: _Tested | None = None) -> bool:
        tested = begun or _Tested(chosen)
        batches = list(self.batches if begun is None else BATCHES[len(FEW_BATCHES) :])
        self._has_strayed &= begun is not None
        is_longer = False
        for number, count in enumerate(batches):  # it may grow
            trials = self._trials.run(self._fresh(chosen, count))
            tested = self._so_far = self._counted(tested, trials)
            odd_ones = tested.odd > ODD * (tested.tries + tested.odd)
            if self._learn(trials, chosen, odd_ones):
                self._best = max(self._best, tested, key=lambda one: one.tries)
                self._so_far = _Tested(())
                return False
            self._has_strayed |= any(self._strays(one, chosen) for one in trials)
            if self._has_strayed and not is_longer and self.batches is BATCHES:
                batches.extend(MORE)
                is_longer = True
            # Odd runs do not count, so others have to make up for them.
            if number == len(batches) - 1 and tested.tries < sum(self.batches):
                batches.append(sum(self.batches) - tested.tries)
        self._best = tested
        return True

    def _counted(self, tested: _Tested, trials: Sequence[Trial]) -> _Tested:
        """With some more trials; what ended in another failure does not count."""
        odd = sum(self._is_odd(trial) for trial in trials)
        fails = sum(map(self._symptom.is_in, trials))
        return _Tested(
            tested.chosen,
            tested.reproduced + fails,
            tested.tries + len(trials) - odd,
            tested.odd + odd,
            (*tested.trials, *trials)[:RUNS],
        )

    def _is_odd(self, trial: Trial) -> bool:
        return trial.label != "pass" and trial.signature in self._others

    def _strays(self, trial: Trial, chosen: Sequence[Constraint]) -> bool:
        return trial.run is not None and EventTimes(trial.run, chosen).strays(
            chosen, departures(trial.run, self._run)
        )

    def _learn(
        self, trials: Sequence[Trial], chosen: Sequence[Constraint], odd_ones: bool = False
    ) -> list[EventTimes]:
        """Makes a clause of every trial that did not fail; returns their events' times."""
        found = []
        for trial in trials:
            if self._symptom.is_in(trial) or trial.run is None:
                continue
            if self._is_odd(trial) and not odd_ones:
                continue
            times = EventTimes(trial.run, self._costs)
            found.append(times)
            # A clause with a chosen constraint in it would be hit already, and change nothing.
            broken = {one for one in self._costs if times.breaks(one)}.difference(chosen)
            if broken:
                leaves = departures(trial.run, self._run)
                # What no rule could have kept would not have helped, unless there is nothing else.
                could = {one for one in broken if times.could_keep(one, leaves)}
                self._clauses.append(frozenset(could or broken))
                self._passes.append(trial)
        return found

    def _old(self, chosen: Sequence[Constraint]) -> list[Plan]:
        """The latest passing schedules again, as far as the choice lets them be."""
        rules = tuple(one.rule for one in chosen)
        return [
            replaying(trial.run, trial.plan.seed, rules=rules, trace=True)
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
            with_fields(plan, rules=(self._timeline.inverse(one).rule, *plan.rules))
            for plan, one in zip(plans, doubted, strict=False)
        ]

    def _fresh(self, chosen: Sequence[Constraint], count: int) -> list[Plan]:
        rules = tuple(one.rule for one in chosen)
        # The count gives every batch new seeds: the old ones would only repeat what they showed.
        return fresh_plans(f"minimise/{self._trials.count}", count, rules=rules, trace=True)


def _implying(occurrence: Occurrence, orders: Iterable[Constraint]) -> list[frozenset[Constraint]]:
    """Of each order of an occurrence: the constraints that imply it."""
    return [
        frozenset(order for order in orders if is_implied(one, other, [order]))
        for one, other in switches(occurrence)
    ]


def _keeps(trial: Trial, chosen: Sequence[Constraint]) -> bool:
    if trial.run is None:
        return False
    times = EventTimes(trial.run, chosen)
    return not any(times.breaks(one) for one in chosen)


def _steadied(
    costs: Mapping[Constraint, float], passes: Sequence[EventTimes]
) -> dict[Constraint, float]:
    """Costs with something added for events that are not as frequent in every run."""

    def is_unsteady(event: Event) -> bool:
        return len({one.counts[event.path, event.point] for one in passes}) > 1

    return {
        one: cost * (1 + UNSTEADY * (is_unsteady(one.before) + is_unsteady(one.hold)))
        for one, cost in costs.items()
    }


def explanation(minimal: Minimal, timeline: Timeline) -> list[Event]:
    """The events of the constraints, those of the answer, and the failing one, in order of time.

    An answer whose order the constraints do not imply is left out: it need not have been so.
    """
    events = [event for one in minimal.constraints for event in (one.before, one.after)]
    shown: dict[EventKey, Event] = {}
    for event in sorted([*map(timeline.meaning, events), *minimal.occurrence]):
        shown.setdefault(event.key, event)
    for event in timeline.failing(minimal.failing):
        shown.setdefault(timeline.meaning(event).key, timeline.meaning(event))
    return sorted(shown.values())
