# SPDX-License-Identifier: Apache-2.0
"""The arms of an experiment, each with as many trials as the verdict needs and no more.

An arm ends where its rest could not change the verdict any more (docs/adr/0036). So the status is
the one that whole arms would give, and the figures are of the trials that were made. Where time is
short, an arm may end earlier (docs/adr/0045).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from unsnarl.execution.budget import OutOfTimeError
from unsnarl.execution.symptom import Symptom
from unsnarl.execution.trials import Trial, Trials, replaying
from unsnarl.experiments.statistics import fisher
from unsnarl.model.plan import Plan, Rule
from unsnarl.model.report import Arm
from unsnarl.model.run import RuleEffect

# Trials of a whole arm, and Fisher's p below which two arms differ (docs/adr/0012).
RUNS = 20
FEW = 4
# So many forbidden ones will do where there is no time for all of them.
ENOUGH = 10
SURE = 0.001
# So many of the forced runs must fail, and of the controls so many of those that fail without.
BRINGS = 0.5
STILL_FAILS = 0.5

NO_ARM = Arm(0, 0)
Enough = Callable[[Arm], bool]


class Series:
    """An arm in the making: its trials count in the order of its plans, however many run at once.

    Attributes:
        size: The trials of the whole arm.
        left_out: Trials that were made and do not count: they were not about the same.
    """

    def __init__(
        self, trials: Trials, symptom: Symptom, plans: Sequence[Plan], begun: Sequence[Trial] = ()
    ) -> None:
        """`begun` are the trials of the first plans, if they were made before."""
        self.size = len(plans)
        self.left_out = 0
        self._trials = trials
        self._symptom = symptom
        self._plans = plans
        self._made = list(begun)

    @property
    def made(self) -> Sequence[Trial]:
        """The trials so far."""
        return tuple(self._made)

    @property
    def rules(self) -> tuple[Rule, ...] | None:
        """The rules of its plans; None if they differ."""
        every = {plan.rules for plan in self._plans}
        return every.pop() if len(every) == 1 else None

    def longer(self, plans: Sequence[Plan]) -> Series:
        """With more plans, and what was made so far."""
        every = [*self._plans[: self.size], *plans]
        same = Series(self._trials, self._symptom, every, self._made)
        same.left_out = self.left_out
        return same

    def without_latest(self) -> Series:
        """Without the latest trial and its plan: it was not about the same."""
        at = len(self._made) - 1
        plans = [*self._plans[:at], *self._plans[at + 1 : self.size]]
        rest = Series(self._trials, self._symptom, plans, self._made[:at])
        rest.left_out = self.left_out + 1
        return rest

    @property
    def arm(self) -> Arm:
        """What the trials so far came to."""
        return self._arm(self._made)

    def until(self, enough: Enough, least: int | None = None) -> Arm:
        """Go on until that is so, or the arm is whole.

        If time runs out and `least` trials were made, these have to do (docs/adr/0045).
        """
        try:
            self._go_on(FEW, enough)
            self._go_on(self.size, enough)
        except OutOfTimeError:
            if least is None or len(self._made) < least:
                raise
            self.size = len(self._made)
        return self.arm

    def _go_on(self, most: int, enough: Enough) -> None:
        before = self._made

        def ends(more: Sequence[Trial]) -> bool:
            self._made = [*before, *more]  # at once: time may run out
            return enough(self.arm)

        if len(before) < most and not self._hangs and not (before and ends(())):
            self._trials.run(self._plans[len(before) : most], until=ends)

    @property
    def _hangs(self) -> bool:
        """Where all of the first few hang, so will the others: each costs its time limit."""
        first = self._made[:FEW]
        return bool(first) and all(trial.label == "hang" for trial in first)

    def _arm(self, trials: Sequence[Trial]) -> Arm:
        effects = [trial.run.rules if trial.run is not None else () for trial in trials]
        return Arm(
            fail=sum(map(self._symptom.is_in, trials)),
            runs=len(trials),
            realised=sum(are_kept(rules) for rules in effects),
            released=sum(any(rule.released for rule in rules) for rules in effects),
        )


def are_kept(rules: Sequence[RuleEffect]) -> bool:
    """Whether every rule had its way."""
    return all(rule.satisfied and not rule.released for rule in rules)


def kept_all(trial: Trial) -> bool:
    """Whether none of its rules was given up."""
    return trial.run is not None and not any(rule.released for rule in trial.run.rules)


def replayed(trials: Iterable[Trial], rules: Sequence[Rule]) -> list[Plan]:
    """The same runs again, under other rules."""
    return [
        replaying(one.run, one.plan.seed, rules=tuple(rules))
        for one in trials
        if one.run is not None
    ]


def brings(forced: Arm) -> bool:
    """Whether forcing makes the failure likely."""
    return forced.fail >= BRINGS * max(forced.runs, 1)


def stays(control: Arm) -> bool:
    """Whether the failure is still there in the control arm."""
    return control.fail >= STILL_FAILS * control.runs


# When an arm is long enough.


def has_failed(arm: Arm) -> bool:
    """What makes up its mind with the first failure."""
    return arm.fail > 0


def never(_: Arm) -> bool:
    """For an arm that has to be whole."""
    return False


def half_decides(size: int) -> Enough:
    """Whether at least half of the whole arm fails is clear."""
    return lambda arm: arm.fail >= size / 2 or arm.runs - arm.fail > size / 2


def forcing_decides(size: int, forbidden: int) -> Enough:
    """The same, and whether forced and forbidden runs differ, even if the rest should pass.

    That no forced run fails at all means more (refuted, infeasible), and takes the whole arm.
    """

    def enough(arm: Arm) -> bool:
        if arm.runs - arm.fail > size / 2:
            return arm.fail > 0
        return arm.fail >= size / 2 and fisher(arm.fail, size, 0, forbidden) < SURE

    return enough
