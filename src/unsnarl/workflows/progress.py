# SPDX-License-Identifier: Apache-2.0
"""How far a hunt or a recording has got."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from unsnarl.campaigns.tally import Tally
from unsnarl.execution.budget import Activity


@dataclass(frozen=True)
class RunProgress:
    """The runs made so far; `share` says how much of what was wanted is in hand, from 0 to 1.

    `support` counts the extra runs that back a claim up; they are in none of the other numbers.
    `doing` is what comes after the hunt, in words, and `trials` the runs made for that.
    """

    runs: int
    failing: int
    passing: int
    hanging: int
    support: int
    share: float
    doing: str = ""
    trials: int = 0


OnProgress = Callable[[RunProgress], None]
# What a warning consists of: slug, message, hint.
OnWarning = Callable[[str, str, str], None]


def ignore(*_: object) -> None:
    """For those who do not want to know."""


def both(one: OnProgress, other: OnProgress) -> OnProgress:
    """Calls two."""

    def call_both(progress: RunProgress) -> None:
        one(progress)
        other(progress)

    return call_both


class Display:
    """Shows first the runs of a hunt, then what is made of them."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._latest = RunProgress(0, 0, 0, 0, 0, 0.0)

    def count(self, tally: Tally) -> None:
        """After a run of the hunt."""
        self._latest = _progress(tally)
        self._on_progress(self._latest)

    def change(self, activity: Activity) -> None:
        """With what is begun after it, and after every trial."""
        if activity.doing:
            # Some parts do only one thing, which is then both.
            parts = dict.fromkeys((activity.doing, activity.detail))
            text = ": ".join(part for part in parts if part)
            self._on_progress(replace(self._latest, doing=text, trials=activity.trials))


def tally_listener(on_progress: OnProgress) -> Callable[[Tally], None]:
    """Passes the counts of a campaign on, after every run."""
    return lambda tally: on_progress(_progress(tally))


def _progress(tally: Tally) -> RunProgress:
    labels = tally.labels
    support = tally.support.total()
    return RunProgress(
        tally.total, labels["fail"], labels["pass"], labels["hang"], support, _share(tally)
    )


def _share(tally: Tally) -> float:
    failing = max(tally.failing.values(), default=0)
    passing = max(tally.passing.values(), default=0)
    done = min(failing, tally.want_fail) + min(passing, tally.want_pass)
    return done / (tally.want_fail + tally.want_pass)
