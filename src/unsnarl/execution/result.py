# SPDX-License-Identifier: Apache-2.0
"""The result of one run: its plan, how it ended, what that means, and the file it left."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unsnarl.execution.labels import Judgement
from unsnarl.execution.server import Done
from unsnarl.model.plan import Plan
from unsnarl.model.run import Failure, Label, RunRecord
from unsnarl.runfile import RunFile, RunFileError, read_run


@dataclass(frozen=True, eq=False)
class Result:
    """What came of one run under a plan.

    Attributes:
        run: Its run file; None if it left none that can be read.
        damage: Why the file that it left cannot be read; "" if it can, or if there is none.
    """

    plan: Plan
    done: Done
    judgement: Judgement
    run: RunFile | None = None
    damage: str = ""

    @property
    def label(self) -> Label:
        """Pass, fail or hang."""
        return self.judgement.label

    @property
    def signature(self) -> str:
        """What distinguishes its failure from others; "" if it passed."""
        return self.judgement.signature

    @property
    def failure(self) -> Failure | None:
        """How it failed; None if it passed."""
        return self.judgement.failure

    def fails_as(self, signature: str) -> bool:
        """Whether it failed with this signature."""
        return self.label != "pass" and self.signature == signature

    def record(self, number: int) -> RunRecord:
        """As a store keeps it, under this number."""
        threads = self.run.threads if self.run else ()
        return RunRecord(
            number=number,
            label=self.label,
            signature=self.signature,
            strategy=self.plan.strategy,
            seed=self.plan.seed,
            switch=self.plan.switch or "free",
            status=self.done.status,
            signal=self.done.signal,
            seconds=self.done.seconds,
            threads_seen=len(threads),
            threads_controlled=sum(thread.controlled for thread in threads),
            failure=self.failure,
        )


def read_safely(path: Path) -> tuple[RunFile | None, str]:
    """A run file, or None and why it cannot be read; "" if there is no file at all."""
    if not path.exists():
        return None, ""
    try:
        run = read_run(path)
        _ = run.notes  # parsed on demand: damage there would surface later, and anywhere
        return run, ""
    except RunFileError as error:
        return None, str(error)
