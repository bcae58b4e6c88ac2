# SPDX-License-Identifier: Apache-2.0
"""The experiments at the end of a hunt: the best findings are tested until one is confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.experiments.confirm import Experimenter, Verdict
from unsnarl.experiments.trials import Trials
from unsnarl.runfile import Interner

# What is confirmed comes first. The others keep their order: that an experiment did not succeed
# says more about the experiment.
ORDER = {"confirmed": 0, "inconclusive": 1, "untested": 1, "infeasible": 1, "refuted": 2}


@dataclass(frozen=True)
class Proven:
    """An answer and what an experiment says of it, if one was made."""

    answer: Answer
    verdict: Verdict | None = None

    @property
    def status(self) -> str:
        """Its status, as reports have it."""
        return self.verdict.status if self.verdict else "untested"


class Prover:
    """Tests the answers of every signature of a campaign with the engine that hunted."""

    def __init__(
        self, engine: Engine, judge: Judge, folder: Path, timeout: float, findings: int
    ) -> None:
        self._engine = engine
        self._judge = judge
        self._folder = folder
        self._timeout = timeout
        self._findings = findings

    def prove(
        self, compared: Compared, answers: Sequence[Answer], interner: Interner
    ) -> list[Proven]:
        """The answers, those that experiments confirm first, refuted ones last."""
        if not answers or not self._findings or compared.kind in ("deadlock", "hang"):
            return [Proven(answer) for answer in answers]
        trials = Trials(self._engine, self._judge, self._folder, compared.switch, self._timeout)
        experimenter = Experimenter(trials, compared, interner)
        proven: list[Proven] = []
        for answer in answers:
            found = any(one.status == "confirmed" for one in proven)
            test = len(proven) < self._findings and not found
            proven.append(Proven(answer, experimenter.test(answer) if test else None))
        return sorted(proven, key=lambda one: ORDER[one.status])
