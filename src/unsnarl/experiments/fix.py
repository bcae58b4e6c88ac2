# SPDX-License-Identifier: Apache-2.0
"""A simulated fix: the smallest region that must be atomic, or the order that must be kept.

The gate pretends that the program had the lock: a region is entered by one thread at a time
(native/gate/rules.c). Regions are tried from small to large, each on replays of the recorded
failing schedules and on fresh seeds; the first one without failures and deadlocks is certified on
many more fresh runs. A hold that had to be given up is a deadlock: the real lock would have one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.experiments.candidates import Candidate, candidates
from unsnarl.experiments.ground import Ground
from unsnarl.experiments.story import Story, lock_names, stacks_of, tell
from unsnarl.experiments.trials import Plan, Trial, Trials, fresh_plans, replaying
from unsnarl.runfile import Interner, RunFile

# Trials of each kind for a start. Certifying begins with many more fresh ones.
REPLAYS = 20
FORCED = 20
FRESH = 6
# The first few of each kind tell most wrong candidates.
STAGES = (0, 2, 6, None)
CERTAIN = 200
# Certifying runs at once: the first bad ones are enough, and trials have a deadline in common.
BATCH = 25
# Besides the failing run: other traces know lines that it did not come to.
TRACED = 4
# So many failing runs are searched for one that has all of the finding's lines.
RUNS = 5


@dataclass(frozen=True)
class Outcome:
    """What became of some trials under a candidate: a deadlock is not counted as a failure."""

    fail: int = 0
    deadlocks: int = 0
    runs: int = 0

    @property
    def bad(self) -> int:
        """Trials that speak against the candidate."""
        return self.fail + self.deadlocks

    @property
    def good(self) -> bool:
        """Whether something was tried, and nothing speaks against the candidate."""
        return bool(self.runs) and not self.bad

    @property
    def share(self) -> float:
        """How many of all speak against it."""
        return self.bad / self.runs if self.runs else 1.0

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.fail + other.fail, self.deadlocks + other.deadlocks, self.runs + other.runs
        )


@dataclass(frozen=True)
class Fix:
    """What would repair the program.

    Attributes:
        story: What goes wrong without it.
        outcome: Of the certifying runs; of the last ones tried if it does not work.
        tried: Candidates tried before this one was found, with it.
    """

    candidate: Candidate
    story: Story
    outcome: Outcome
    tried: int

    @property
    def works(self) -> bool:
        """Whether it removed the failure and brought nothing worse."""
        return self.outcome.good


class Fixer:
    """Looks for fixes of the findings of one signature.

    `others` are signatures that have other causes: their failures say nothing of a fix, while one
    that nobody has seen before was brought by it.
    """

    def __init__(
        self,
        trials: Trials,
        compared: Compared,
        interner: Interner,
        others: Collection[str] | None = None,
    ) -> None:
        self._trials = trials
        self._compared = compared
        self._interner = interner
        self._others = others

    def fix(self, answer: Answer | None, certain: int = CERTAIN) -> Fix | None:
        """The smallest fix that works, or else the best one tried; None if nothing can be tried.

        Without an answer only a cycle of locks can be repaired: it tells itself.
        """
        story = self._story(answer)
        if story is None:
            return None
        best: Fix | None = None
        tried = 0
        for candidate in candidates(story):
            tried += 1
            outcome = self.screen(candidate)
            if outcome.good:
                outcome = self.certify(candidate, certain)
            fix = Fix(candidate, story, outcome, tried)
            if fix.works:
                return fix
            if best is None or outcome.share < best.outcome.share:
                best = fix
        return best and replace(best, tried=tried)

    def screen(self, candidate: Candidate) -> Outcome:
        """A few trials of each kind; stops at the first bad ones.

        Replays of failing schedules, fresh seeds, and fresh seeds that are made to fail the way
        the story tells: a region that only makes the failure rarer does not survive these.
        """
        rules = list(candidate.rules)
        seed = f"{self._compared.signature}/fix"
        kinds: list[list[Plan]] = [
            [{**self._schedule(at), "rules": rules} for at in self._replayed()],
            _forced(f"{seed}/forced", candidate),
            fresh_plans(seed, FRESH, rules=rules),
        ]
        total = Outcome()
        for first, last in pairwise(STAGES):
            part = slice(first, last)
            total += self._outcome([plan for plans in kinds for plan in plans[part]], len(rules))
            if total.bad:
                break
        return total

    def certify(self, candidate: Candidate, runs: int = CERTAIN) -> Outcome:
        """Many fresh runs; stops at the first bad ones."""
        rules = list(candidate.rules)
        plans = fresh_plans(f"{self._compared.signature}/certify", runs, rules=rules)
        total = Outcome()
        while plans and not total.bad:
            total += self._outcome(plans[:BATCH], len(rules))
            del plans[:BATCH]
        return total

    def _outcome(self, plans: Sequence[Plan], rules: int) -> Outcome:
        trials = self._trials.run(plans)
        failed = [self._fails(trial) for trial in trials]
        stuck = [is_stuck(trial, rules) for trial in trials]
        deadlocks = sum(wait and not fail for wait, fail in zip(stuck, failed, strict=True))
        return Outcome(sum(failed), deadlocks, len(trials))

    def _fails(self, trial: Trial) -> bool:
        if trial.fails_as(self._compared.signature):
            return True
        new = self._others is not None and trial.signature not in self._others
        return new and trial.label == "fail" and not is_deadlock(trial)

    def _replayed(self) -> range:
        return range(min(REPLAYS, len(self._compared.runs)))

    def _schedule(self, at: int) -> Plan:
        return replaying(self._compared.runs[at], self._compared.records[at].seed)

    def _story(self, answer: Answer | None) -> Story | None:
        """The finding's lines as steps of a traced failing run that has it."""
        fresh = fresh_plans(f"{self._compared.signature}/ground", TRACED, trace=True)
        others = [one.run for one in self._trials.run(fresh) if one.run is not None]
        best: tuple[int, Story] | None = None
        runs = range(len(self._compared.runs)) if answer is None else answer.runs
        for at in runs[:RUNS]:
            story = self._told(answer, at, others)
            if story is not None and (best is None or story.quality > best[1].quality):
                best = at, story
            if story is not None and story.is_whole:
                break
        return self._seen(*best) if best and best[1].quality else None

    def _told(self, answer: Answer | None, at: int, others: Sequence[RunFile]) -> Story | None:
        """What one failing run has of it; None if the run does not fail any more."""
        (trial,) = self._trials.run([{**self._schedule(at), "trace": True}])
        if trial.run is None or not trial.fails_as(self._compared.signature):
            return None
        ground = Ground([trial.run, *others], self._compared.runs, self._interner)
        lines = () if answer is None else answer.lines
        threads = {} if answer is None else self._threads(answer, at)
        return tell(lines, threads, ground, self._interner, trial.run)

    def _threads(self, answer: Answer, at: int) -> dict[int, str]:
        """The thread behind each anchor in one of the failing runs."""
        paths = [thread.path for thread in self._compared.runs[at].threads]
        return {anchor: paths[index] for anchor, index in answer.threads.get(at, {}).items()}

    def _seen(self, at: int, story: Story) -> Story:
        """The story with the calls that led to its functions' points, and the names of locks."""
        codes = {story.ground.code(step.point) for step in story.steps}
        points = {
            step.point for step in story.ground.steps if story.ground.code(step.point) in codes
        }
        if not points:
            return story
        (trial,) = self._trials.run([{**self._schedule(at), "capture": sorted(points)}])
        if trial.run is None:
            return story
        return replace(
            story,
            stacks=stacks_of(trial.run),
            lock_names=lock_names(trial.run, story.ground.steps),
        )


def _forced(seed: str, candidate: Candidate) -> list[Plan]:
    """Fresh plans under all of the story's turns, and under each one: all may be in the way.

    They come before the candidate's rules. Where both cannot be, the older one is given up, and it
    is the fix that must have its way.
    """
    ways = [list(candidate.forcing), *([rule] for rule in candidate.forcing)]
    forcing = cycle(ways if len(ways) > 2 else ways[:1])
    plans = fresh_plans(seed, FORCED)
    rules = list(candidate.rules)
    return [{**plan, "rules": [*next(forcing), *rules]} for plan in plans]


def is_stuck(trial: Trial, rules: int) -> bool:
    """Whether somebody waited for what cannot come: with a real lock, for ever.

    Only the last rules count: others may be there to make a failure likely, and give way.
    """
    if trial.label == "hang" or trial.run is None or is_deadlock(trial):
        return True
    return any(rule.released for rule in trial.run.rules[len(trial.run.rules) - rules :])


def is_deadlock(trial: Trial) -> bool:
    """Whether a run ended because nobody could go on."""
    return trial.run is not None and any(one.kind == "deadlock" for one in trial.run.failures)
