# SPDX-License-Identifier: Apache-2.0
"""The failing runs of one signature: repeated, traced, and asked for the lines of an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.comparisons import Compared
from unsnarl.execution.trials import Trial, Trials
from unsnarl.experiments.arms import RUNS, Series, kept_all
from unsnarl.model.event import Event
from unsnarl.model.plan import Plan, Rule
from unsnarl.placement.code_context import CodeContext, Span, is_called, stacks_of
from unsnarl.placement.line_points import GateLines, LinePoints
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import Interner, RunFile

# What so many of the failing runs have may be what makes all of them fail: evidence keeps only the
# latest of what happened.
EXPLAINS = 0.9
# A call begins with one of so many events before its first access that matters.
MOST_EARLY = 100


class FailingRuns:
    """Those of one signature, and the trials that repeat them."""

    def __init__(self, trials: Trials, compared: Compared, interner: Interner) -> None:
        self.trials = trials
        self.compared = compared
        self.interner = interner
        # A trace costs a run, and every experiment about these answers asks for the same few.
        self.traces: dict[int, RunFile | None] = {}
        self._gate_lines: dict[RunFile, GateLines] = {}

    def trace(self, at: int) -> RunFile | None:
        """A failing run again, with every event; None if it does not fail any more."""
        if at not in self.traces:
            (trial,) = self.trials.run([self.schedule(at, trace=True)])
            fails = self.compared.symptom.is_in(trial)
            self.traces[at] = trial.run if fails else None
            if trial.run is not None:
                self.compared.mark(trial.run, at)
        return self.traces[at]

    def explains(self, answer: Answer) -> bool:
        """Whether nearly all failing runs have it."""
        return len(answer.runs) >= EXPLAINS * len(self.compared.runs)

    def shows(self, trial: Trial) -> bool:
        """Whether a trial fails although none of its rules was given up."""
        return self.compared.symptom.is_in(trial) and kept_all(trial)

    def schedule(self, at: int, **fields: Any) -> Plan:
        """The plan that repeats a failing run, with more fields."""
        run = self.compared.runs[at]
        fields = {"schedule": run.schedule, **fields}
        return Plan(strategy="replay", seed=self.compared.records[at].seed, **fields)

    def lines(self, run: RunFile, answer: Answer) -> list[LinePoints]:
        """Where the gate meets the lines of an answer in a run."""
        if run not in self._gate_lines:
            self._gate_lines[run] = GateLines(run, self.interner, self.compared.runs)
        return self._gate_lines[run].of(answer)

    def source_line(self, run: RunFile, event: Event) -> tuple[str, int]:
        """The file and line of an event of a run."""
        (index,) = self.interner.indexes(np.array([event.point], dtype=np.uint32), run)
        site = self.interner.point(int(index)).site
        return site.file, site.line

    def calls(self, run: RunFile, first: Event, last: Event) -> list[tuple[Span, Event]]:
        """The calls that two events of one thread of a traced run are in, the innermost first.

        Each with the first event in it.
        """
        at = next(at for at, traced in self.traces.items() if traced is run)
        mine = [one for one in Timeline.of(run).done if one.path == first.path]
        early = [one for one in mine if one.at <= first.at][-MOST_EARLY:]
        points = sorted({one.point for one in (*early, last)})
        (trial,) = self.trials.run([self.schedule(at, capture=points)])
        if trial.run is None:
            return []
        stacks = stacks_of(trial.run)
        with_stack = [one for one in reversed(early) if one.key in stacks]

        def begin(span: Span) -> Event:
            inside = list(takewhile(lambda one: is_called(span, stacks[one.key]), with_stack))
            return (inside or [first])[-1]

        context = CodeContext([run], self.compared.runs, self.interner)
        return [(span, begin(span)) for span in context.spans(first, last, stacks)]

    def simplest(self, answer: Answer) -> list[int]:
        """The failing runs of an answer, those with the fewest switches first."""
        runs = self.compared.runs
        return sorted(answer.runs, key=lambda at: (len(runs[at].segments), at))

    def traced(self, which: Iterable[int], used: list[int] | None = None) -> Iterator[RunFile]:
        """Failing runs again, with every event; without those that do not fail any more.

        The indexes of those that were asked for are added to `used`.
        """
        for at in which:
            run = self.trace(at)
            if run is not None:
                if used is not None:
                    used.append(at)
                yield run

    def replays(self, rules: Sequence[Rule]) -> list[Plan]:
        """The first failing runs once more, under some rules."""
        which = range(min(RUNS, len(self.compared.runs)))
        return [self.schedule(at, rules=tuple(rules)) for at in which]

    def series(self, plans: Sequence[Plan], begun: Sequence[Trial] = ()) -> Series:
        """An arm of these plans; `begun` are trials of it that were made before."""
        return Series(self.trials, self.compared.symptom, plans, begun)
