# SPDX-License-Identifier: Apache-2.0
"""Is a finding the cause? Force its order, forbid it, and hold elsewhere as a control (design 8).

Forbidden and control trials replay the recorded failing schedules with holds added: without them,
every one of these trials fails. So a failure that is gone was prevented by the holds, and the
control says that it is not enough to hold just anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.experiments.rules import Rule, controlling, forbidding, forcing
from unsnarl.experiments.scene import Spot, Stage, unrelated
from unsnarl.experiments.statistics import fisher
from unsnarl.experiments.trials import Plan, Trial, Trials, fresh_plans
from unsnarl.model.finding import Status
from unsnarl.runfile import Interner, RunFile

RUNS = 20
SURE = 0.001
# Of the forced runs in which the order came about, so many must fail; of the controls, so many.
FAILS = 0.8
STILL_FAILS = 0.5


@dataclass(frozen=True)
class Arm:
    """One arm of an experiment.

    Attributes:
        realised: Runs in which the rules had the effect they are there for.
        released: Runs in which a hold had to be given up.
    """

    fail: int
    runs: int
    realised: int
    released: int


@dataclass(frozen=True)
class Verdict:
    """What the experiment says of a finding."""

    status: Status
    forced: Arm
    forbidden: Arm
    control: Arm
    p_value: float


class Experimenter:
    """Makes experiments about the findings of one signature."""

    def __init__(self, trials: Trials, compared: Compared, interner: Interner) -> None:
        self._trials = trials
        self._compared = compared
        self._interner = interner
        self._stage: tuple[Stage, RunFile] | None = None

    def test(self, answer: Answer, runs: int = RUNS) -> Verdict | None:
        """The verdict on one answer; None if no failing run of it can be replayed."""
        stage = self._staged(answer)
        if stage is None:
            return None
        spots = stage[0].spots(answer)
        forced = self._arm(self._fresh(forcing(spots), runs), [])
        forbidden = self._arm(self._replays(forbidding(spots), runs), [])
        control = self._arm(self._replays(self._control(spots, stage[1]), runs), [])
        return judge(forced, forbidden, control)

    def _staged(self, answer: Answer) -> tuple[Stage, RunFile] | None:
        """A trace of a failing run that has the answer; one will do for all answers."""
        if self._stage is None:
            for at in answer.runs[:3]:
                (trial,) = self._trials.run([{**self._schedule(at), "trace": True}])
                if trial.run is not None and trial.fails_as(self._compared.signature):
                    self._stage = (Stage(trial.run, self._interner), trial.run)
                    break
        return self._stage

    def _control(self, spots: Sequence[Spot], run: RunFile) -> list[Rule]:
        count = sum(len(spot.holds) for spot in spots)
        return controlling(spots, unrelated(run, spots, count))

    def _fresh(self, rules: list[Rule], runs: int) -> list[Plan]:
        return fresh_plans(f"{self._compared.signature}/force", runs, rules=rules)

    def _replays(self, rules: list[Rule], runs: int) -> list[Plan]:
        which = range(min(runs, len(self._compared.runs)))
        return [{**self._schedule(at), "rules": rules} for at in which]

    def _schedule(self, at: int) -> dict[str, object]:
        run, record = self._compared.runs[at], self._compared.records[at]
        segments = [[one.path, one.until, one.point] for one in run.schedule]
        return {"strategy": "replay", "schedule": segments, "seed": record.seed}

    def _arm(self, plans: Sequence[Plan], _: Sequence[Trial]) -> Arm:
        trials = self._trials.run(plans)
        effects = [trial.run.rules if trial.run is not None else () for trial in trials]
        return Arm(
            fail=sum(trial.fails_as(self._compared.signature) for trial in trials),
            runs=len(trials),
            realised=sum(any(rule.satisfied for rule in rules) for rules in effects),
            released=sum(any(rule.released for rule in rules) for rules in effects),
        )


def judge(forced: Arm, forbidden: Arm, control: Arm) -> Verdict:
    """Confirmed: forbidding removes the failure, the control does not, forcing brings it."""
    p_value = fisher(forced.fail, forced.runs, forbidden.fail, forbidden.runs)
    brings = forced.realised > 0 and forced.fail >= FAILS * forced.realised
    stays = control.fail >= STILL_FAILS * control.runs
    status: Status = "inconclusive"
    if not forced.realised and not forced.fail:
        status = "infeasible"
    elif forbidden.fail == 0 and brings and stays and p_value < SURE:
        status = "confirmed"
    elif forbidden.fail >= STILL_FAILS * forbidden.runs or forced.fail == 0:
        status = "refuted"
    return Verdict(status, forced, forbidden, control, p_value)
