# SPDX-License-Identifier: Apache-2.0
"""The time of a command, shared by its phases, and what became of each part of the work.

One budget is handed down from the command to the last trial. Whoever makes runs asks it first
(`check`); nobody else looks at a clock. A part that fails, is cut off or interrupted costs its own
result: that is noted, and the work goes on with the next part (docs/adr/0026).
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

from unsnarl.errors import UnsnarlError
from unsnarl.model.report import MissingPart, Why

T = TypeVar("T")

# How long a part that only computes may take beyond its time before it is stopped from outside.
GRACE_SECONDS = 1.0
# What ranking and naming may take if the time is over before they begin.
QUICK_SECONDS = 3.0


class OutOfTimeError(Exception):
    """The part of the work that is going on has no time left."""


@dataclass(frozen=True)
class Activity:
    """What is being done now, in words, and the trials made for it since the hunt.

    `phase` is one of those of a report's `timings`.
    """

    phase: str
    doing: str
    detail: str
    trials: int


class Budget:
    """The time that is left, for all that is still to be done and for the current part of it.

    Attributes:
        phases: The seconds that each phase took.
        trials: The trials that each phase needed.
        unfinished: What is missing in the answer, and why.
        signal: What was raised when somebody wanted the answer now.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        *,
        clock: Callable[[], float] = time.monotonic,
        start: float | None = None,
        on_change: Callable[[Activity], None] = lambda activity: None,
        on_error: Callable[[str, Exception], str] = lambda part, error: "",
    ) -> None:
        """Time runs since `start`, by the clock, or from now on.

        `on_error` stores what a bug report needs, and gives the name of that file.
        """
        self.phases: dict[str, float] = {}
        self.trials: dict[str, int] = {}
        self.unfinished: list[MissingPart] = []
        self.signal: KeyboardInterrupt | None = None
        self.start = clock() if start is None else start
        self._clock = clock
        self._limits = [self.start + seconds]
        self._begins = math.inf  # nothing new after that
        self._on_change = on_change
        self._on_error = on_error
        self._activity = Activity("", "", "", 0)
        self._within = 0.0

    @property
    def spent(self) -> float:
        """The seconds since the beginning."""
        return self._clock() - self.start

    @property
    def left(self) -> float:
        """The seconds that the current part may still take."""
        return max(0.0, min(self._limits) - self._clock())

    @property
    def has_time(self) -> bool:
        """Whether one more run fits into the time for everything, whatever the part may take."""
        return not self.is_interrupted and self._clock() < self._limits[0]

    def check(self) -> None:
        """Raises if the current part is out of time."""
        if self.left <= 0:
            raise OutOfTimeError

    @property
    def is_interrupted(self) -> bool:
        """Whether somebody wants the answer now."""
        return self.signal is not None

    def interrupt(self, raised: KeyboardInterrupt) -> None:
        """From now on only what takes no time is done."""
        self.signal = self.signal or raised

    def limit(self, seconds: float) -> None:
        """All the rest has to be done in so many seconds, if that is less than is left."""
        self._limits[0] = min(self._limits[0], self._clock() + seconds)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """So many seconds, if that is less than is left; what comes later has its own."""
        with self._limited(self._clock() + seconds):
            yield

    @contextmanager
    def share(self, share: float) -> Iterator[None]:
        """A share of what is left; what is not used is there for others."""
        with self._limited(self._clock() + self.left * share):
            yield

    @contextmanager
    def beginning(self, seconds: float) -> Iterator[None]:
        """In so many seconds the last piece of work is begun; what is under way may go on."""
        outer = self._begins
        self._begins = min(outer, self._clock() + seconds)
        try:
            yield
        finally:
            self._begins = outer

    @property
    def may_begin(self) -> bool:
        """Whether there is time to begin another piece of the current work."""
        return self.left > 0 and self._clock() < self._begins

    @contextmanager
    def phase(self, name: str, doing: str = "") -> Iterator[None]:
        """Counts the seconds as those of a phase, without those of phases within it."""
        outer, start = self._activity, self._clock()
        around, self._within = self._within, 0.0
        self._change(replace(outer, phase=name, doing=doing, detail=""))
        try:
            yield
        finally:
            total = self._clock() - start
            self.phases[name] = self.phases.get(name, 0.0) + total - self._within
            self._within = around + total
            self._activity = replace(outer, trials=self._activity.trials)

    def doing(self, text: str) -> None:
        """Say what is being done within the part."""
        self._change(replace(self._activity, detail=text))

    def count_trial(self) -> None:
        """One more trial has ended."""
        self._change(replace(self._activity, trials=self._activity.trials + 1))

    def use_trials(self, count: int) -> None:
        """So many trials were needed: others that ran at the same time depend on the machine."""
        phase = self._activity.phase
        self.trials[phase] = self.trials.get(phase, 0) + count

    def part(
        self,
        phase: str,
        doing: str,
        work: Callable[[], T],
        otherwise: T,
        *,
        share: float = 1.0,
        quick: bool = False,
        least: float = QUICK_SECONDS,
    ) -> T:
        """The result of some work, or `otherwise` if it fails, is cut off or interrupted.

        A quick part makes no runs: it is done even if the time is over, in a few seconds (`least`).
        """
        if not quick and (self.is_interrupted or self.left <= 0):
            self.note(phase, doing, "interrupted" if self.is_interrupted else "time")
            return otherwise
        limit = self._clock() + self.left * share
        if quick:
            limit = max(limit, self._clock() + least)
        try:
            with self.phase(phase, doing), self._limited(limit, alone=quick), self.alarm():
                return work()
        except OutOfTimeError:
            self.note(phase, doing, "time")
        except KeyboardInterrupt as raised:
            self.interrupt(raised)
            self.note(phase, doing, "interrupted")
        except UnsnarlError as error:
            self.note(phase, doing, "error", f"{error.message} [{error.slug}]")
        except Exception as error:  # whatever it is: it costs this part, not the answer
            text = f"{type(error).__name__}: {error}"
            self.note(phase, doing, "error", text, self._on_error(f"{phase}: {doing}", error))
        return otherwise

    def note(self, phase: str, what: str, why: Why, message: str = "", file: str = "") -> None:
        """That a part of the answer is missing, or is less than was wanted."""
        self.unfinished.append(MissingPart(phase, what, why, message, file))

    def _change(self, activity: Activity) -> None:
        self._activity = activity
        self._on_change(activity)

    @contextmanager
    def _limited(self, limit: float, *, alone: bool = False) -> Iterator[None]:
        """Until then, and not longer than what is around; if alone, whatever is around."""
        outer = self._limits
        self._limits = [limit] if alone else [*outer, limit]
        try:
            yield
        finally:
            self._limits = outer

    @contextmanager
    def alarm(self) -> Iterator[None]:
        """Stops what computes for too long without asking; only the main thread can be stopped."""
        seconds = self.left + GRACE_SECONDS
        main = threading.current_thread() is threading.main_thread()
        if not main or self._clock is not time.monotonic or seconds == math.inf:
            yield
            return
        handler = signal.signal(signal.SIGALRM, _out_of_time)
        before, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
        start = time.monotonic()
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            if before:  # somebody else's alarm, ours of an outer part among them
                left = max(before - (time.monotonic() - start), 0.001)
                signal.setitimer(signal.ITIMER_REAL, left)


def _out_of_time(*_: object) -> NoReturn:
    raise OutOfTimeError
