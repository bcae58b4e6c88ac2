# SPDX-License-Identifier: Apache-2.0
"""Replay: follow an anchored schedule in a new process, and say where that was not possible."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace as with_fields

from unsnarl.campaigns.store import Store
from unsnarl.errors import UsageError
from unsnarl.execution.disk import storing
from unsnarl.execution.server import Done
from unsnarl.execution.trials import Trial, Trials, Until, fresh_plans
from unsnarl.model.constraint import Constraint
from unsnarl.model.plan import Match, Plan
from unsnarl.model.run import RunRecord
from unsnarl.placement.timeline import Timeline
from unsnarl.recording.recorder import PHASE as RECORDED
from unsnarl.replay.anchors import (
    TO_THE_END,
    VERSION,
    Anchor,
    AnchoredSchedule,
    Anchorer,
    Codes,
    Resolved,
    plan_of,
    resolve,
)
from unsnarl.replay.constraints import Constrained, Enforced, ends, rules_of
from unsnarl.replay.lifted import lifted
from unsnarl.runfile import RunFileError, read_run
from unsnarl.runfile.codes import Code

FOLDER = "schedules"
# How strictly a schedule is followed (anchors.plan_of).
STRICT = 0
LOOSER = (1, 2)
# Since Python 3.12 a comprehension is no function of its own: it is in no signature.
COMPREHENSION = re.compile(r"\.<locals>\.<(?:list|dict|set)comp>")


class Track(msgspec.Struct, frozen=True):
    """A segment of the schedule, for a message: which one, whose, where it should have led.

    Reports call the segments of a schedule its steps.
    """

    step: int
    steps: int
    thread: str
    file: str
    line: int
    function: str
    text: str
    message: str


class Replayed(msgspec.Struct, frozen=True):
    """What came of replaying one run.

    Attributes:
        failed: How many of the replays failed with the recorded signature.
        signatures: How often they ended in which way; "" for a replay that passed.
        left: Where the first replay that could not follow the schedule left it.
        loose: The schedule led to the failure only without the waits inside of libraries.
        changed: The first segment at which the program is no longer what it was.
        gone: The code of a segment is not there any more.
        constrained: Where no replay failed, what came of its minimised constraints, if it has any.
        cut: Less was done than was asked for: the time ended, or somebody wanted the answer.
    """

    run: int
    signature: str
    times: int
    failed: int
    signatures: dict[str, int]
    loose: bool = False
    left: Track | None = None
    changed: Track | None = None
    gone: bool = False
    constrained: Constrained | None = None
    cut: bool = False


class Replayer:
    """Follows one schedule in the process behind `trials`, whose code may be another by now.

    Where following it strictly does not lead to the failure, it is followed more loosely: waits
    inside of libraries, which another version of Python may do differently, are left to chance.
    """

    def __init__(
        self,
        schedule: AnchoredSchedule,
        trials: Trials,
        codes: Path,
        root: Path,
        overlay: Iterable[tuple[str, str]] = (),
        *,
        loaded: Codes | None = None,
        is_patient: bool = True,
    ) -> None:
        """`loaded` is what another replayer in the same process has made of `codes`.

        Without patience, what hangs is not followed more loosely as well.
        """
        self.schedule = schedule
        self.path = codes
        self.root = root
        self._trials = trials
        self._looseness = STRICT
        self._is_patient = is_patient
        self._first: Trial | None = None  # strictly, and not to the failure
        self._overlay = overlay
        self._resolve(loaded or Codes.load(codes, root, overlay=overlay))

    def _resolve(self, codes: Codes) -> None:
        self.codes = codes
        anchors = enumerate(self.schedule.anchors)
        self._resolved = {at: resolve(anchor, codes) for at, anchor in anchors}

    def follow(self, times: int, **fields: Any) -> list[Trial]:
        """Replay so many times, with more fields in the plan."""
        tried = self._choose()
        # The trial that found out how strictly to follow is a replay like the others, unless the
        # plan has more fields.
        done = [tried] if tried is not None and not fields else []
        plan = with_fields(self._plan(self._looseness), **fields)
        rest = [plan] * (times - len(done))
        return done + self._trials.some(rest, f"replaying run {self.schedule.run}")

    def by_hand(self, run: Callable[[Plan], Done], **fields: Any) -> list[Trial]:
        """Replay once, with more fields in the plan, under a debugger that `run` starts."""
        self._choose()
        return [self._trials.by_hand(with_fields(self._plan(self._looseness), **fields), run)]

    def _plan(self, looseness: int) -> Plan:
        rows, _ = plan_of(self.schedule, self._resolved, looseness)
        seed, switch = self.schedule.seed, self.schedule.switch
        return Plan(strategy="replay", anchors=rows, seed=seed, switch=switch)

    def constrained(self, runs: int) -> Constrained:
        """So many fresh runs under the minimised constraints, as far as their code is there.

        Fewer, if the time ends before.
        """
        enforced, plans = self._enforced(runs)
        trials = self._trials.some(plans, f"trying the constraints of run {self.schedule.run}")
        return Constrained.of(self.schedule, enforced, trials, sum(map(self.fails, trials)))

    def regressed(self, runs: int) -> tuple[Constrained, list[Trial]]:
        """At most so many runs under the constraints: none after one that failed.

        Where threads waited in code that is gone, they are held at the events themselves.
        """
        enforced, plans = self._enforced(runs)
        if enforced.gone:
            enforced, plans = self._enforced(runs, freely=True)
        trials = self._trials.run(plans, until=lambda made: made[-1].label != "pass")
        found = Constrained.of(self.schedule, enforced, trials, sum(map(self.fails, trials)))
        return found, trials

    @property
    def matches(self) -> list[Match]:
        """The events of its constraints, in the code as it is now."""
        rules = rules_of(self.schedule, self._resolved, at_events=True).rules
        pairs = ((rule.hold, rule.until) for rule in rules)
        return [one for pair in pairs for one in pair if one is not None]

    def freely_constrained(self, runs: int) -> list[Trial]:
        """So many more, with switches at the events themselves; fewer, if the time ends before.

        An edit may have put a lock's release between where the interpreter could switch and the
        event: then only such runs have the order. Failures other than the recorded one may be
        latent ones of the program itself.
        """
        _, plans = self._enforced(runs, freely=True)
        doing = f"trying the constraints of run {self.schedule.run} with free switching"
        return self._trials.some(plans, doing)

    def constrained_trials(self, runs: int, until: Until | None = None) -> list[Trial]:
        """The same, one by one, as long as more are needed."""
        return self._trials.run(self._enforced(runs)[1], until=until)

    def lifted_trials(self, runs: int, until: Until | None = None) -> list[Trial]:
        """The same, with threads held before the locks that the code takes now; what came of each.

        None where there are no such locks.
        """
        enforced, plans = self._enforced(runs)
        if not plans:
            return []
        (seen,) = self._trials.run([with_fields(plans[0], rules=(), trace=True)])
        if seen.label != "pass":
            return [seen]
        rules = lifted(enforced, Timeline.of(seen.run)) if seen.run is not None else ()
        more = [with_fields(plan, rules=rules) for plan in plans] if rules else []
        return self._trials.run(more, until=until)

    def freely_constrained_trials(self, runs: int, until: Until | None = None) -> list[Trial]:
        """The same, with switches at the events themselves; what came of each."""
        return self._trials.run(self._enforced(runs, freely=True)[1], until=until)

    def _enforced(self, runs: int, *, freely: bool = False) -> tuple[Enforced, list[Plan]]:
        """What can be enforced, and so many plans for it."""
        self._choose()  # for the code that only a run loads
        enforced = rules_of(self.schedule, self._resolved, at_events=freely)
        count = runs if enforced.rules else 0
        seed, switch = f"constrained/{self.schedule.run}", self.schedule.switch
        if freely:
            switch = "free"
        return enforced, fresh_plans(seed, count, rules=enforced.rules, switch=switch)

    def _choose(self) -> Trial | None:
        """Find out, once, how strictly the schedule leads to the failure; gives the trial of it."""
        if self._first is not None or self._needs_no_run:
            return None
        (first,) = self._trials.run([self._plan(STRICT)])
        if any(one.fate == "gone" for one in self._resolved.values()) and _late(first):
            # From now on the code that only a run loads can be resolved, too.
            self._resolve(Codes.load(self.path, self.root, _late(first), self._overlay))
            (first,) = self._trials.run([self._plan(STRICT)])
        self._first = chosen = first
        # Strictly first (docs/adr/0014): a looser plan leaves more to chance.
        enough = self.fails(first) or (first.label == "hang" and not self._is_patient)
        looser = [] if enough else [self._plan(looseness) for looseness in LOOSER]
        made = self._trials.run(looser, until=lambda so_far: self.fails(so_far[-1]))
        if made and self.fails(made[-1]):
            self._looseness, chosen = LOOSER[len(made) - 1], made[-1]
        return chosen

    @property
    def _needs_no_run(self) -> bool:
        """Of a kept interleaving: there is nothing to follow, and all its code is there."""
        return not self.schedule.segments and all(one.points for one in self._resolved.values())

    def fails(self, trial: Trial) -> bool:
        """Whether a replay failed as recorded."""
        return trial.label != "pass" and _is_same(trial.signature, self.schedule.signature)

    def _left(self, trials: Iterable[Trial | None]) -> int:
        """The segment at which the first replay that could not follow strictly left it."""
        _, numbers = plan_of(self.schedule, self._resolved)
        for trial in trials:
            segment = trial.run.counters["diverged_segment"] if trial and trial.run else 0
            if segment and numbers:
                return numbers[min(segment, len(numbers)) - 1]
        return -1

    def summary(self, trials: Sequence[Trial]) -> Replayed:
        """What to report of the replays."""
        schedule = self.schedule
        # Segments are numbered as in the strict plan; looser trials have others.
        left = self._left([self._first] if self._looseness else [self._first, *trials])
        return Replayed(
            run=schedule.run,
            signature=schedule.signature,
            times=len(trials),
            failed=sum(map(self.fails, trials)),
            signatures=ends(trials),
            loose=self._looseness > STRICT,
            left=self._track(left, "") if left >= 0 else None,
            changed=self._first_change(),
            gone=any(self._resolved[at].fate == "gone" for at in self._anchors_used()),
        )

    def _anchors_used(self) -> set[int]:
        return {one.anchor for one in self.schedule.segments} - {TO_THE_END}

    def _first_change(self) -> Track | None:
        for number, segment in enumerate(self.schedule.segments):
            resolved = self._resolved.get(segment.anchor)
            if resolved is not None and resolved.fate in ("changed", "gone"):
                return self._track(number, self._what_changed(segment.anchor, resolved))
        return None

    def _what_changed(self, at: int, resolved: Resolved) -> str:
        anchor = self.schedule.anchors[at]
        if not self.codes.knows(anchor.file, anchor.function):
            return f"there is no {anchor.function} in {anchor.file} any more"
        if resolved.fate == "gone":
            return f"{anchor.function} no longer does this: {anchor.text}"
        return f"this line of {anchor.function} has changed: {anchor.text}"

    def _track(self, number: int, message: str) -> Track:
        segment = self.schedule.segments[number]
        nowhere = Anchor("", "", 0, "", 0, "", 0)
        to_the_end = segment.anchor == TO_THE_END
        anchor = nowhere if to_the_end else self.schedule.anchors[segment.anchor]
        return Track(
            step=number + 1,
            steps=len(self.schedule.segments),
            thread=segment.path,
            file=anchor.file,
            line=anchor.line,
            function=anchor.function,
            text=anchor.text,
            message=message,
        )


def _late(trial: Trial) -> tuple[Code, ...]:
    return trial.run.codes if trial.run is not None else ()


def plain_signature(signature: str) -> str:
    """A signature in terms that all versions of Python share."""
    return COMPREHENSION.sub("", signature)


def _is_same(one: str, other: str) -> bool:
    return plain_signature(one) == plain_signature(other)


def schedule_file(store: Store, number: int) -> Path:
    """Where the anchored schedule of a run is kept."""
    return store.folder / FOLDER / f"{number:06d}.json"


def keep_schedules(
    store: Store,
    orders: Mapping[int, Sequence[Constraint]] = MappingProxyType({}),
    *,
    forced: Mapping[int, Sequence[Constraint]] = MappingProxyType({}),
    seconds: float = math.inf,
) -> None:
    """Write the anchored schedules of all failing runs that have none yet.

    To be called while the code is still what the runs were made of: the anchors hold its text.

    Args:
        orders: The constraints to which runs were minimised, by run; these are written anew, first.
        forced: The order under which experiments made the failure come about, where there are none.
        seconds: What is not begun by then is left to `load_schedule`.
    """
    end = time.monotonic() + seconds
    kept = [one for one in store.runs() if one.kept and one.phase != RECORDED]
    failing = [one.record for one in kept if one.record.label != "pass"]
    wanted = [
        one
        for one in failing
        if one.number in orders
        or one.number in forced
        or not schedule_file(store, one.number).exists()
    ]
    if not wanted:
        return
    description = store.description
    anchorer = Anchorer(store.codes, Path(description.root), description.python)
    with storing(store.folder):
        (store.folder / FOLDER).mkdir(exist_ok=True)
        for record in sorted(wanted, key=lambda one: one.number not in orders):
            if time.monotonic() < end:
                likely = forced.get(record.number, ())
                _keep(store, record, anchorer, orders.get(record.number, ()), likely)


def _keep(
    store: Store,
    record: RunRecord,
    anchorer: Anchorer,
    constraints: Sequence[Constraint],
    forced: Sequence[Constraint],
) -> None:
    try:
        run = read_run(store.run_file(record.number))
        schedule = anchorer.schedule(record, run, constraints, forced)
    except RunFileError:
        return  # a damaged file is named by others
    schedule_file(store, record.number).write_bytes(msgspec.json.encode(schedule))


def load_schedule(store: Store, number: int) -> AnchoredSchedule:
    """The anchored schedule of a run; made now if the hunt was killed before it could be kept."""
    if all(one.record.number != number for one in store.runs()):
        raise UsageError("no-run", f"campaign {store.name} has no run {number}")
    keep_schedules(store)
    path = schedule_file(store, number)
    if not path.exists():
        raise UsageError(
            "no-schedule",
            f"run {number} of campaign {store.name} has no schedule to follow",
            f"a recorded run has to be found back first: unsnarl reproduce {store.name}/{number}"
            if is_recorded(store, number)
            else "only failing runs whose run file was kept can be replayed",
        )
    return _read(path)


def is_recorded(store: Store, number: int) -> bool:
    """Whether a run was made freely, with its logs on."""
    return any(one.record.number == number and one.phase == RECORDED for one in store.runs())


def stored_schedules(store: Store) -> list[AnchoredSchedule]:
    """The anchored schedules of all failing runs that are kept, by number."""
    keep_schedules(store)
    return [_read(path) for path in sorted((store.folder / FOLDER).glob("*.json"))]


def _read(path: Path) -> AnchoredSchedule:
    try:
        schedule = msgspec.json.decode(path.read_bytes(), type=AnchoredSchedule)
    except (OSError, msgspec.MsgspecError) as error:
        raise UsageError("no-schedule", f"cannot read {path}: {error}") from None
    if schedule.version != VERSION:
        raise UsageError("no-schedule", f"{path} has version {schedule.version}, not {VERSION}")
    return schedule
