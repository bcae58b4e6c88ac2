# SPDX-License-Identifier: Apache-2.0
"""The method: from a record to a schedule that fails as recorded, or words for why there is none."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec

from unsnarl.campaigns.store import Store
from unsnarl.errors import UsageError
from unsnarl.experiments.trials import Trial
from unsnarl.model.record import Record
from unsnarl.model.run import RunRecord, Switch
from unsnarl.model.site import Op
from unsnarl.reproduce.again import Again
from unsnarl.reproduce.clap.conditions import Chooser
from unsnarl.reproduce.clap.encode import Encoded, encode, ticks
from unsnarl.reproduce.clap.following import Follower
from unsnarl.reproduce.clap.histories import Did, History, of_record, of_run
from unsnarl.reproduce.clap.schedule import HELD, Occurrences, Row, places_in_order, rows, smoothed
from unsnarl.reproduce.clap.sightings import sightings
from unsnarl.reproduce.orders import (
    Answer,
    Kind,
    OrderProblem,
    Solved,
    TimedOut,
    Unsatisfiable,
    solve_order,
)
from unsnarl.reproduce.orders.native import NativeSolver
from unsnarl.reproduce.replay import plain_signature
from unsnarl.runfile import RunFile, RunFileError, SiteTable, read_run

Ending = Literal["reproduced", "not-reproduced", "unsatisfiable", "time-out", "left-path"]
Form = Literal["values", "branches"]
PHASE = "reproduce"
STRATEGY = "clap"
MOST_ASIDE = 20


class Solving(msgspec.Struct, frozen=True):
    """What a solver was given and what it cost.

    Attributes:
        accesses: Shared reads and writes.
        events: All events of the problem, clock markers with them.
        seconds: Of encoding and solving.
        by: The stage that had the answer.
        reads: Branches only: reads on which a condition depends.
        pruned: Branches only: reads-from choices that program order and clocks have removed.
        choices: Branches only: the writes that these may have seen, all together.
        conflicts: Branches only: choices for which there was no order.
        set_aside: Values only: reads that no order can explain, and that were left out: a value
            may have been taken while a library was still at work.
    """

    accesses: int
    events: int
    seconds: float
    by: str
    reads: int = 0
    choices: int = 0
    pruned: int = 0
    conflicts: int = 0
    set_aside: int = 0


class Outcome(msgspec.Struct, frozen=True):
    """What came of it.

    Attributes:
        run: The failing run that was made, by its number in the campaign.
        replayed: Of so many replays of it, how many failed as recorded.
        why: For a person: what stood in the way.
    """

    ending: Ending
    form: Form
    signature: str
    solving: Solving | None = None
    tries: int = 0
    run: int = 0
    replayed: tuple[int, int] = (0, 0)
    switch: Switch = "gil"
    why: str = ""


class Source(msgspec.Struct, frozen=True):
    """A recorded run: what the store and its file say of it."""

    stored: RunRecord
    run: RunFile
    record: Record
    form: Form


def load(store: Store, number: int) -> Source:
    """A recorded run that this method can solve; anything else is refused in words."""
    stored = next((one.record for one in store.runs() if one.record.number == number), None)
    if stored is None:
        raise UsageError("no-run", f"campaign {store.name} has no run {number}")
    try:
        run = read_run(store.run_file(number))
        record = run.record
    except RunFileError as error:
        raise UsageError("record-damaged", str(error)) from None
    if record is None:
        raise UsageError("no-record", f"run {number} of campaign {store.name} was not recorded")
    return Source(stored, run, record, _form(record))


def _form(record: Record) -> Form:
    if record.how.values and record.how.level == "access":
        return "values"
    if record.how.branches:
        return "branches"
    raise UsageError(
        "record-lacks-values",
        "CLAP needs what accesses found, or which way branches went; this record has neither",
        "record with --level access --values, or (Python) with --branches",
    )


class Clap:
    """Solves one record and replays what it finds."""

    def __init__(self, source: Source, process: Again, store: Store, seconds: float) -> None:
        self._source = source
        self._process = process
        self._store = store
        self._seconds = seconds
        self._table = SiteTable.load(process.codes, Path(store.description.root))
        self._clocks_on = True

    def reproduce(self, times: int) -> Outcome:
        """The best that could be done."""
        worst = Outcome("unsatisfiable", self._source.form, self._source.stored.signature)
        tries = 0
        for histories, answer, encoded, solving in self._solutions():
            if not isinstance(answer, Solved):
                ending: Ending = "time-out" if isinstance(answer, TimedOut) else "unsatisfiable"
                if worst.ending == "unsatisfiable":
                    worst = msgspec.structs.replace(worst, ending=ending, solving=solving)
                continue
            for switch in self._switches():
                tries += 1
                found = self._try(histories, encoded, answer, switch)
                if found is not None:
                    return self._kept(found, solving, tries, switch, times)
            worst = msgspec.structs.replace(
                worst, ending="not-reproduced", solving=solving, tries=tries
            )
        return worst

    def _switches(self) -> tuple[Switch, ...]:
        return ("free",) if self._source.stored.switch == "free" else ("gil", "free")

    def _solutions(self) -> Iterator[tuple[list[History], Answer, Encoded, Solving]]:
        if self._source.form == "values":
            yield self._by_values()
        else:
            yield from self._by_branches()

    def _by_values(self) -> tuple[list[History], Answer, Encoded, Solving]:
        began = time.monotonic()
        record = self._source.record
        histories = of_record(self._source.run, record)
        encoded = encode(histories, ticks(histories, record.how))
        problem, answer, aside = explained(encoded.problem, self._seconds)
        encoded = replace(encoded, problem=problem)
        spent = time.monotonic() - began
        solving = Solving(
            encoded.accesses, problem.size, spent, _stage(answer), set_aside=aside
        )
        return histories, answer, encoded, solving

    def _by_branches(self) -> Iterator[tuple[list[History], Answer, Encoded, Solving]]:
        record = self._source.record
        scratch = self._process.codes.parent
        follower = Follower(record, self._process.trials, scratch, self._source.stored.seed)
        end = time.monotonic() + self._seconds
        for along in follower.along([[], self._by_time()]):
            histories = of_run(along.run, record)
            for strict in (True, False):
                left = end - time.monotonic()
                if left <= 0:
                    return
                began = time.monotonic()
                encoded = encode(histories, ticks(histories, record.how), in_turn=strict)
                chooser = Chooser(encoded, sightings(encoded, histories, along), strict)
                answer = chooser.solve(NativeSolver(), left)
                spent = time.monotonic() - began
                effort = chooser.effort
                yield histories, answer, encoded, Solving(
                    encoded.accesses, encoded.problem.size, spent, _stage(answer),
                    effort.reads, effort.choices, effort.pruned, effort.conflicts,
                )  # fmt: skip

    def _by_time(self) -> list[Row]:
        """The order that the stamps of locks and threads suggest."""
        histories = of_record(self._source.run, self._source.record)
        moments = [
            (did.stamp, thread, place)
            for thread, history in enumerate(histories)
            for place, did in enumerate(history.events)
        ]
        order = [(thread, place) for _, thread, place in sorted(moments)]
        return rows(histories, order, Occurrences(self._table), self._can_hold)

    def _can_hold(self, did: Did) -> bool:
        return did.op in HELD and (did.is_access or bool(did.point >> 4))

    def _try(
        self, histories: Sequence[History], encoded: Encoded, answer: Solved, switch: Switch
    ) -> tuple[Trial, Path] | None:
        order = smoothed(encoded.problem, answer.order.tolist())
        failure = self._source.stored.failure
        plan = rows(
            histories,
            places_in_order(encoded, order),
            Occurrences(self._table),
            self._can_hold,
            failure.thread if failure else "",
        )
        kept = self._process.codes.parent / "found.run"
        (trial,) = self._process.trials.run([self._plan(plan, switch) | {"kept": str(kept)}])
        return (trial, kept) if self._fails(trial) else None

    def _plan(self, plan: list[Row], switch: Switch) -> dict[str, Any]:
        seed = self._source.stored.seed
        return {"strategy": "replay", "anchors": plan, "seed": seed, "switch": switch}

    def _fails(self, trial: Trial) -> bool:
        wanted = plain_signature(self._source.stored.signature)
        return trial.label != "pass" and plain_signature(trial.signature) == wanted

    def _kept(
        self, found: tuple[Trial, Path], solving: Solving, tries: int, switch: Switch, times: int
    ) -> Outcome:
        """Keep the run like a hunted one; its own schedule is what is replayed from now on."""
        trial, path = found
        number = max(one.record.number for one in self._store.runs()) + 1
        path.replace(self._store.run_file(number))
        record = msgspec.structs.replace(
            self._source.stored, number=number, label=trial.label, signature=trial.signature,
            strategy=STRATEGY, switch=switch,
            threads_controlled=len(trial.run.threads) if trial.run else 0,
        )  # fmt: skip
        self._store.add(record, PHASE, True)
        again = self._process.trials.run([_repeat(trial.run, record)] * times)
        failed = sum(map(self._fails, again))
        return Outcome(
            "reproduced", self._source.form, trial.signature, solving, tries, number,
            (failed, times), switch,
        )  # fmt: skip


def explained(problem: OrderProblem, seconds: float) -> tuple[OrderProblem, Answer, int]:
    """Solve; a few reads that contradict all else are left out. Gives how many."""
    end = time.monotonic() + seconds
    for aside in range(MOST_ASIDE):
        left = max(end - time.monotonic(), 0.001)
        answer = solve_order(problem, NativeSolver(), left)
        events = answer.events if isinstance(answer, Unsatisfiable) else ()
        reads = [event for event in events if problem.kind[event] == Kind.READ]
        if not reads:
            return problem, answer, aside
        known = problem.known.copy()
        known[reads] = False
        problem = replace(problem, known=known)
    return problem, answer, MOST_ASIDE


def _repeat(run: RunFile | None, record: RunRecord) -> dict[str, Any]:
    assert run is not None
    segments = [[one.path, one.until, one.point] for one in run.schedule]
    return {"strategy": "replay", "schedule": segments, "seed": record.seed, "switch": record.switch}


def _stage(answer: Answer) -> str:
    return answer.by if isinstance(answer, Solved | Unsatisfiable) else ""


__all__ = ["Clap", "Op", "Outcome", "Source", "load"]
