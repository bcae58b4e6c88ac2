# SPDX-License-Identifier: Apache-2.0
"""What experiments look for in a trial: a failure, or the standstill that becomes it."""

from __future__ import annotations

from dataclasses import dataclass

from unsnarl.execution.result import Result


@dataclass(frozen=True)
class Symptom:
    """A failure by its signature, and where threads waited for each other before it.

    A trial whose threads come to wait there has the bug, even if what its time limits make of that
    passes the test by luck (docs/adr/0032).

    Attributes:
        waiting: Points of waits, those of one standstill together.
    """

    signature: str
    waiting: frozenset[frozenset[int]] = frozenset()

    def is_in(self, trial: Result) -> bool:
        """Whether a trial shows it."""
        if trial.fails_as(self.signature):
            return True
        stops = trial.run.standstills if self.waiting and trial.run is not None else ()
        return any(one.waiting in self.waiting for one in stops)
