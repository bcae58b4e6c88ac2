# SPDX-License-Identifier: Apache-2.0
"""Runs a patched program in the original's stead, and counts what fails.

    recorded failing schedules  -->  followed once each   \\
    their minimised constraints -->  fresh runs            }-->  checks; the first bad run ends them
    the rotation of strategies  -->  200 fresh runs       /
    one run without interruptions -> ends and prints as before
"""

from __future__ import annotations

import contextlib
import dataclasses
import linecache
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from unsnarl.campaigns.neighbours import NEAR
from unsnarl.campaigns.profile import profile_of
from unsnarl.campaigns.rotation import Rotation
from unsnarl.campaigns.shares import SERIAL
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import HUNT
from unsnarl.config import Settings
from unsnarl.errors import UnsnarlError
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.execution.disk import storing
from unsnarl.execution.pace import RunPace
from unsnarl.execution.runner import Runner, started
from unsnarl.execution.target import Target
from unsnarl.execution.trials import Trial, Trials, Until
from unsnarl.model.report import PatchChecks
from unsnarl.model.run import Switch
from unsnarl.patches.native.rebuild import Rebuild
from unsnarl.patches.regions import Draft
from unsnarl.patches.source import TextFile
from unsnarl.replay.anchors import AnchoredSchedule, Codes
from unsnarl.replay.replayer import Replayer, stored_schedules
from unsnarl.runfile import CODES_FILE, SiteTable

FOLDER = "patching"
# Fresh runs that a patch has to survive; more if the failure is rare, so that it would have come.
CERTAIN, MOST_CERTAIN = 200, 600
# With so many failures to be expected, none by chance is out of the question.
EXPECTED = 6.0
FREE = 60
STUCK = "stuck"
WAITS = "a lock is held while its thread waits for others, or for what is outside"
SCHEDULES = 6
CONSTRAINED = 20
# The first batch is small: most wrong patches fail in it.
BATCHES = (6, 14, 30)
# What differs from run to run in what programs print: times, addresses, and how much of a line is
# left to be filled after them.
VARYING = re.compile(r"\d+\.\d+|0x[0-9a-f]+|\s*\(\d+:\d\d:\d\d\)|([^\w\s])\1{2,}")


Sources = Mapping[str, TextFile]


@dataclasses.dataclass(frozen=True)
class Tried:
    """What came of a patch.

    Attributes:
        accessed: The functions that named accesses in a failing run are in: (file, function, name).
        message: Why it could not be run as the original is.
        failure: The signature of the run that failed.
        stuck: That run, fresh or along what failed before, ended in a deadlock or hung.
    """

    checks: PatchChecks
    whole: bool = True
    accessed: frozenset[tuple[str, str, str]] = frozenset()
    message: str = ""
    failure: str = ""
    stuck: bool = False

    @property
    def deadlocked(self) -> bool:
        """Whether its threads came to wait for each other."""
        return self.stuck or bool(self.checks.deadlocks)

    @property
    def works(self) -> bool:
        """Whether it is a fix."""
        return self.whole and self.checks.good


class SerialRun(NamedTuple):
    """A run without interruptions.

    Attributes:
        printed: How it ended, and what it printed.
        waits: How often a thread waited for others, for time or for files while it held a lock.
    """

    printed: str
    waits: int


class PatchRunner:
    """Runs patches for one failure of a stored campaign.

    Raises RebuildError for a program that does not say how it was built.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        signature: str,
        switch: Switch,
        budget: Budget,
        *,
        original: Runner | None = None,
    ) -> None:
        """`original` has a process of the unpatched program; without it one is started."""
        self._original = original
        self._store = store
        self._settings = settings
        self._budget = budget
        self._switch: Switch = switch
        self._signature = signature
        self._folder = store.folder / FOLDER
        self._target = store.target()
        every = [_proven(one) for one in stored_schedules(store) if one.signature == signature]
        # The one with constraints is the proven one.
        self._schedules = sorted(every, key=lambda one: not one.constraints)[:SCHEDULES]
        self._serial: SerialRun | None = None
        # Patched programs take about as long: a run that hangs is cut off early in all of them.
        self._pace = original.pace if original is not None else RunPace()
        program = self._target.kind == "program"
        self._rebuild = Rebuild(self._target.cwd / self._target.args[0]) if program else None

    def wanted(self) -> int:
        """How many fresh runs must pass, by how many of the original's failed.

        Those that followed a failing one do not count: no run of a patch does that.
        """
        hunted = (one.record for one in self._store.runs() if one.phase == HUNT)
        fresh = [one for one in hunted if one.strategy not in (NEAR, SERIAL)]
        failed = sum(one.signature == self._signature for one in fresh)
        rate = failed / len(fresh) if fresh else 0.0
        return min(MOST_CERTAIN, max(CERTAIN, round(EXPECTED / rate) if rate else MOST_CERTAIN))

    def check(self, sources: Sources) -> None:
        """Raises RebuildError if a program cannot be built of these sources once more."""
        if self._rebuild is not None:
            self._rebuild.check([source.path for source in sources.values()])

    def run_on_others(
        self, draft: Draft, sources: Sources, runs: int, made: PatchChecks
    ) -> Tried | None:
        """What came of a patch of another failure, and runs along the schedules of this one.

        Fresh runs would be the same ones: they have the same seeds, and any failure counts in them.
        None if this failure is so rare that it takes more of them.
        """
        enough = made.good and made.runs >= self._every(runs)
        return self.run(draft, sources, runs, made) if enough else None

    def _every(self, runs: int) -> int:
        """With those under free switching."""
        return runs + FREE * (self._switch == "gil")

    def run(
        self, draft: Draft, sources: Sources, runs: int, made: PatchChecks | None = None
    ) -> Tried:
        """Apply a patch to a copy, and run that until something fails or all is done.

        Fresh runs that were `made` are not repeated.
        """
        if self._serial is None:
            with self._of_original() as trials:
                self._serial = self._in_series(trials)
        try:
            with self._written(draft, sources) as target, self._started(target) as trials:
                return self._tried(trials, target, runs, made)
        except UnsnarlError as error:
            # It cannot even be loaded, or built.
            return Tried(PatchChecks(), whole=False, message=error.message)

    @contextmanager
    def _written(self, draft: Draft, sources: Sources) -> Iterator[Target]:
        folder = self._store.folder / f"{FOLDER}-files"
        with storing(self._store.folder):
            folder.mkdir(exist_ok=True)
            pairs = []
            for index, (name, text) in enumerate(sorted(draft.texts.items())):
                patched = folder / f"{index}.py"
                patched.write_bytes(sources[name].encoded(text))
                pairs.append((str(sources[name].path), str(patched)))
        try:
            with _quoted(draft, sources):
                yield self._patched(folder, pairs)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _patched(self, folder: Path, pairs: Sequence[tuple[str, str]]) -> Target:
        """The target with its patched files; a program is built with them."""
        target = dataclasses.replace(self._target, overlay=tuple(pairs))
        if target.kind != "program":
            return target
        assert self._rebuild is not None
        files = {Path(path): Path(patched).read_bytes() for path, patched in pairs}
        made = self._rebuild.with_files(files, folder)
        return dataclasses.replace(target, args=(str(made), *target.args[1:]))

    @contextmanager
    def _of_original(self) -> Iterator[Trials]:
        if self._original is None:
            with self._started(self._target) as trials:
                yield trials
        else:
            yield self._trials(self._original, self._store.folder)

    @contextmanager
    def _started(self, target: Target) -> Iterator[Trials]:
        with started(target, self._folder, self._settings, scratch=True) as runner:
            runner.pace = self._pace
            yield self._trials(runner, self._folder)

    def _trials(self, runner: Runner, folder: Path) -> Trials:
        return Trials(runner, folder, self._switch, self._settings.timeout, self._budget)

    def _tried(self, trials: Trials, target: Target, runs: int, made: PatchChecks | None) -> Tried:
        serial, before = self._in_series(trials), self._serial
        assert before is not None
        if not ends_well(serial.printed, before.printed):
            # Waiting without another thread to wait for: for a lock that it holds itself.
            stuck = int(serial.printed.startswith(STUCK))
            checks = PatchChecks(runs=1, fail=1 - stuck, deadlocks=stuck)
            message = "a run without interruptions ends otherwise"
            return Tried(checks, message=message, stuck=bool(stuck))
        if serial.waits > before.waits:
            return Tried(PatchChecks(runs=1, fail=1), message=WAITS)
        checks, bad = self._replayed(trials, target)
        checks = replace(checks, serial=True)
        start, every = self._budget.spent, self._every(runs)
        if made is not None:
            checks = replace(checks, runs=made.runs)
        whole = False
        with contextlib.suppress(OutOfTimeError):
            for found in self._all_fresh(trials, runs) if bad is None and made is None else ():
                checks = _counted(checks, found)
                bad = next((trial for trial in found if _is_bad(trial)), None)
                if bad is not None or self._is_late(start, checks.runs, every):
                    break
            else:
                whole = True
        # Where time runs out, those have to do that every patch must survive.
        whole |= bad is not None or checks.runs >= self._every(CERTAIN)
        stuck = bad is not None and _is_stuck(bad)
        failure = bad.signature if bad is not None else ""
        return Tried(checks, whole, self._accessed(bad), failure=failure, stuck=stuck)

    def _is_late(self, start: float, made: int, every: int) -> bool:
        """Whether the rest of the runs takes more time than there is.

        As long as other patches may be begun, it is not asked: the pace may change.
        """
        pace = (self._budget.spent - start) / max(made, 1)
        return not self._budget.may_begin and pace * (every - made) > self._budget.left

    def _replayed(self, trials: Trials, target: Target) -> tuple[PatchChecks, Trial | None]:
        """Along what failed before: the patched program must not come to it any more."""
        done: list[Trial] = []
        codes: Codes | None = None
        root = Path(self._store.description.root)
        for schedule in self._schedules:
            path, overlay = trials.runner.engine.codes, target.overlay
            replayer = Replayer(
                schedule, trials, path, root, overlay, loaded=codes, is_patient=False
            )
            found = _along(replayer)
            done += found
            codes = replayer.codes
            # Where one schedule says nothing, others take their whole time limit as well.
            followed = any(trial.plan.strategy == "replay" for trial in found)
            if not followed or any(map(_is_bad, done)):
                break
        bad = [trial for trial in done if _is_bad(trial)]
        return PatchChecks(replayed=len(done), replayed_fail=len(bad)), bad[0] if bad else None

    def _all_fresh(self, trials: Trials, runs: int) -> Iterator[list[Trial]]:
        """Under the failure's own switching mode, then under free switching.

        A patch that only makes the failure rarer leaves it where threads may switch anywhere.
        """
        left = CERTAIN
        for found in self._fresh(trials, runs, self._switch, _ends_badly):
            yield found
            left -= len(found)
            if left <= 0 < left + len(found):
                yield from self._freely_fresh(trials)

    def _freely_fresh(self, trials: Trials) -> Iterator[list[Trial]]:
        def fails(made: Sequence[Trial]) -> bool:
            return made[-1].fails_as(self._signature)

        for found in self._fresh(trials, FREE, "free", fails) if self._switch == "gil" else ():
            yield [one for one in found if not _is_bad(one) or one.fails_as(self._signature)]

    def _fresh(
        self, trials: Trials, runs: int, switch: Switch, until: Until
    ) -> Iterator[list[Trial]]:
        """Batch by batch, as a hunt would do it, each up to the first bad trial."""
        rotation = Rotation(self._settings.seed + 2)
        number = 1
        for size in _sizes(runs):
            plans = [
                rotation.plan(number + at, switch=switch, window_size=self._settings.window)
                for at in range(size)
            ]
            number += size
            found = trials.run(plans, until=until)
            for trial in found:
                rotation.count(trial.plan.strategy, _is_bad(trial))
                if trial.run is not None:
                    wide = trial.plan.sites is None
                    rotation.learn(profile_of(trial.run), passed=not _is_bad(trial), wide=wide)
            yield found

    def _in_series(self, trials: Trials) -> SerialRun:
        """A run without interruptions: how it ends, what it prints, who waits with a lock held."""
        keep = self._store.folder / "serial.run"
        plan = replace(Rotation(0).serial_plan(0, switch="gil"), number=0)
        (trial,) = trials.run([plan], [keep])
        output = keep.with_suffix(".out")
        text = output.read_text("utf-8", "replace") if output.exists() else ""
        for file in (keep, output):
            file.unlink(missing_ok=True)
        # Whoever fails without any interruption may print what it likes.
        printed = VARYING.sub("", text) if trial.label == "pass" else ""
        ended = f"{STUCK if _is_stuck(trial) else trial.label}\n{printed}"
        return SerialRun(ended, trial.run.counters["waits_holding"] if trial.run else 0)

    def _accessed(self, trial: Trial | None) -> frozenset[tuple[str, str, str]]:
        """What a failing run accessed, for the patch that comes next."""
        if trial is None or trial.run is None:
            return frozenset()
        table = SiteTable.load(self._folder / CODES_FILE, self._store.description.root)
        sites = {int(row[1]) for row in trial.run.counts.tolist()}
        points = [table.site(site) for site in sites if site < table.watermark]
        return frozenset((one.file, one.function, one.name) for one in points if one.name)


def _along(replayer: Replayer) -> list[Trial]:
    """The schedule itself, and its constraints if it has some, up to the first bad trial.

    Free switching comes first: most wrong patches fail there.
    """
    found = [one for one in replayer.follow(1) if not polls_on(one)]
    if not replayer.schedule.constraints:
        return found
    found = [one for one in found if not is_kept_on(one)]
    if any(map(_is_bad, found)):
        return found
    free = replayer.freely_constrained_trials(CONSTRAINED, lambda made: replayer.fails(made[-1]))
    # Other failures under free switching may be latent ones of the program itself.
    found += [one for one in free if not _is_bad(one) or replayer.fails(one)]
    if not any(map(_is_bad, found)):
        found += replayer.constrained_trials(CONSTRAINED, _ends_badly)
    if not any(map(_is_bad, found)):
        found += replayer.lifted_trials(CONSTRAINED, _ends_badly)
    return found


def _proven(schedule: AnchoredSchedule) -> AnchoredSchedule:
    """With what is to be enforced: what makes the failure certain, else what made it likely."""
    if schedule.constraints or schedule.forced is msgspec.UNSET:
        return schedule
    return replace(schedule, constraints=schedule.forced)


def _ends_badly(made: Sequence[Trial]) -> bool:
    return _is_bad(made[-1])


@contextmanager
def _quoted(draft: Draft, sources: Sources) -> Iterator[None]:
    """Signatures quote source lines; for the time of its runs, those of the patched text.

    Entries without a time of change are not compared with the file (linecache.checkcache).
    """
    paths = {str(sources[name].path): text for name, text in draft.texts.items()}
    for path, text in paths.items():
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    try:
        yield
    finally:
        for path in paths:
            linecache.cache.pop(path, None)


def ends_well(printed: str, before: str) -> bool:
    """Whether a run without interruptions ends as it did before the patch; if it failed then, it
    must pass now, whatever it prints."""
    passed = "pass\n"
    return printed == before if before.startswith(passed) else printed.startswith(passed)


def _sizes(runs: int) -> Iterator[int]:
    for size in BATCHES:
        yield min(size, runs)
        runs -= size
        if runs <= 0:
            return
    while runs > 0:
        yield min(50, runs)
        runs -= 50


def _counted(checks: PatchChecks, trials: Sequence[Trial]) -> PatchChecks:
    stuck = sum(_is_stuck(one) for one in trials)
    bad = sum(map(_is_bad, trials)) - stuck
    return replace(
        checks,
        runs=checks.runs + len(trials),
        fail=checks.fail + bad,
        deadlocks=checks.deadlocks + stuck,
    )


def _is_bad(trial: Trial) -> bool:
    """Whatever it is: a failure that the program did not have was brought by the patch."""
    return trial.label != "pass"


def polls_on(trial: Trial) -> bool:
    """Whether a schedule kept a thread polling for what only another can do: it says nothing.

    Fresh runs let threads that poll yield (docs/adr/0039); there a hang is one.
    """
    if trial.label != "hang" or trial.plan.strategy != "replay":
        return False
    failures = trial.run.failures if trial.run is not None else ()
    return any("polling" in one.message for one in failures)


def is_kept_on(trial: Trial) -> bool:
    """Whether a schedule may have kept a thread in a loop that the failure used to end.

    That is no deadlock. Where the schedule's constraints are tried as well, they say more: under
    them, threads take turns.
    """
    if trial.label != "hang":
        return False
    failures = trial.run.failures if trial.run is not None else ()
    return not any(one.kind == "deadlock" for one in failures)


def _is_stuck(trial: Trial) -> bool:
    return trial.label == "hang" or (
        trial.run is not None and any(one.kind == "deadlock" for one in trial.run.failures)
    )
