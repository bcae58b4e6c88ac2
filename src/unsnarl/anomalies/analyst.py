# SPDX-License-Identifier: Apache-2.0
"""The analyst: reads what bursts have left, compares, ranks, writes batches, and sends them.

One for each spool, at the lowest priority. It ends when nothing new has come for a while.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from unsnarl.anomalies import baseline as baselines
from unsnarl.anomalies.baseline import GraphBaseline
from unsnarl.anomalies.batches import Batches
from unsnarl.anomalies.ranking import Novelty, Suspect, ranked
from unsnarl.anomalies.sending import Sender
from unsnarl.anomalies.spool import SpoolFolder
from unsnarl.errors import UsageError
from unsnarl.model.anomaly import AnomalyBatch, WatchedProgram

ROUND = 2.0  # seconds between two looks
IDLE = 10.0  # ... and until it ends, if there is nothing to do
LONGEST_IDLE = 3600.0  # ... if an endpoint does not answer: a later one will send the rest


@dataclass(frozen=True)
class Analysis:
    """One look at a spool.

    Attributes:
        problem: Why the baseline was not used, in words.
        bursts: How many there are.
    """

    suspects: tuple[Suspect, ...]
    batches: tuple[AnomalyBatch, ...]
    bursts: int
    damaged: int
    problem: str = ""


class Analyst:
    """What is known of one spool."""

    def __init__(self, folder: Path) -> None:
        self.spool = SpoolFolder(folder)
        settings = self.spool.settings()
        self._threshold = settings.threshold
        self.problem = ""
        baseline = self._baseline(settings.baseline)
        self._digest = baseline.digest if settings.baseline and not self.problem else ""
        self._novelty = Novelty(baseline, self.spool.points)
        self._batches = Batches(self.spool.points, self._novelty)
        self.sender = Sender(settings.endpoint, settings.token_file)

    def _baseline(self, file: str) -> GraphBaseline:
        """Without a baseline everything is new, and only the ranking is left."""
        try:
            return baselines.load(Path(file)) if file else GraphBaseline()
        except UsageError as error:
            self.problem = error.message
            return GraphBaseline()

    def look(self) -> Analysis:
        """Read what is new, and rank all of it."""
        self.spool.take()
        observations = list(self.spool.observations.values())
        suspects = ranked(observations, self.spool.points, self._novelty)
        suspects = [one for one in suspects if one.score >= self._threshold]
        instances = self.spool.instances
        programs = {
            name: WatchedProgram(one.program, one.version, one.interpreter, self._digest)
            for name, one in instances.items()
        }
        overheads = {name: one.overhead for name, one in instances.items()}
        batches = self._batches.of(suspects, observations, programs, overheads)
        for one in batches:
            self.spool.write(one)
        damaged = len(self.spool.damaged)
        return Analysis(tuple(suspects), tuple(batches), len(observations), damaged, self.problem)


def work(folder: Path) -> int:
    """Be the analyst of a spool until nothing is left to do; at once if there is one already."""
    spool = SpoolFolder(folder)
    with spool.locked() as alone:
        if not alone:
            return 0
        analyst, before = Analyst(folder), spool.used()
        began = busy = time.monotonic()
        seen: object = None
        while time.monotonic() - busy < IDLE and time.monotonic() - began < LONGEST_IDLE:
            files = sorted(one.name for one in (folder / "bursts").glob("*.run"))
            if files != seen:
                analyst.look()
                seen, busy = files, time.monotonic()
            if analyst.sender.send(analyst.spool) or analyst.sender.problem:
                busy = time.monotonic()
            analyst.spool.add_used(before)
            time.sleep(ROUND)
    return 0
