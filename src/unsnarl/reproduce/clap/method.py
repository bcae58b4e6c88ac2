# SPDX-License-Identifier: Apache-2.0
"""CLAP as one of the methods of `unsnarl reproduce`: solve the order, then replay it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace as with_fields

from unsnarl.errors import UsageError
from unsnarl.execution.trials import Trial, replaying
from unsnarl.model.choices import Level
from unsnarl.model.plan import Plan
from unsnarl.model.record import Record, Recorded
from unsnarl.model.run import Switch
from unsnarl.replay.target_process import TargetProcess
from unsnarl.reproduce.clap import schedule, solving
from unsnarl.reproduce.clap.following import Follower, Left
from unsnarl.reproduce.clap.solving import Attempt, Form
from unsnarl.reproduce.methods import REPLAYS, Outcome
from unsnarl.reproduce.orders import Solved, TimedOut
from unsnarl.reproduce.pres.flip_queue import FlipQueue
from unsnarl.reproduce.pres.sketch import Sketch, sketch_of
from unsnarl.reproduce.recorded import Case
from unsnarl.runfile import SiteTable

SECONDS = 60.0  # of solving, all together
HINTS: dict[Form, str] = {
    "values": "--with pres searches instead, and needs no values",
    "branches": "branches show integers only; for all else record with --level access --values",
}


def reproduce(
    case: Case, process: TargetProcess, tries: int, progress: Callable[[int], None]
) -> Outcome:
    """Solve the order of a record, and try what was found."""
    return Clap(case, process, progress).run(tries)


def form_of(how: Recorded) -> Form:
    """What the order can be solved from.

    Raises:
        UsageError: Nothing that was recorded will do.
    """
    if how.values:
        return "values"
    if how.branches:
        return "branches"
    raise UsageError(
        "record-lacks-values",
        "the order cannot be solved: the record has neither values of accesses nor branches",
        "record with --level access --values (or funcloop), or (Python only) with --branches",
    )


class Clap:
    """One record, solved and tried.

    Args:
        with_clocks: Use the record's stamps. Without them nothing but the threads' own logs is
            left, as in CLAP itself.
    """

    def __init__(
        self,
        case: Case,
        process: TargetProcess,
        progress: Callable[[int], None] = lambda tries: None,
        *,
        with_clocks: bool = True,
    ) -> None:
        self._case = case
        self._with_clocks = with_clocks
        self._process = process
        self._progress = progress
        self._form = form_of(case.record.how)
        self._folder = process.codes.parent
        self._file = self._folder / "sketch"
        self._tries = 0
        self._flaky = 0
        self._late = False  # whether the time was over before all was tried
        self._follower: Follower | None = None

    def run(self, most: int) -> Outcome:
        """At most so many tries."""
        attempts: list[Attempt] = []
        for attempt in self._attempts():
            attempts.append(attempt)
            for plan in self._plans(attempt):
                if self._tries >= most:
                    return self._outcome(attempts, None)
                trial = self._try(plan)
                if trial is not None:
                    return self._outcome(attempts, trial)
        return self._outcome(attempts, None)

    def _switches(self) -> tuple[Switch, ...]:
        """Where the interpreter would switch, first: the more a schedule is like the recorded run,
        the better."""
        return ("free",) if self._case.run.switch == "free" else ("gil", "free")

    def _attempts(self) -> Iterator[Attempt]:
        if self._form == "values":
            # Times are likely but prove nothing, so they decide in a second attempt only. It helped
            # with atomicorder: 20 of 20 records instead of 33 of 40 (docs/adr/0023).
            for by_time in (False, True) if self._with_clocks else (False,):
                yield solving.by_values(
                    self._case, SECONDS, with_clocks=self._with_clocks, by_time=by_time
                )
            return
        case, trials = self._case, self._process.trials
        self._follower = Follower(case.record, trials, self._folder, case.run.seed)
        seed = case.run.seed
        # As CLAP does it; symbols do not depend on the order, so one process is enough
        # (docs/internals/reproduce.md).
        alone = Plan(strategy="replay", seed=seed, anchors=[])  # each thread alone, to its end
        sketch = (
            sketch_of(case) if self._with_clocks else Sketch(_without_events(case.record), None)
        )
        # ... else as the stamps of locks and threads say
        bases = [alone, self._by_time(sketch)] if self._with_clocks else [alone]
        self._late = yield from solving.by_branches(
            case,
            self._follower,
            bases,
            FlipQueue(sketch, case),
            SECONDS,
            with_clocks=self._with_clocks,
        )

    def _by_time(self, sketch: Sketch) -> Plan:
        file = self._folder / "followed.sketch"
        sketch.write(file, [self._case.failing])
        return self._along(file, sketch.level)

    def _along(self, file: Path, level: Level) -> Plan:
        return Plan(strategy="sketch", seed=self._case.run.seed, sketch=str(file), level=level)

    def _plans(self, attempt: Attempt) -> Iterator[Plan]:
        """What to try: the order; and what the followed run did, if it failed by itself."""
        seed = self._case.run.seed
        plans: list[Plan] = []
        if isinstance(attempt.solution, Solved):
            order = attempt.solution.order.tolist()
            failing = self._case.failing
            schedule.write(self._file, attempt.histories, attempt.encoded, order, failing)
            plans.append(self._along(self._file, "access"))
        if attempt.run is not None:
            plans.append(replaying(attempt.run, seed))
        for plan in plans:
            for switch in self._switches():
                yield with_fields(plan, switch=switch)

    def _try(self, plan: Plan) -> Trial | None:
        (trial,) = self._process.trials.run([plan])
        self._tries += 1
        self._progress(self._tries)
        if not self._case.is_met_by(trial) or trial.run is None:
            return None
        if self._replayed(trial) == REPLAYS:
            return trial
        self._flaky += 1
        return None

    def _replayed(self, trial: Trial) -> int:
        assert trial.run is not None
        plan = replaying(trial.run, self._case.run.seed, switch=trial.plan.switch)
        return sum(map(self._case.is_met_by, self._process.trials.run([plan] * REPLAYS)))

    def _outcome(self, attempts: Sequence[Attempt], trial: Trial | None) -> Outcome:
        last = next((one for one in reversed(attempts) if one.is_solved), None)
        last = last or (attempts[-1] if attempts else None)
        followed = self._follower
        left = followed.left if followed and not attempts else None
        facts = {
            "form": self._form,
            "ending": ending(attempts, trial is not None, tries=self._tries, late=self._late),
            "solver": last.cost if last else None,
            "followed": followed.runs if followed else 0,
            "left": left,
        }
        return Outcome(
            tries=self._tries,
            trial=trial,
            replayed=REPLAYS if trial else 0,
            flaky=self._flaky,
            facts=facts,
            lines=tuple(self._lines(last, trial, left)),
        )

    def _lines(self, last: Attempt | None, trial: Trial | None, left: Left | None) -> Iterator[str]:
        if left is not None:
            yield self._where(left)
        elif last is None:
            yield "the program could not be run along the recorded branches"
        else:
            yield from _solver_lines(self._form, last, found=trial is not None)
        if self._follower is not None:
            runs = self._follower.runs
            was = "run was" if runs == 1 else "runs were"
            yield f"{runs} {was} made along the recorded branches, to learn what was read"
        if trial is None and self._late:
            yield f"the time for it, {SECONDS:.0f} s, was over [solver-time-out]"
        if trial is None:
            yield HINTS[self._form]
        if trial is not None and trial.plan.switch != self._case.run.switch:
            yield "it switches threads where this interpreter would not: free-threaded ones can"

    def _where(self, left: Left) -> str:
        root = self._process.target.root
        site = SiteTable.load(self._process.codes, root).site(left.site)
        return (
            f"thread {left.path} cannot be followed beyond {site.file}:{site.line} "
            f"({site.function}): what decides there is no shared integer ({left.reason})"
        )


def _without_events(record: Record) -> Record:
    """Without all that is stamped: nothing is known of the order of its threads."""
    threads = [msgspec.structs.replace(one, events=one.events[:0]) for one in record.threads]
    return msgspec.structs.replace(record, threads=tuple(threads))


def ending(attempts: Sequence[Attempt], found: bool, *, tries: int, late: bool) -> str:
    """In a word, for machines. That there is no order is said only if no question is open."""
    if found:
        return "reproduced"
    if tries or any(one.is_solved for one in attempts):
        return "not-reproduced"
    if late or any(isinstance(one.solution, TimedOut) for one in attempts):
        return "time-out"
    return "unsatisfiable" if attempts else "not-followed"


def _solver_lines(form: Form, last: Attempt, *, found: bool) -> Iterator[str]:
    cost = last.cost
    seconds = f"{cost.seconds:.2f} s"
    what = f"{cost.accesses} shared accesses of {len(last.histories)} threads, from {form} alone"
    if isinstance(last.solution, TimedOut):
        yield f"the solver was not done with {what} after {seconds} [solver-time-out]"
    elif not last.is_solved:
        yield f"there is no order of {what} [order-unsatisfiable]"
        if form == "values":
            yield "the log, or what the clocks are taken for, is wrong"
    else:
        yield f"solved: an order of {what}, in {seconds}"
        if not found:
            yield "but no run in an order that was found fails as recorded"
    if cost.choices:
        yield (
            f"{cost.reads} reads decide; of {cost.pruned + cost.choices} writes that they may have "
            f"seen, program order and clocks exclude {cost.pruned}"
        )
    if cost.set_aside:
        yield f"{cost.set_aside} reads were set aside: nothing that was logged explains them"
