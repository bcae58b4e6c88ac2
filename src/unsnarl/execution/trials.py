# SPDX-License-Identifier: Apache-2.0
"""Trials: runs of the target for an experiment. They are judged like others, and not kept."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.execution.result import Result
from unsnarl.execution.runner import Runner
from unsnarl.execution.server import Done
from unsnarl.model.plan import Plan, Rule, Strategy
from unsnarl.model.report import Why
from unsnarl.model.run import Switch
from unsnarl.runfile import RunFile

# Numbers of trials must not meet those of hunted runs and of captures (campaigns/captures.py).
FIRST_NUMBER = 2_000_000
TRIALS = "trials"  # the folder of their files
STRATEGIES: tuple[Strategy, ...] = ("walk", "pos", "pct")
# What PCT assumes of a run if nothing better is known.
USUAL_LENGTH = 400

# No number is used twice in a process: the end of a trial that was dropped is not that of another.
_numbers = itertools.count(FIRST_NUMBER)

# What came of a trial.
Trial = Result
Until = Callable[[Sequence[Trial]], bool]


class Trials:
    """Makes trials, several at once.

    Attributes:
        runner: What runs them.
        budget: The time for them.
        count: How many were made.
        given: Rules that hold in every trial; none of what is asked of a trial is about them.
    """

    def __init__(
        self,
        runner: Runner,
        folder: Path,
        switch: Switch,
        timeout: float,
        budget: Budget | None = None,
    ) -> None:
        self.runner = runner
        self.budget = budget or Budget()
        self.given: tuple[Rule, ...] = ()
        self._parent = folder
        self._folder = folder / TRIALS
        self._folder.mkdir(exist_ok=True)
        self._switch = switch
        self._timeout = timeout
        self.count = 0

    def under(self, given: Sequence[Rule]) -> Trials:
        """The same, with these rules in every trial."""
        same = Trials(self.runner, self._parent, self._switch, self._timeout, self.budget)
        same.given = tuple(given)
        return same

    def run(
        self, plans: Iterable[Plan], keep: Sequence[Path] = (), until: Until | None = None
    ) -> list[Trial]:
        """One trial per plan, in the order of the plans.

        Args:
            plans: What is run.
            keep: The run files, one per plan, to be kept in the store of a campaign.
            until: Asked about the trials of the first plans, after each: no more are needed then.
        """
        whole = [self._whole(plan) for plan in plans]
        kept = dict(zip((plan.number for plan in whole), keep, strict=False))
        found: dict[int, Trial] = {}
        ended: list[Trial] = []
        with closing(self.runner.run(whole, self.budget.check)) as results:
            for trial in results:
                self.budget.count_trial()
                number = trial.plan.number
                _put_away(trial, kept.get(number))
                self._leave_out_given(trial)
                found[number] = trial
                # Not in the order of their ends: what is enough must not depend on the machine.
                while len(ended) < len(whole) and whole[len(ended)].number in found:
                    ended.append(found[whole[len(ended)].number])
                    if until is not None and until(ended):
                        return self._counted(ended)
        return self._counted(ended)

    def some(self, plans: Iterable[Plan], doing: str) -> list[Trial]:
        """As many trials as there is time for, of the first plans; what is missing is noted.

        Ctrl-C ends them like the time: what was seen so far is worth reporting.
        """
        whole = list(plans)
        ended: Sequence[Trial] = ()

        def see(trials: Sequence[Trial]) -> bool:
            nonlocal ended
            ended = trials
            return False

        try:
            return self.run(whole, until=see)
        except OutOfTimeError:
            why: Why = "time"
        except KeyboardInterrupt as raised:
            self.budget.interrupt(raised)
            why = "interrupted"
        self.budget.note("replay", f"{doing}: {len(ended)} of {len(whole)} runs were made", why)
        return self._counted(list(ended))

    def _counted(self, trials: list[Trial]) -> list[Trial]:
        self.count += len(trials)
        self.budget.use_trials(len(trials))
        return trials

    def by_hand(self, plan: Plan, run: Callable[[Plan], Done]) -> Trial:
        """One trial that somebody else runs: a person, with a debugger."""
        whole = self._whole(plan)
        trial = self.runner.result(whole, run(whole))
        _put_away(trial, None)
        self.count += 1
        return trial

    def _leave_out_given(self, trial: Trial) -> None:
        """Whoever asks for a trial sees what came of its own rules."""
        if self.given and trial.run is not None:
            trial.run.rules = trial.run.rules[: -len(self.given)]

    def _whole(self, plan: Plan) -> Plan:
        """The plan with all that it leaves open."""
        number = next(_numbers)
        return replace(
            plan,
            number=number,
            file=str(self._folder / f"{number}.run"),
            output=str(self._folder / f"{number}.out"),
            switch=plan.switch or self._switch,
            timeout=plan.timeout or self._limit(plan),
            length=plan.length or USUAL_LENGTH,
            # Last: where nobody could go on, the oldest hold is given up first.
            rules=(*plan.rules, *self.given),
            # Tracebacks took pytest two thirds of the time of a failing run (docs/adr/0016).
            brief=not self.runner.reads_output if plan.brief is None else plan.brief,
        )

    def _limit(self, plan: Plan) -> float:
        """Seconds; nobody must hurry in a debugger."""
        own = self._timeout
        return own if plan.debug is not None else self.runner.pace.for_trial(own)


def fresh_plans(seed: str, count: int, **fields: Any) -> list[Plan]:
    """Plans with seeds and strategies of their own; equal arguments give equal plans."""
    draw = random.Random(seed)
    return [
        Plan(
            seed=draw.getrandbits(32),
            strategy=STRATEGIES[at % len(STRATEGIES)],
            depth=draw.randint(2, 4),
            **fields,
        )
        for at in range(count)
    ]


def replaying(run: RunFile, seed: int, **fields: Any) -> Plan:
    """The plan that repeats a run of this process, with more fields."""
    return Plan(strategy="replay", schedule=run.schedule, seed=seed, **fields)


def _put_away(trial: Trial, keep: Path | None) -> None:
    """Remove the files of a trial; with `keep`, store them there if they can be read."""
    file, output = Path(trial.plan.file), Path(trial.plan.output)
    if keep is not None and trial.run is not None:
        file.replace(keep)
        if output.exists():
            output.replace(keep.with_suffix(".out"))
    file.unlink(missing_ok=True)
    output.unlink(missing_ok=True)
