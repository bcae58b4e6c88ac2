# SPDX-License-Identifier: Apache-2.0
"""CLAP proper, first half: what the threads of a run read and wrote, as symbols.

The target is run once more under the gate, along the recorded branches, with a symbol for each
shared integer that is read (probes/python/following). Threads run alone, each to its end as far as
locks let it; where that leaves the recorded path, because of values that cannot be symbols, they
take turns as the stamps of their locks say. Outcomes that no branch shows (max, sorted, ==
of lists) are guessed, and guessed differently where the path is left.

What a read of an object, a text or a container gives is what this run finds there. Where that is
not what the recorded run found, racing accesses are turned round, as PRES does (docs/adr/0022): the
branches show early which of these runs leave the recorded path.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec.structs import replace as with_fields

from unsnarl.execution.trials import STRATEGIES, Trial, Trials
from unsnarl.model.constraint import Constraint
from unsnarl.model.plan import Follow, Plan
from unsnarl.model.record import Record
from unsnarl.reproduce.pres.flip_queue import FlipQueue
from unsnarl.runfile import RunFile

MOST_GUESSES = 64  # runs in which other outcomes are guessed
FEW_GUESSES = 4  # ... of those in which accesses are turned round
MOST_TURNS = 150


class FollowedThread(msgspec.Struct, frozen=True):
    """What one thread did along its path (probes/python/following/hooks.py).

    Attributes:
        accesses: For each: the symbol that it got, what was there before it, what it wrote.
        conditions: How many accesses came before, and the condition.
        guesses: Outcomes that no branch shows.
        branches: How many recorded branches it has passed.
        names: Texts that were too long to be repeated.
    """

    accesses: tuple[tuple[str, str | None, str | None], ...]
    conditions: tuple[tuple[int, str], ...]
    guesses: tuple[int, ...]
    branches: int
    names: dict[str, str] = {}


class Left(msgspec.Struct, frozen=True):
    """Where a run left the recorded path: what was asked there was of this type."""

    path: str
    site: int
    branch: int
    reason: str


class FollowedRun(msgspec.Struct, frozen=True):
    """What a run along the recorded branches wrote of its threads."""

    threads: dict[str, FollowedThread]
    left: Left | None = None


class Along(msgspec.Struct, frozen=True):
    """A run along the recorded branches."""

    followed: FollowedRun
    run: RunFile
    trial: Trial


@dataclass
class Guesses:
    """Outcomes that no branch shows, thread by thread: (outcome, whether the other one was tried).

    A search in depth: a run follows those that are there, and makes its own beyond them.
    """

    made: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)

    def asked(self) -> dict[str, list[int]]:
        """What the next run is to guess."""
        return {path: [one for one, _ in made] for path, made in self.made.items()}

    def learn(self, followed: FollowedRun) -> None:
        """Add what a run has guessed of its own."""
        for path, thread in followed.threads.items():
            made = self.made.setdefault(path, [])
            made += [(one, False) for one in thread.guesses[len(made) :]]

    def turn(self, path: str) -> bool:
        """Take back the thread's latest guess that has another side; False if there is none."""
        made = self.made.get(path, [])
        while made and made[-1][1]:
            made.pop()
        if made:
            made[-1] = (1 - made[-1][0], True)
        return bool(made)


class Follower:
    """Runs the target along the branches of a record.

    Attributes:
        runs: How many runs were made.
        left: Where the one that came farthest left the path.
        until: When to make no more of them (time.monotonic).
    """

    def __init__(self, record: Record, trials: Trials, scratch: Path, seed: int) -> None:
        self._branches = {one.path: one.branches.astype(int).tolist() for one in record.threads}
        self._trials = trials
        self._file = scratch / "followed.json"
        self._seed = seed
        self.runs = 0
        self.left: Left | None = None
        self._farthest = -1
        self._draw = random.Random(seed)
        self.until = math.inf

    def along(self, bases: Sequence[Plan]) -> Iterator[Along]:
        """Runs that kept to the path, in several orders and with several guesses."""
        for base in bases:
            for followed, trial in self._guessing(base, MOST_GUESSES):
                if followed.left is None and trial.run is not None:
                    yield Along(followed, trial.run, trial)

    def turned(self, base: Plan, queue: FlipQueue) -> Iterator[Along]:
        """Further runs that kept to the path: racing accesses are turned round, and when there is
        nothing left to turn round, chance decides what the base leaves open."""
        plan: Plan = base
        made: tuple[Constraint, ...] = ()
        for number in range(MOST_TURNS):
            if time.monotonic() > self.until:
                return
            for followed, trial in self._guessing(plan, FEW_GUESSES):
                left = followed.left.path if followed.left else ""
                is_new = queue.learn(trial.run, made, left)
                if is_new and number and followed.left is None and trial.run is not None:
                    yield Along(followed, trial.run, trial)
            made = queue.next()
            plan = with_fields(base, rules=tuple(one.rule for one in made))
            if not made:
                strategy = self._draw.choice(STRATEGIES)
                plan = with_fields(base, strategy=strategy, draw=self._draw.getrandbits(32))

    def _guessing(self, base: Plan, most: int) -> Iterator[tuple[FollowedRun, Trial]]:
        """Runs of one order: where the path is left, what was guessed last is guessed otherwise."""
        guesses = Guesses()
        for _ in range(most):
            in_time = time.monotonic() <= self.until
            found = self._once(base, guesses.asked()) if in_time else None
            if found is None:
                return
            followed, _ = found
            self._note(followed)
            guesses.learn(followed)
            yield found
            if not any(map(guesses.turn, _suspects(followed))):
                return

    def _note(self, followed: FollowedRun) -> None:
        """Where it left the path, if none came farther."""
        passed = sum(thread.branches for thread in followed.threads.values())
        if followed.left is not None and passed > self._farthest:
            self._farthest, self.left = passed, followed.left

    def _once(self, base: Plan, guesses: dict[str, list[int]]) -> tuple[FollowedRun, Trial] | None:
        # A run that dies before it writes must not be taken for the one before it.
        self._file.unlink(missing_ok=True)
        self.runs += 1
        follow = Follow(str(self._file), self._branches, guesses)
        plan = with_fields(base, seed=self._seed, trace=True, switch="free", follow=follow)
        (trial,) = self._trials.run([plan])
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=FollowedRun), trial
        except (OSError, msgspec.MsgspecError):
            return None


def _suspects(followed: FollowedRun) -> list[str]:
    """Whose guesses may be wrong: those of the thread that left its path."""
    return [followed.left.path] if followed.left else list(followed.threads)
