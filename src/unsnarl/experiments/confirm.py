# SPDX-License-Identifier: Apache-2.0
"""Is a finding the cause? Force its order, forbid it, and hold elsewhere as a control (design 8).

Forced trials are fresh runs in which the accesses come in the order that they had in one failing
run; control trials are the same with critical sections elsewhere, which must not help. Forbidden
trials replay the recorded failing schedules: without the rules every one of them fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.experiments.constraints import Constraint, Event, Rule, Timeline
from unsnarl.experiments.minimise import Minimal, Minimiser, explanation
from unsnarl.experiments.rules import controlling, forbidding
from unsnarl.experiments.scene import Spot, Stage, unrelated
from unsnarl.experiments.sharper import tightest, told_by
from unsnarl.experiments.statistics import fisher
from unsnarl.experiments.told import chains, occurrence, told_constraints
from unsnarl.experiments.trials import Plan, Trials, fresh_plans, replaying
from unsnarl.model.finding import Arm, Status
from unsnarl.model.run import RuleEffect
from unsnarl.runfile import Interner, RunFile

RUNS = 20
SURE = 0.001
# So many of the forced runs must fail, and of the controls so many of those that fail without.
BRINGS = 0.5
STILL_FAILS = 0.5
# Failing runs that are looked at for an answer, and fresh trials under the order of each. (Ten are
# worse than five: later ones are longer, and so is what must come first in them.)
MOST_TRACES = 5
PROBES = 6
# So many answers that are not confirmed by what they tell are minimised.
MOST_MINIMISED = 2
# A finding of more passing runs than this share cannot be what makes runs fail.
COMMON = 0.8


@dataclass(frozen=True)
class Verdict:
    """What the experiment says of a finding."""

    status: Status
    forced: Arm
    forbidden: Arm
    control: Arm
    p_value: float


class Experimenter:
    """Makes experiments about the findings of one signature.

    `others` are the signatures of the campaign's other failures.
    """

    def __init__(
        self,
        trials: Trials,
        compared: Compared,
        interner: Interner,
        others: Collection[str] = (),
    ) -> None:
        self.trials = trials
        self.compared = compared
        self._interner = interner
        self._others = others
        self._traces: dict[int, RunFile | None] = {}
        self._sure: list[Answer] = []
        self._easy: list[tuple[Answer, list[int]]] = []
        self._minimal: list[tuple[Answer, tuple[Minimal, int] | None]] = []

    def test(self, answer: Answer, minimal: Minimal | None = None) -> Verdict | None:
        """The verdict on one answer; None if no failing run of it can be replayed.

        With minimised constraints that tell it, it is these that are forced.
        """
        run = next(self._traced(self._easiest(answer)), None)
        if run is None:
            return None
        timeline, spots = Timeline(run), self._spots(run, answer)
        order = minimal.constraints if minimal else told_constraints(timeline, spots)
        forbidden = self._forbidden(timeline, spots)
        forced = self._arm(self._fresh("force", order))
        if not forbidden.fail and not brings(forced):
            # What the finding tells may need more to happen than it tells: all that matters is in
            # the minimised constraints. They count only if what it tells is among them.
            found = self._telling(answer, spots)
            if found is not None:
                order = found.constraints
                forced = self._arm(self._fresh("force", order))
        verdict = judge(forced, forbidden, self._control(run, spots, order))
        if verdict.status == "confirmed" and self._is_common(answer):
            return replace(verdict, status="inconclusive")
        if verdict.status == "confirmed":
            self._sure.append(answer)
        return verdict

    def _forbidden(self, timeline: Timeline, spots: Sequence[Spot]) -> Arm:
        """What becomes of the failing runs if the order cannot happen.

        Where the last access is done again and again (to one element after the other), the first
        time need not be the one that came too late: then its threads must have ended.
        """
        early = _repeaters(timeline, spots)
        forbidden = self._arm(self._replays(forbidding(spots, early)))
        often = [] if early or not forbidden.fail else _repeaters(timeline, spots, often=True)
        if not often:
            return forbidden
        ended = self._arm(self._replays(forbidding(spots, often)))
        return forbidden if ended.fail else ended

    def sharpened(self, answer: Answer) -> Answer:
        """A confirmed answer told by the accesses nearest to the intrusion, if that stands too."""
        for at in self._easiest(answer):
            run = self.trace(at)
            if run is None:
                continue
            timeline = Timeline(run)
            told = next(iter(chains(timeline, self._spots(run, answer))), ())
            events = tightest(timeline, told, partial(self._place, run))
            if {event.key for event in events} <= {event.key for event in told}:
                return answer
            sharper = told_by(answer, events, at, run, self._interner)
            verdict = self.test(sharper)
            return sharper if verdict and verdict.status == "confirmed" else answer
        return answer

    def _place(self, run: RunFile, event: Event) -> tuple[str, int]:
        (index,) = self._interner.indexes(np.array([event.point], dtype=np.uint32), run)
        site = self._interner.point(int(index)).site
        return site.file, site.line

    def explained(self, answer: Answer) -> Verdict | None:
        """The verdict on what makes the failure certain: what was ranked may miss it.

        All of it is forced. It is proved if the failure is gone without all of it, or without one
        of its orders.
        """
        found = self.minimal(answer)
        if found is None or answer.is_stuck or not found[0].is_certain:
            return None
        minimal, at = found
        if not minimal.constraints:
            return None  # it fails whatever the order
        orders = [one[:2] for one in reversed(minimal.constraints)]
        verdict = None
        for events in (explanation(minimal, minimal.timeline), *orders):
            meant = [minimal.timeline.meaning(event) for event in events]
            told = told_by(answer, meant, at, minimal.run, self._interner)
            verdict = self.test(told, minimal)
            if verdict is not None and verdict.status == "confirmed":
                break
        return verdict

    def _is_common(self, answer: Answer) -> bool:
        """Whether nearly all passing runs have it too: it may be needed, but is not the cause."""
        return answer.passing > COMMON * len(self.compared.comparison.passing)

    def _spots(self, run: RunFile, answer: Answer) -> list[Spot]:
        return Stage(run, self._interner, self.compared.runs).spots(answer)

    def _control(self, run: RunFile, spots: Sequence[Spot], order: Sequence[Constraint]) -> Arm:
        elsewhere = controlling(spots, unrelated(run, spots, len(spots)))
        control = self._arm(self._replays(elsewhere))
        if not stays(control) and order:
            # A hold makes a replay leave its track; constraints are not so easily led astray.
            control = self._arm(self._fresh("control", order, elsewhere))
        return control

    def minimal(self, answer: Answer) -> tuple[Minimal, int] | None:
        """The constraints that make the failure certain, and the failing run that they are from."""
        for other, found in self._minimal:
            if other is answer:
                return found
        self._minimal.append((answer, self._minimise(answer)))
        return self._minimal[-1][1]

    def _telling(self, answer: Answer, spots: Sequence[Spot]) -> Minimal | None:
        """Constraints that make the failure certain and tell the answer.

        They are looked for a few times only: most of the time of a hunt would go there.
        """
        known = self._minimal
        if len(known) < MOST_MINIMISED:
            self.minimal(answer)
        every = (found[0] for _, found in reversed(known) if found is not None)
        return next((one for one in every if _tells(one, spots)), None)

    def _minimise(self, answer: Answer) -> tuple[Minimal, int] | None:
        easiest = self._easiest(answer)
        first = next(self._traced(easiest), None)
        if first is None:
            return None
        spots = self._spots(first, answer)
        minimiser = Minimiser(self.trials, self.compared.signature, self._others)
        used: list[int] = []
        is_sure = any(one is answer for one in self._sure)
        found = minimiser.minimise(self._traced(easiest, used), spots, is_sure=is_sure)
        return None if found is None else (found, used[-1])

    def _easiest(self, answer: Answer) -> list[int]:
        """The failing runs of an answer: first the one whose order fails most often by itself.

        The same accesses may need more to come first in one run than in another: who takes which
        of the jobs. Of equal ones the simplest.
        """
        for other, found in self._easy:
            if other is answer:
                return found
        runs = self.compared.runs
        simplest = sorted(answer.runs, key=lambda at: (len(runs[at].schedule), at))
        fails: dict[int, int] = {}
        for at in simplest[:MOST_TRACES] if len(simplest) > 1 else ():
            fails[at] = self._fails_by_itself(answer, at)
            if fails[at] == PROBES:
                break
        # Where what is told brings it in few runs only, that says nothing.
        best = [at for at in fails if fails[at] >= BRINGS * PROBES]
        found = sorted(simplest, key=lambda at: -fails[at] if at in best else 0)
        self._easy.append((answer, found))
        return found

    def _fails_by_itself(self, answer: Answer, at: int) -> int:
        run = self.trace(at)
        if run is None:
            return 0
        order = told_constraints(Timeline(run), self._spots(run, answer))
        return self._arm(self._fresh("probe", order)[:PROBES]).fail

    def _traced(self, which: Iterable[int], used: list[int] | None = None) -> Iterator[RunFile]:
        """Failing runs again, with every event; without those that do not fail any more.

        `used` is told which ones were asked for.
        """
        for at in which:
            run = self.trace(at)
            if run is not None:
                if used is not None:
                    used.append(at)
                yield run

    def trace(self, at: int) -> RunFile | None:
        """A failing run again, with every event; None if it does not fail any more."""
        if at not in self._traces:
            (trial,) = self.trials.run([{**self.schedule(at), "trace": True}])
            fails = trial.fails_as(self.compared.signature)
            self._traces[at] = trial.run if fails else None
        return self._traces[at]

    def _fresh(
        self, arm: str, order: Sequence[Constraint], first: Sequence[Rule] = ()
    ) -> list[Plan]:
        rules = [*first, *(one.rule for one in order)]
        return fresh_plans(f"{self.compared.signature}/{arm}", RUNS, rules=rules) if order else []

    def _replays(self, rules: list[Rule]) -> list[Plan]:
        which = range(min(RUNS, len(self.compared.runs)))
        return [{**self.schedule(at), "rules": rules} for at in which]

    def schedule(self, at: int) -> dict[str, object]:
        """The part of a plan that repeats a failing run."""
        return replaying(self.compared.runs[at], self.compared.records[at].seed)

    def _arm(self, plans: Sequence[Plan]) -> Arm:
        trials = self.trials.run(plans)
        effects = [trial.run.rules if trial.run is not None else () for trial in trials]
        return Arm(
            fail=sum(trial.fails_as(self.compared.signature) for trial in trials),
            runs=len(trials),
            realised=sum(_kept(rules) for rules in effects),
            released=sum(any(rule.released for rule in rules) for rules in effects),
        )


def _tells(minimal: Minimal, spots: Sequence[Spot]) -> bool:
    """Whether all that a finding tells is among what makes the failure certain, in its order."""
    events = iter(explanation(minimal, minimal.timeline))
    return minimal.tells_all or all(
        any(event.point in spot.points for event in events) for spot in spots
    )


def _repeaters(
    timeline: Timeline, spots: Sequence[Spot], often: bool = False
) -> list[tuple[str, str]]:
    """The threads of the first access, each with one of the last, if that is done repeatedly.

    That is: if one had done it before when it came too late; with `often`, if one does it more than
    once at all.
    """
    told = occurrence(timeline, spots)
    if len(told) < len(spots):
        return []
    theirs = [
        event
        for event in timeline.events
        if event.point in spots[-1].points and event.path != told[0].path
    ]
    if not (len(theirs) > 1 if often else theirs[:1] < told[-1:]):
        return []
    ours = {event.path for event in timeline.events if event.point in spots[0].points}
    last = {event.path for event in theirs}
    # Where threads do both, they would wait for each other's end.
    ours = {told[0].path} if ours & last else ours
    return sorted((one, other) for one in ours for other in last)


def _kept(rules: Sequence[RuleEffect]) -> bool:
    """Whether every rule had its way."""
    return all(rule.satisfied and not rule.released for rule in rules)


def brings(forced: Arm) -> bool:
    """Whether forcing makes the failure likely."""
    return forced.fail >= BRINGS * max(forced.runs, 1)


def stays(control: Arm) -> bool:
    """Whether the failure is still there in the control arm."""
    return control.fail >= STILL_FAILS * control.runs


def judge(forced: Arm, forbidden: Arm, control: Arm) -> Verdict:
    """Confirmed: forbidding removes the failure, holding elsewhere does not, forcing brings it."""
    p_value = fisher(forced.fail, forced.runs, forbidden.fail, forbidden.runs)
    status: Status = "inconclusive"
    if forbidden.fail == 0 and brings(forced) and stays(control) and p_value < SURE:
        status = "confirmed"
    elif forced.runs and not forced.realised and not forced.fail:
        status = "infeasible"
    elif forbidden.fail >= STILL_FAILS * forbidden.runs and not forced.fail:
        status = "refuted"
    return Verdict(status, forced, forbidden, control, p_value)
