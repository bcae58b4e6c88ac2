# SPDX-License-Identifier: Apache-2.0
"""Is a finding the cause? Force its order, forbid it, and hold elsewhere as a control (design 8).

Forced trials are fresh runs in which the accesses come in the order that they had in one failing
run; control trials are the same with critical sections elsewhere, which must not help. Forbidden
trials replay the recorded failing schedules: without the rules every one of them fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.experiments.constraints import Timeline
from unsnarl.experiments.rules import Rule, controlling, forbidding
from unsnarl.experiments.scene import Stage, unrelated
from unsnarl.experiments.statistics import fisher
from unsnarl.experiments.told import told_constraints
from unsnarl.experiments.trials import Plan, Trials, fresh_plans
from unsnarl.model.finding import Arm, Status
from unsnarl.model.run import RuleEffect
from unsnarl.runfile import Interner, RunFile

RUNS = 20
SURE = 0.001
# So many of the forced runs must fail, and of the controls so many of those that fail without.
BRINGS = 0.5
STILL_FAILS = 0.5
MOST_TRACES = 3


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
        self._traces: dict[int, RunFile | None] = {}

    def test(self, answer: Answer, runs: int = RUNS) -> Verdict | None:
        """The verdict on one answer; None if no failing run of it can be replayed."""
        run = next(filter(None, map(self.trace, answer.runs[:MOST_TRACES])), None)
        if run is None:
            return None
        stage = Stage(run, self._interner)
        spots = stage.spots(answer)
        order = [one.rule for one in told_constraints(Timeline(run), spots)]
        elsewhere = controlling(spots, unrelated(run, spots, len(spots)))
        forced = self._arm(self._fresh("force", order, runs) if order else [])
        forbidden = self._arm(self._replays(forbidding(spots), runs))
        control = self._arm(self._replays(elsewhere, runs))
        if control.fail < STILL_FAILS * control.runs and order:
            # A hold makes a replay leave its track; constraints are not so easily led astray.
            control = self._arm(self._fresh("control", elsewhere + order, runs))
        return judge(forced, forbidden, control)

    def trace(self, at: int) -> RunFile | None:
        """A failing run again, with every event; None if it does not fail any more."""
        if at not in self._traces:
            (trial,) = self._trials.run([{**self._schedule(at), "trace": True}])
            fails = trial.fails_as(self._compared.signature)
            self._traces[at] = trial.run if fails else None
        return self._traces[at]

    def _fresh(self, arm: str, rules: list[Rule], runs: int) -> list[Plan]:
        return fresh_plans(f"{self._compared.signature}/{arm}", runs, rules=rules)

    def _replays(self, rules: list[Rule], runs: int) -> list[Plan]:
        which = range(min(runs, len(self._compared.runs)))
        return [{**self._schedule(at), "rules": rules} for at in which]

    def _schedule(self, at: int) -> dict[str, object]:
        run, record = self._compared.runs[at], self._compared.records[at]
        segments = [[one.path, one.until, one.point] for one in run.schedule]
        return {"strategy": "replay", "schedule": segments, "seed": record.seed}

    def _arm(self, plans: Sequence[Plan]) -> Arm:
        trials = self._trials.run(plans)
        effects = [trial.run.rules if trial.run is not None else () for trial in trials]
        return Arm(
            fail=sum(trial.fails_as(self._compared.signature) for trial in trials),
            runs=len(trials),
            realised=sum(_kept(rules) for rules in effects),
            released=sum(any(rule.released for rule in rules) for rules in effects),
        )


def _kept(rules: Sequence[RuleEffect]) -> bool:
    """Whether every rule had its way."""
    return all(rule.satisfied and not rule.released for rule in rules)


def judge(forced: Arm, forbidden: Arm, control: Arm) -> Verdict:
    """Confirmed: forbidding removes the failure, holding elsewhere does not, forcing brings it."""
    p_value = fisher(forced.fail, forced.runs, forbidden.fail, forbidden.runs)
    brings = forced.fail >= BRINGS * max(forced.runs, 1)
    stays = control.fail >= STILL_FAILS * control.runs
    status: Status = "inconclusive"
    if forbidden.fail == 0 and brings and stays and p_value < SURE:
        status = "confirmed"
    elif forced.runs and not forced.realised and not forced.fail:
        status = "infeasible"
    elif forbidden.fail >= STILL_FAILS * forbidden.runs and not forced.fail:
        status = "refuted"
    return Verdict(status, forced, forbidden, control, p_value)
