# SPDX-License-Identifier: Apache-2.0
"""A simulated fix: the smallest region that must be atomic, or the order that must be kept.

The gate pretends that the program had the lock: a region is entered by one thread at a time
(native/gate/rules.c). Regions are tried from small to large, each on replays of the recorded
failing schedules and on fresh seeds; the first one without failures and deadlocks is certified on
many more fresh runs. A hold that had to be given up is a deadlock: the real lock would have one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, pairwise
from typing import Any

from msgspec.structs import replace as with_fields

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.execution.budget import Budget, OutOfTimeError
from unsnarl.execution.trials import Trial, Trials, fresh_plans, replaying
from unsnarl.experiments.candidates import Candidate, candidates
from unsnarl.model.plan import Plan
from unsnarl.placement.code_context import CodeContext, stacks_of
from unsnarl.placement.occurrence import Placement, find_placement
from unsnarl.runfile import Interner, RunFile

# Trials of each kind for a start. Certifying begins with many more fresh ones.
REPLAYS = 20
FORCED = 20
FRESH = 6
# The first few of each kind rule out most wrong candidates.
BATCHES = (0, 2, 6, None)
# Fresh runs that certify what has survived the screening (docs/adr/0015).
CERTAIN = 200
# Certifying runs at once: if time runs out, those of the last batch are lost.
BATCH = 25
# Besides the failing run: other traces have lines that it did not come to.
TRACED = 4
# So many failing runs are searched for one that has all of the finding's lines.
RUNS = 5


@dataclass(frozen=True)
class FixResult:
    """What came of some trials under a candidate: a deadlock is not counted as a failure."""

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

    def __add__(self, other: FixResult) -> FixResult:
        return FixResult(
            self.fail + other.fail, self.deadlocks + other.deadlocks, self.runs + other.runs
        )


@dataclass(frozen=True)
class TriedFix:
    """What would repair the program.

    Attributes:
        placement: What goes wrong without it.
        result: Of the certifying runs; of the last ones tried if it does not work.
        tried: Candidates tried before this one was found, with it.
    """

    candidate: Candidate
    placement: Placement
    result: FixResult
    tried: int

    @property
    def works(self) -> bool:
        """Whether it removed the failure and brought nothing worse."""
        return self.result.good


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
        trace: Callable[[int], RunFile | None] | None = None,
    ) -> None:
        """`trace` gives a failing run with every event, if somebody has made such runs before."""
        self._trials = trials
        self._compared = compared
        self._interner = interner
        self._others = others
        self._trace = trace or self._traced

    def fix(
        self, answer: Answer | None, certain: int = CERTAIN, windows: Sequence[int] = ()
    ) -> TriedFix | None:
        """The smallest fix that works, or else the best one tried; None if nothing can be tried.

        Without an answer only a wait cycle can be repaired: it is found without one.
        """
        search = self.search(answer, windows)
        return None if search is None else search.certified(certain)

    def search(self, answer: Answer | None, windows: Sequence[int] = ()) -> FixSearch | None:
        """The search for a fix, which can be left and gone on with; None if there is none.

        `windows` are points of the campaign: accesses that do the same harm in other runs.
        """
        placement = self._placement(answer)
        if placement is None:
            return None
        raw = {one for window in windows for one in self._interner.raw_points(window)}
        tried = candidates(placement, tuple(sorted(raw)))
        return FixSearch(self, self._trials.budget, placement, tried)

    def screen(self, candidate: Candidate) -> FixResult:
        """A few trials of each kind; stops at the first bad one.

        Replays of failing schedules, fresh seeds, and fresh seeds that are made to fail the way
        the answer says: a region that only makes the failure rarer does not survive these.
        """
        rules = candidate.rules
        seed = f"{self._compared.signature}/fix"
        kinds: list[list[Plan]] = [
            [self._schedule(at, rules=rules) for at in self._replayed()],
            _forced(f"{seed}/forced", candidate),
            fresh_plans(seed, FRESH, rules=rules),
        ]
        total = FixResult()
        for first, last in pairwise(BATCHES):
            part = slice(first, last)
            total += self._result([plan for plans in kinds for plan in plans[part]], len(rules))
            if total.bad:
                break
        return total

    def certify(self, candidate: Candidate, runs: int = CERTAIN) -> FixResult:
        """Many fresh runs; stops at the first bad one."""
        rules = candidate.rules
        plans = fresh_plans(f"{self._compared.signature}/certify", runs, rules=rules)
        total = FixResult()
        while plans and not total.bad:
            try:
                total += self._result(plans[:BATCH], len(rules))
            except OutOfTimeError:
                text = f"certifying a fix ended after {total.runs} of {runs} runs"
                self._trials.budget.note("fix", text, "time")
                break
            del plans[:BATCH]
        return total

    def _result(self, plans: Sequence[Plan], rules: int) -> FixResult:
        trials = self._trials.run(plans, until=lambda made: self._is_bad(made[-1], rules))
        failed = [self._fails(trial) for trial in trials]
        stuck = [self._is_stuck(trial, rules) for trial in trials]
        # A trial counts once: otherwise more of them could be bad than there were.
        deadlocks = sum(wait and not fail for wait, fail in zip(stuck, failed, strict=True))
        return FixResult(sum(failed), deadlocks, len(trials))

    def _is_bad(self, trial: Trial, rules: int) -> bool:
        return self._fails(trial) or self._is_stuck(trial, rules)

    def _is_stuck(self, trial: Trial, rules: int) -> bool:
        """A deadlock that the program has without the fix is none that the fix brought."""
        has_other = self._others is not None and trial.signature in self._others
        return is_stuck(trial, rules, deadlocks=has_other)

    def _fails(self, trial: Trial) -> bool:
        if self._compared.symptom.is_in(trial):
            return True
        new = self._others is not None and trial.signature not in self._others
        return new and trial.label == "fail" and not is_deadlock(trial)

    def _replayed(self) -> range:
        return range(min(REPLAYS, len(self._compared.runs)))

    def _schedule(self, at: int, **fields: Any) -> Plan:
        return replaying(self._compared.runs[at], self._compared.records[at].seed, **fields)

    def _placement(self, answer: Answer | None) -> Placement | None:
        """Where the answer lies in a traced failing run that has it."""
        fresh = fresh_plans(f"{self._compared.signature}/ground", TRACED, trace=True)
        others = [one.run for one in self._trials.run(fresh) if one.run is not None]
        best: tuple[int, Placement] | None = None
        runs = range(len(self._compared.runs)) if answer is None else answer.runs
        for at in runs[:RUNS]:
            found = self._placed(answer, at, others)
            if found is not None and (best is None or found.quality > best[1].quality):
                best = at, found
            if found is not None and found.is_whole:
                break
        return self._captured(*best) if best and best[1].quality else None

    def _placed(
        self, answer: Answer | None, at: int, others: Sequence[RunFile]
    ) -> Placement | None:
        """What one failing run has of it; None if the run does not fail any more."""
        run = self._trace(at)
        if run is None:
            return None
        context = CodeContext([run, *others], self._compared.runs, self._interner)
        lines = () if answer is None else answer.lines
        threads = {} if answer is None else self._threads(answer, at)
        return find_placement(lines, threads, context, run)

    def _traced(self, at: int) -> RunFile | None:
        (trial,) = self._trials.run([self._schedule(at, trace=True)])
        if trial.run is None or not self._compared.symptom.is_in(trial):
            return None
        self._compared.mark(trial.run, at)
        return trial.run

    def _threads(self, answer: Answer, at: int) -> dict[int, str]:
        """The thread behind each anchor in one of the failing runs."""
        paths = [thread.path for thread in self._compared.runs[at].threads]
        return {anchor: paths[index] for anchor, index in answer.threads.get(at, {}).items()}

    def _captured(self, at: int, placement: Placement) -> Placement:
        """With the calls that led to the points of its functions, and the names of locks."""
        context = placement.context
        codes = {context.code(line.event.point) for line in placement.lines}
        points = {event.point for event in context.events if context.code(event.point) in codes}
        if not points:
            return placement
        # Traces have neither stacks nor names of locks; a capture of the same schedule has both.
        (trial,) = self._trials.run([self._schedule(at, capture=sorted(points))])
        if trial.run is None:
            return placement
        names = context.lock_names(trial.run)
        return replace(placement, stacks=stacks_of(trial.run), lock_names=names)


class FixSearch:
    """Tries the candidates for a fix, small ones first.

    Whoever has something better in view takes what survives its screening, and has it certified
    later, if at all: that takes most of the trials.
    """

    def __init__(
        self, fixer: Fixer, budget: Budget, placement: Placement, tried: Iterable[Candidate]
    ) -> None:
        self._fixer = fixer
        self._budget = budget
        self._placement = placement
        self._candidates = iter(tried)
        self._tried = 0
        self._survivor: TriedFix | None = None
        self._best: TriedFix | None = None

    def screened(self) -> TriedFix | None:
        """The next that survives its screening, or else the best one tried."""
        for candidate in self._candidates:
            self._tried += 1
            self._budget.doing(f"trying fix {self._tried}")
            try:
                result = self._fixer.screen(candidate)
            except OutOfTimeError:
                if self._best is None:
                    raise
                text = f"fixes after {self._tried - 1} were not tried"
                self._budget.note("fix", text, "time")
                break
            fix = TriedFix(candidate, self._placement, result, self._tried)
            if fix.works:
                self._survivor = fix
                return fix
            self._compare(fix)
        return self._best and replace(self._best, tried=self._tried)

    def certified(self, runs: int = CERTAIN) -> TriedFix | None:
        """The first that survives many fresh runs, too, or else the best one tried."""
        if self._survivor is None:
            self.screened()
        while self._survivor is not None:
            survivor, self._survivor = self._survivor, None
            self._budget.doing(f"certifying fix {survivor.tried}")
            fix = replace(survivor, result=self._fixer.certify(survivor.candidate, runs))
            if fix.works:
                return fix
            self._compare(fix)
            self.screened()
        return self._best and replace(self._best, tried=self._tried)

    def _compare(self, fix: TriedFix) -> None:
        if self._best is None or fix.result.share < self._best.result.share:
            self._best = fix


def _forced(seed: str, candidate: Candidate) -> list[Plan]:
    """Fresh plans under all of the answer's orders, and under each one: all may be in the way.

    They come before the candidate's rules. Where both cannot be, the older one is given up, and it
    is the fix that must have its way.
    """
    ways = [candidate.forcing, *((rule,) for rule in candidate.forcing)]
    forcing = cycle(ways if len(ways) > 2 else ways[:1])
    plans = fresh_plans(seed, FORCED)
    return [with_fields(plan, rules=(*next(forcing), *candidate.rules)) for plan in plans]


def is_stuck(trial: Trial, rules: int, *, deadlocks: bool = False) -> bool:
    """Whether somebody waited for what cannot come: with a real lock, for ever.

    Only the last rules count: others may be there to make a failure likely, and give way. With
    `deadlocks`, that nobody could go on at the end has another cause.
    """
    if trial.label == "hang" or trial.run is None or (is_deadlock(trial) and not deadlocks):
        return True
    return any(rule.released for rule in trial.run.rules[len(trial.run.rules) - rules :])


def is_deadlock(trial: Trial) -> bool:
    """Whether a run ended because nobody could go on."""
    return trial.run is not None and any(one.kind == "deadlock" for one in trial.run.failures)
