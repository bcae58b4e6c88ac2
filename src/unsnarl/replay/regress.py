# SPDX-License-Identifier: Apache-2.0
"""Kept interleavings replayed: does the bug still come under its orders?

One process per command, however many interleavings are kept of it, and one for all tests of a file
of pytest: what a replay adds to the test's own time is a few forks.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from unsnarl import config
from unsnarl.errors import ToolError, UnsnarlError, UsageError
from unsnarl.execution import target as targets
from unsnarl.execution.runner import started
from unsnarl.execution.trials import Trial, Trials
from unsnarl.model.event import site_of
from unsnarl.model.plan import Match, Plan
from unsnarl.replay.anchors import AnchoredSchedule, Codes
from unsnarl.replay.constraints import Constrained, is_counted
from unsnarl.replay.kept import Kept
from unsnarl.replay.replayer import Replayer

# fails: as recorded; differs: in another way; passes: the orders do no harm, cannot come about any
# more, or the program goes another way under them; gone: their code is not there any more;
# unreached: it is, but other threads come there, so that nothing was tried.
State = Literal["fails", "differs", "passes", "gone", "unreached"]

# Under its orders the failure is certain: one run that keeps them says it, more have other seeds.
RUNS = 3
FREE_RUNS = 1
REFUSED = "program-refused"
# The `python` of a kept command is that of whoever replays it, and not on PATH.
ELSEWHERE = ("python-without-unsnarl", "command-not-found")


class Regressed(msgspec.Struct, frozen=True):
    """What the code, as it is now, makes of a kept interleaving.

    Attributes:
        signature: How it failed, if it did.
        free: It fails only with switches at the events themselves: the interpreter's lock hides it.
        avoided: Under its orders the program does something else than it did.
        tried: The runs under its orders.
    """

    file: str
    shows: str
    state: State
    tried: Constrained
    signature: str = ""
    free: bool = False
    avoided: bool = False

    @property
    def is_bad(self) -> bool:
        """Whether the bug is there, or another one."""
        return self.state in ("fails", "differs")


class NodeTrials(Trials):
    """Trials of one test of a session."""

    node = ""

    def _whole(self, plan: Plan) -> Plan:
        return replace(super()._whole(plan), node=self.node)


class RegressionProcess:
    """A process of one command, in which the interleavings kept of it are replayed."""

    def __init__(self, trials: NodeTrials, codes: Path, root: Path) -> None:
        self._trials = trials
        self._codes = codes
        self._root = root

    def check(self, file: Path, kept: Kept) -> Regressed:
        """Replay one of them."""
        self._trials.node = node = without_node(kept.command)[1]
        try:
            return self._check(file, kept)
        except ToolError as error:
            if error.slug != REFUSED or not node:
                raise
            raise UsageError("no-tests", error.message) from None

    def _check(self, file: Path, kept: Kept) -> Regressed:
        codes = Codes.load(self._codes, self._root)
        schedule = _located(kept.schedule, codes)
        replayer = Replayer(schedule, self._trials, self._codes, self._root, loaded=codes)
        found, trials = replayer.regressed(RUNS)
        free: Sequence[Trial] = ()
        ends = [one for one in trials if one.label != "pass"]
        if not ends and schedule.switch == "gil" and not found.gone:
            # Half a fix often hides the order only from where the interpreter could switch.
            free = replayer.freely_constrained_trials(FREE_RUNS)
            ends = [one for one in free if replayer.fails(one)]
        avoided = any(_is_avoided(one, replayer.matches) for one in trials)
        state = _state(found, [replayer.fails(one) for one in ends], avoided=avoided)
        signature = ends[0].signature or ends[0].label if ends else ""
        found = replace(found, gone=_portable(found.gone, kept.schedule, schedule))
        shown = str(file.relative_to(self._root) if file.is_relative_to(self._root) else file)
        return Regressed(
            shown, kept.shows, state, found, signature, bool(free and ends), avoided and not ends
        )


def _located(schedule: AnchoredSchedule, codes: Codes) -> AnchoredSchedule:
    """With the files where they are on this machine."""
    anchors = (replace(one, file=codes.file_like(one.file)) for one in schedule.anchors)
    return replace(schedule, anchors=tuple(anchors))


def _portable(
    texts: Sequence[str], kept: AnchoredSchedule, located: AnchoredSchedule
) -> tuple[str, ...]:
    """Messages with the files as they were kept."""
    files = {
        here.file: there.file for here, there in zip(located.anchors, kept.anchors, strict=True)
    }
    for here, there in files.items():
        texts = [text.replace(here, there) for text in texts]
    return tuple(texts)


def _is_avoided(trial: Trial, matches: Sequence[Match]) -> bool:
    """Whether some of its events happen no more, although nothing but the program decides that.

    Either an order was in effect, or no thread at all comes to one of the events. Where only other
    threads than the recorded ones come there, nothing was tried.
    """
    run = trial.run
    if run is None:
        return False
    if any(one.satisfied for one in run.rules):
        return True
    reached = set(run.counts["site"].tolist())
    wanted = [[site_of(point) for point in one.points] for one in matches if is_counted(one)]
    return any(reached.isdisjoint(sites) for sites in wanted)


def _state(found: Constrained, ends: Sequence[bool], *, avoided: bool) -> State:
    if ends:
        return "fails" if any(ends) else "differs"
    if found.gone:
        return "gone"
    return "passes" if found.kept or found.released or avoided else "unreached"


@contextlib.contextmanager
def start_kept(kept: Kept, root: Path, python: str = "") -> Iterator[RegressionProcess]:
    """A process of the command that an interleaving was kept of; `python` may be another one."""
    settings = dataclasses.replace(
        config.override({}, {}),
        include=kept.include,
        fail_if=kept.fail_if,
        ok_exit=kept.ok_exit,
        jobs=1,
    )
    cwd = root / kept.folder
    target = dataclasses.replace(_target(kept, python, cwd), root=root)
    folder = Path(tempfile.mkdtemp(prefix="unsnarl-kept-"))
    try:
        with started(target, folder, settings) as runner:
            trials = NodeTrials(runner, folder, kept.switch, kept.timeout)
            yield RegressionProcess(trials, runner.engine.codes, root)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _target(kept: Kept, python: str, cwd: Path) -> targets.Target:
    """What is run; without an environment that is active, it is the one that we are in."""
    try:
        return targets.parse(_command(kept, python), cwd)
    except UnsnarlError as error:
        if python or error.slug not in ELSEWHERE:
            raise
        return targets.parse(_command(kept, sys.executable), cwd)


def without_node(command: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Of a command that runs one test of pytest, the one that collects its file, and the test."""
    is_pytest = command[0] == "pytest" or "pytest" in command[1:3]
    nodes = [word for word in command if "::" in word and not word.startswith("-")]
    if not is_pytest or len(nodes) != 1:
        return tuple(command), ""
    return tuple(one.partition("::")[0] if one in nodes else one for one in command), nodes[0]


def _command(kept: Kept, python: str) -> tuple[str, ...]:
    """With another interpreter, if one is given."""
    command = first, *rest = without_node(kept.command)[0]
    if not python or first not in ("python", "pytest"):
        return command
    return (python, *(["-m", "pytest"] if first == "pytest" else []), *rest)
