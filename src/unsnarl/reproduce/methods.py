# SPDX-License-Identifier: Apache-2.0
"""The ways to find a recorded failure again, by name: one module each, loaded on demand.

Such a module has a function `reproduce(case, process, tries, progress)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from unsnarl.execution.trials import Trial
    from unsnarl.replay.target_process import TargetProcess
    from unsnarl.reproduce.recorded import Case

    Method = Callable[[Case, TargetProcess, int, Callable[[int], None]], "Outcome"]

MODULES = {"pres": "unsnarl.reproduce.pres.method", "clap": "unsnarl.reproduce.clap.method"}
DEFAULT = "pres"
# A schedule is reported only if it fails as recorded in so many replays of as many.
# They are made without the sketch, by the schedule alone (docs/adr/0022, 0023).
REPLAYS = 20


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of it.

    Attributes:
        tries: Runs along the record that it took.
        trial: The one that failed as recorded, and whose schedule always does; None: none did.
        replayed: How many of REPLAYS replays of that schedule failed as recorded.
        flaky: Tries that failed as recorded, but whose schedules do not always.
        facts: What else is reported, by name, for machines.
        lines: ... and for people.
    """

    tries: int
    trial: Trial | None = None
    replayed: int = 0
    flaky: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()

    def flaked(self) -> Outcome:
        """The same, if what was found does not always fail after all."""
        facts = {name: fact for name, fact in self.facts.items() if name != "ending"}
        return replace(self, trial=None, replayed=0, flaky=self.flaky + 1, facts=facts)


def method(name: str) -> Method:
    """The function of a method."""
    return cast("Method", import_module(MODULES[name]).reproduce)
