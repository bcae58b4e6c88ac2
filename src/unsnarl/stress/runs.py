# SPDX-License-Identifier: Apache-2.0
"""Runs of programs: a program and a plan go in, an outcome comes out."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from unsnarl.campaigns.profile import profile_of
from unsnarl.campaigns.rotation import Rotation
from unsnarl.config import Settings
from unsnarl.execution.budget import Budget
from unsnarl.execution.result import Result
from unsnarl.execution.runner import Runner
from unsnarl.model.plan import Plan
from unsnarl.model.run import Switch
from unsnarl.stress.program import CallProgram, Order, ProgramOutcome

# What a thread waits until it is clear that the one before it waits, too: first less than the time
# limits that programs have, then more. Sleeps of up to 0.1 s may end early, so both are longer.
PATIENCE, LONG_PATIENCE = 0.15, 60.0
# Plans of so many runs are made at once, whatever the number of cores: what later ones learn from
# earlier ones must not depend on the machine.
BATCH = 4


class Runs:
    """Makes runs in the process of a target.

    Attributes:
        count: Those in which threads were interleaved.
        serial: Those along a serial order.
        threads: How many threads the largest of them had, and how many of these were controlled.
        uncontrolled: How many runs had a thread that was not.
    """

    def __init__(self, runner: Runner, folder: Path, settings: Settings, budget: Budget) -> None:
        self.count = 0
        self.serial = 0
        self.threads = (0, 0)
        self.uncontrolled = 0
        self._runner = runner
        self._folder = folder
        self._settings = settings
        self._budget = budget
        self._numbers = itertools.count(1)

    def in_order(
        self,
        program: CallProgram,
        orders: Sequence[Order],
        *,
        long: bool = False,
        shift: int = 0,
        draw: int = 1,
    ) -> list[ProgramOutcome]:
        """What a program gives if its calls are made one after the other.

        Args:
            program: Whose calls.
            orders: One run each.
            long: Whether time limits in calls run out before others are made.
            shift: Another one makes other addresses, times and random numbers.
            draw: Another one may let another thread go on where several wait for the same.
        """
        patience = LONG_PATIENCE if long else PATIENCE
        plans = [
            # PCT without a change of priorities: another thread runs when one waits or has ended.
            Plan(
                strategy="pct", depth=1, seed=1 + shift, draw=draw, switch="free", length=400,
                node=program.message(order=order, patience=patience, shift=shift),
            )
            for order in orders
        ]  # fmt: skip
        self.serial += len(plans)
        return [_outcome(result) for result in self._made(plans)]

    def interleaved(self, program: CallProgram, plans: Sequence[Plan]) -> list[Result]:
        """A program under schedules of the gate."""
        self.count += len(plans)
        node = program.message()
        return self._made([replace(plan, node=node) for plan in plans])

    def _made(self, plans: Sequence[Plan]) -> list[Result]:
        whole = [self._whole(plan) for plan in plans]
        found = {}
        with closing(self._runner.run(whole, self._budget.check)) as results:
            for result in results:
                found[result.plan.number] = result
                self._count_threads(result)
                Path(result.plan.file).unlink(missing_ok=True)
                Path(result.plan.output).unlink(missing_ok=True)
        return [found[plan.number] for plan in whole]

    def _count_threads(self, result: Result) -> None:
        threads = result.run.threads if result.run is not None else ()
        controlled = sum(one.controlled for one in threads)
        self.threads = max(self.threads, (len(threads), controlled))
        self.uncontrolled += controlled < len(threads)

    def _whole(self, plan: Plan) -> Plan:
        number = next(self._numbers)
        return replace(
            plan,
            number=number,
            file=str(self._folder / f"{number}.run"),
            output=str(self._folder / f"{number}.out"),
            timeout=self._runner.pace.for_hunt(self._settings.timeout),
            brief=True,
        )


class Schedules:
    """The plans of one program's runs: a rotation of strategies that learns from them."""

    def __init__(self, seed: str, wanted: str, *, is_free: bool) -> None:
        self._rotation = Rotation(random.Random(seed).getrandbits(32))
        self._modes = _modes(wanted, is_free)
        self._next = 1

    def batch(self, count: int) -> list[Plan]:
        """The next plans."""
        numbers = range(self._next, self._next + count)
        self._next += count
        modes = self._modes
        return [self._rotation.plan(at, switch=modes[at % len(modes)]) for at in numbers]

    def learn(self, result: Result) -> None:
        """From a run that was not wrong."""
        if result.run is not None:
            wide = result.plan.sites is None
            self._rotation.learn(profile_of(result.run), passed=True, wide=wide)


def _modes(wanted: str, is_free: bool) -> tuple[Switch, ...]:
    if is_free or wanted == "free":
        return ("free",)
    return ("gil",) if wanted == "gil" else ("gil", "free")


def outcome_of(result: Result) -> ProgramOutcome:
    """What came of a run."""
    return _outcome(result)


def _outcome(result: Result) -> ProgramOutcome:
    failure = result.failure
    if result.label == "hang":
        return ProgramOutcome(hangs=True, timed_out=True)
    if failure is not None and failure.kind == "deadlock":
        return ProgramOutcome(hangs=True)
    noted: dict[str, Any] | None = result.run.notes.outcome if result.run is not None else None
    died = result.signature if result.label == "fail" else ""
    if noted is None:
        return ProgramOutcome(died=died or "ended without an outcome")
    return replace(msgspec.convert(noted, ProgramOutcome), died=died)
