# SPDX-License-Identifier: Apache-2.0
"""The experiments at the end of a hunt: from the best findings to a proof.

The findings are tested until one is confirmed. What then comes first is cut down to the orders
that matter, set beside the nearest passing run, and repaired for trial.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.experiments.confirm import Experimenter, Verdict
from unsnarl.experiments.constraints import Constraint, Event
from unsnarl.experiments.fix import Fixer
from unsnarl.experiments.minimise import Minimal, explanation
from unsnarl.experiments.named_fix import named
from unsnarl.experiments.nearest import Nearest, nearest
from unsnarl.experiments.trials import Plan, Trials
from unsnarl.model.finding import Repair
from unsnarl.runfile import Interner, RunFile

Kind = Literal["confirm", "minimise", "fix"]
KINDS: tuple[Kind, ...] = ("confirm", "minimise", "fix")
# What is confirmed comes first. The others keep their order: that an experiment did not succeed
# says more about the experiment.
ORDER = {"confirmed": 0, "inconclusive": 1, "untested": 1, "infeasible": 1, "refuted": 2}


@dataclass(frozen=True)
class Seen:
    """Events of one run, in the order of time, and the run with the values at them."""

    events: tuple[Event, ...]
    run: RunFile | None


@dataclass(frozen=True)
class Proof:
    """What is known of the first finding.

    Attributes:
        at: The failing run that it is about.
        minimal: The constraints under which the failure is certain.
        failing: What a person should read of that run.
        passing: The same of the nearest passing run.
        nearest: That run.
    """

    at: int
    minimal: Minimal
    failing: Seen
    passing: Seen | None = None
    nearest: Nearest | None = None


@dataclass(frozen=True)
class Proven:
    """An answer and what experiments say of it, as far as some were made.

    Attributes:
        told: The answer, if it is what makes its failure certain that was confirmed.
    """

    answer: Answer
    verdict: Verdict | None = None
    proof: Proof | None = None
    repair: Repair | None = None
    told: Answer | None = None

    @property
    def status(self) -> str:
        """Its status, as reports have it."""
        return self.verdict.status if self.verdict else "untested"

    @property
    def is_confirmed(self) -> bool:
        """Whether it is the cause."""
        return self.status == "confirmed"


class Prover:
    """Tests the answers of every signature of a campaign with the engine that hunted.

    Attributes:
        constraints: By the number of a failing run what makes its failure certain.
        seconds: What the experiments took, by their kind.
    """

    def __init__(
        self,
        engine: Engine,
        judge: Judge,
        folder: Path,
        timeout: float,
        *,
        findings: int,
        kinds: Collection[Kind] = KINDS,
    ) -> None:
        self._engine = engine
        self._judge = judge
        self._folder = folder
        self._timeout = timeout
        self._findings = findings
        self._kinds = kinds
        self.constraints: dict[int, Sequence[Constraint]] = {}
        self.seconds: dict[str, float] = {}

    def prove(
        self,
        compared: Compared,
        answers: Sequence[Answer],
        interner: Interner,
        others: Collection[str] = (),
    ) -> list[Proven]:
        """The answers, those that experiments confirm first, refuted ones last.

        `others` are the signatures of the campaign's other failures.
        """
        if not answers or not self._findings or compared.kind == "hang":
            return [Proven(answer) for answer in answers]
        trials = Trials(self._engine, self._judge, self._folder, compared.switch, self._timeout)
        experimenter = Experimenter(trials, compared, interner, others)
        proven = [Proven(answer) for answer in answers]
        proof, repair = None, None
        if "confirm" in self._kinds:
            with self._timed("confirm"):
                proven = self._tested(experimenter, answers)
        first = proven[0]
        with self._timed("minimise"):
            told = first.answer
            if first.is_confirmed and first.told is None:
                told = experimenter.sharpened(told)
            if "minimise" in self._kinds:
                proof = _proof(experimenter, told)
        if "fix" in self._kinds:
            with self._timed("fix"):
                repair = _repair(Fixer(trials, compared, interner, others), told)
        if proof is not None:
            self.constraints[compared.records[proof.at].number] = proof.minimal.constraints
        return [replace(first, proof=proof, repair=repair), *proven[1:]]

    @contextmanager
    def _timed(self, kind: Kind) -> Iterator[None]:
        start = time.monotonic()
        yield
        self.seconds[kind] = self.seconds.get(kind, 0.0) + time.monotonic() - start

    def _tested(self, experimenter: Experimenter, answers: Sequence[Answer]) -> list[Proven]:
        proven: list[Proven] = []
        for answer in answers:
            found = any(one.is_confirmed for one in proven)
            test = len(proven) < self._findings and not found
            proven.append(Proven(answer, experimenter.test(answer) if test else None))
        if not any(one.is_confirmed for one in proven):
            proven[0] = _explained(experimenter, proven[0])
        return sorted(proven, key=lambda one: ORDER[one.status])


def _explained(experimenter: Experimenter, first: Proven) -> Proven:
    """The first finding, confirmed if what makes its failure certain is the cause."""
    verdict = experimenter.explained(first.answer)
    if verdict is None or verdict.status != "confirmed":
        return first
    return replace(first, verdict=verdict, told=first.answer)


def _proof(experimenter: Experimenter, answer: Answer) -> Proof | None:
    """What matters of the finding; None if no few orders make its failure certain."""
    found = experimenter.minimal(answer)
    if found is None:
        return None
    minimal, at = found
    events = tuple(explanation(minimal, minimal.timeline))
    run = _captured(experimenter.trials, experimenter.schedule(at), events)
    near = nearest(experimenter.trials, minimal)
    passing = None
    if near is not None:
        passing = Seen(near.events, _captured(experimenter.trials, near.plan, near.events))
    return Proof(at, minimal, Seen(events, run), passing, near)


def _captured(trials: Trials, plan: Plan, events: Sequence[Event]) -> RunFile | None:
    """The same run once more, with the values at the events."""
    (trial,) = trials.run([{**plan, "capture": sorted({event.point for event in events})}])
    return trial.run


def _repair(fixer: Fixer, answer: Answer) -> Repair | None:
    fix = fixer.fix(answer)
    return None if fix is None else named(fix)
