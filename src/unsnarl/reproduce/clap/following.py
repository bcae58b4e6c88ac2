# SPDX-License-Identifier: Apache-2.0
"""CLAP proper, first half: what the threads of a run read and wrote, as symbols.

The target is run once more under the gate, along the recorded branches, with a symbol for each
shared integer that is read (probes/python/following). Threads run alone, each to its end as far as
locks let it; where that leaves the recorded path, because of values that cannot be symbols, they
take turns as the stamps of their locks say. Outcomes that no branch tells (max, sorted, ==
of lists) are guessed, and guessed differently where the path is left.

What a read of an object, a text or a container gives is what this run finds there. Where that is
not what the recorded run found, racing accesses are turned round, as PRES does (docs/adr/0022): the
branches tell early which of these runs go astray.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from unsnarl.experiments.constraints import Constraint
from unsnarl.experiments.trials import STRATEGIES, Plan, Trial, Trials
from unsnarl.model.record import Record
from unsnarl.reproduce.pres.candidates import Candidates
from unsnarl.runfile import RunFile

MOST_GUESSES = 64  # runs in which other outcomes are guessed
FEW_GUESSES = 4  # ... of those in which accesses are turned round
MOST_TURNS = 150


class Followed(msgspec.Struct, frozen=True):
    """What one thread did along its path (probes/python/following/hooks.py).

    Attributes:
        accesses: For each: the symbol that it got, what was there before it, what it wrote.
        conditions: How many accesses came before, and the condition.
        guesses: Outcomes that no branch tells.
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


class Story(msgspec.Struct, frozen=True):
    """What a followed run has written."""

    threads: dict[str, Followed]
    left: Left | None = None


class Along(msgspec.Struct, frozen=True):
    """A run along the recorded branches."""

    story: Story
    run: RunFile
    trial: Trial


@dataclass
class Guesses:
    """Outcomes that no branch tells, thread by thread: (outcome, whether the other one was tried).

    A search in depth: a run follows those that are there, and makes its own beyond them.
    """

    made: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)

    def asked(self) -> dict[str, list[int]]:
        """What the next run is to guess."""
        return {path: [one for one, _ in known] for path, known in self.made.items()}

    def learn(self, story: Story) -> None:
        """Add what a run has guessed of its own."""
        for path, thread in story.threads.items():
            known = self.made.setdefault(path, [])
            known += [(one, False) for one in thread.guesses[len(known) :]]

    def turn(self, path: str) -> bool:
        """Take back the thread's latest guess that has another side; False if there is none."""
        known = self.made.get(path, [])
        while known and known[-1][1]:
            known.pop()
        if known:
            known[-1] = (1 - known[-1][0], True)
        return bool(known)


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
            for story, trial in self._guessing(base, MOST_GUESSES):
                if story.left is None and trial.run is not None:
                    yield Along(story, trial.run, trial)

    def turned(self, base: Plan, candidates: Candidates) -> Iterator[Along]:
        """Further runs that kept to the path: racing accesses are turned round, and when there is
        nothing left to turn round, chance decides what the base leaves open."""
        plan: Plan = base
        made: tuple[Constraint, ...] = ()
        for number in range(MOST_TURNS):
            if time.monotonic() > self.until:
                return
            for story, trial in self._guessing(plan, FEW_GUESSES):
                left = story.left.path if story.left else ""
                is_new = candidates.learn(trial.run, made, left)
                if is_new and number and story.left is None and trial.run is not None:
                    yield Along(story, trial.run, trial)
            made = candidates.next()
            plan = {**base, "rules": [one.rule for one in made]}
            if not made:
                chance = {"strategy": self._draw.choice(STRATEGIES)}
                plan = {**base, **chance, "draw": self._draw.getrandbits(32)}

    def _guessing(self, base: Plan, most: int) -> Iterator[tuple[Story, Trial]]:
        """Runs of one order: where the path is left, what was guessed last is guessed otherwise."""
        guesses = Guesses()
        for _ in range(most):
            in_time = time.monotonic() <= self.until
            found = self._once(base, guesses.asked()) if in_time else None
            if found is None:
                return
            story, _ = found
            self._note(story)
            guesses.learn(story)
            yield found
            if not any(map(guesses.turn, _suspects(story))):
                return

    def _note(self, story: Story) -> None:
        """Where it left the path, if none came farther."""
        passed = sum(thread.branches for thread in story.threads.values())
        if story.left is not None and passed > self._farthest:
            self._farthest, self.left = passed, story.left

    def _once(self, base: Plan, guesses: dict[str, list[int]]) -> tuple[Story, Trial] | None:
        self._file.unlink(missing_ok=True)
        self.runs += 1
        follow = {"file": str(self._file), "branches": self._branches, "guesses": guesses}
        plan = {**base, "seed": self._seed, "trace": True, "switch": "free"}
        (trial,) = self._trials.run([{**plan, "follow": follow}])
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=Story), trial
        except (OSError, msgspec.MsgspecError):
            return None


def _suspects(story: Story) -> list[str]:
    """Whose guesses may be wrong: those of the thread that left its path."""
    return [story.left.path] if story.left else list(story.threads)
