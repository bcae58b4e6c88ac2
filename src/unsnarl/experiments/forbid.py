# SPDX-License-Identifier: Apache-2.0
"""The forbidden arm: the recorded failing schedules, where what an answer says cannot happen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace as with_fields

from unsnarl.analyses.answer import Answer, AnswerKey
from unsnarl.execution.trials import Trial
from unsnarl.experiments.arms import ENOUGH, RUNS, Series, has_failed
from unsnarl.experiments.calls import MOST_PASSING, apart_as_calls, interfering_calls, taken_over
from unsnarl.experiments.failing_runs import FailingRuns
from unsnarl.experiments.overwritten import overwritten
from unsnarl.experiments.refine import answer_of
from unsnarl.experiments.repeats import is_repeated, repeaters
from unsnarl.experiments.rules import forbidding, holding, is_intrusion, is_order, with_others
from unsnarl.experiments.stops import taken_last, with_steps_before
from unsnarl.experiments.undone import early_stop, until_done
from unsnarl.experiments.windows import MOST_WINDOWS, other_window
from unsnarl.model.event import Op
from unsnarl.model.plan import Plan, Rule
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import Occurrence, early_thread, occurrences
from unsnarl.placement.roles import equal_threads
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import RunFile

# Of the time for a test, what this arm may take: it is the longest, no proof alone.
FORBIDDING = 0.6


class Forbidder:
    """Makes the forbidden arm of answers of one signature.

    Attributes:
        windows: Of answers: other accesses that come into their regions, as points of the campaign.
        calls: The function whose calls were kept apart for it.
        widened: Waits, with the step before them; orders, with what was overwritten.
        made: The trials of their arms.
    """

    def __init__(self, runs: FailingRuns) -> None:
        self._runs = runs
        self.windows: dict[AnswerKey, tuple[int, ...]] = {}
        self.calls: dict[AnswerKey, str] = {}
        self.widened: dict[AnswerKey, Answer] = {}
        self.made: dict[AnswerKey, Sequence[Trial]] = {}
        # What kept their orders from happening, of those that were tested.
        self._forbade: dict[AnswerKey, Sequence[Rule]] = {}

    def forbid(self, answer: Answer, run: RunFile) -> Series:
        """What becomes of the failing runs without what the answer says."""
        self._runs.trials.budget.doing("forbidding")
        with self._runs.trials.budget.share(FORBIDDING):
            series = self._forbidden_stop(answer) or self._forbidden(answer, run)
        if series.rules is not None and not answer.is_stuck:
            self._forbade[answer.key] = series.rules
        self.made[answer.key] = series.made
        return series

    def rules(self, answer: Answer) -> Sequence[Rule]:
        """Those of its test; else by the simplest failing run that has it.

        None if no such run fails any more, and for a wait that does not end.
        """
        if answer.key in self._forbade:
            return self._forbade[answer.key]
        run = next(self._runs.traced(self._runs.simplest(answer)[:1]), None)
        if run is None or answer.is_stuck:
            return []
        timeline, lines = Timeline.of(run), self._runs.lines(run, answer)
        equals = equal_threads(run, timeline, lines)
        return forbidding(lines, repeaters(timeline, lines), equals)

    def _forbidden_stop(self, answer: Answer) -> Series | None:
        """What becomes of the failing runs if their threads cannot come to wait like that.

        None for other answers, and where it is data that made the threads wait. A lock held while
        waiting is tried without the step before first: who comes back for the lock until it is
        asked to leave is waited for in vain, and for long.
        """
        if any(
            self._runs.interner.point(line.point).op in (Op.READ, Op.WRITE) for line in answer.lines
        ):
            return None
        if not answer.is_stuck:
            return None
        kept = self._without_steps_before(answer)
        return kept if kept is not None and not kept.arm.fail else self._taken_last(answer)

    def _taken_last(self, answer: Answer) -> Series | None:
        """... if who took the lock first is the last to take it; None if no run is like that.

        Each run costs a trace first, so no more of them are looked at than are enough.
        """
        plans = []
        for at in range(min(ENOUGH, len(self._runs.compared.runs))):
            run = self._runs.trace(at)
            rules = taken_last(Timeline.of(run), self._runs.lines(run, answer)) if run else []
            plans += [self._runs.schedule(at, rules=tuple(rules))] if rules else []
        if not plans:
            return None
        series = self._runs.series(plans)
        series.until(has_failed, least=ENOUGH)
        return series

    def _without_steps_before(self, answer: Answer) -> Series | None:
        """... if nobody takes the lock between what led to the wait and the wait itself."""
        at = self._runs.simplest(answer)[0]
        run = self._runs.trace(at)
        if run is None:
            return None
        lines = self._runs.lines(run, answer)
        line = partial(self._runs.source_line, run)
        series = None
        for events in with_steps_before(Timeline.of(run), lines, line):
            whole = answer_of(answer, events, at, run, self._runs.interner)
            series = self._runs.series(self._runs.replays(forbidding(self._runs.lines(run, whole))))
            if not series.until(has_failed, least=ENOUGH).fail:
                self.widened[answer.key] = whole
                break
        return series

    def _forbidden(self, answer: Answer, run: RunFile) -> Series:
        """What becomes of the failing runs if the order cannot happen, up to the first failure.

        Where the last access is done repeatedly (to one element after the other), the first time
        need not be the one that came too late: then its threads must have ended (docs/adr/0045).
        Where holding whoever comes by had to be given up, the one that came too early is held.
        """
        timeline, lines = Timeline.of(run), self._runs.lines(run, answer)
        early = repeaters(timeline, lines)
        equals = equal_threads(run, timeline, lines)
        forbidden = self._without(answer, forbidding(lines, early, equals))
        arm = forbidden.arm
        if arm.fail and arm.released and is_order(lines):
            one_held = self._runs.series(self._replays_holding(lines))
            kept = one_held.until(has_failed, least=ENOUGH)
            if kept.runs and not kept.fail:
                return one_held
        if arm.fail and is_intrusion(lines):
            return self._forbidden_intrusion(answer, run, forbidden)
        often = [] if early or not arm.fail else repeaters(timeline, lines, often=True)
        ended = self._without(answer, forbidding(lines, often)) if often else forbidden
        if not ended.arm.fail:
            return ended
        return (
            self._without_early_stop(run, lines)
            or self._without_overwriting(answer, run, lines)
            or forbidden
        )

    def _without_overwriting(
        self, answer: Answer, run: RunFile, lines: Sequence[LinePoints]
    ) -> Series | None:
        """... if nothing is overwritten before it was seen; None if they fail all the same."""
        events = overwritten(Timeline.of(run), lines)
        if not events:
            return None
        at = self._runs.simplest(answer)[0]
        whole = answer_of(answer, events, at, run, self._runs.interner)
        series = self._runs.series(self._runs.replays(forbidding(self._runs.lines(run, whole))))
        kept = series.until(has_failed, least=ENOUGH)
        if not kept.runs or kept.fail:
            return None
        self.widened[answer.key] = whole
        return series

    def _without_early_stop(self, run: RunFile, lines: Sequence[LinePoints]) -> Series | None:
        """What becomes of the failing runs if a thread is asked to stop when its work is done.

        None if it leaves nothing undone, or they fail all the same.
        """
        stop = early_stop(run, lines, self._runs.compared.passed)
        if stop is None:
            return None
        series = self._runs.series(self._runs.replays(until_done(stop, lines[0])))
        kept = series.until(has_failed, least=ENOUGH)
        return series if kept.runs and not kept.fail else None

    def _forbidden_intrusion(self, answer: Answer, run: RunFile, short: Series) -> Series:
        """... by regions that reach further, from small to large; the arm as it was if none does.

        `short` has those from the first to the last of its lines.
        """
        lines = self._runs.lines(run, answer)
        if short.arm.released:
            briefly = self._without(answer, forbidding(lines, briefly=True))
            if not briefly.arm.fail:
                return briefly
        lasting = self._lasting(answer, lines, short)
        if not lasting.arm.fail:
            return lasting
        others = self._without_others(answer, lines, short)
        return self._without_calls(answer, run, short) if others.arm.fail else others

    def _without_calls(self, answer: Answer, run: RunFile, short: Series) -> Series:
        """With the calls kept apart in which it happened, if these share more than its cells.

        If runs fail even so, the arm is as it was.
        """
        lines = self._runs.lines(run, answer)
        passing = len(self._runs.compared.comparison.passing)
        if answer.passing > MOST_PASSING * passing:
            return short
        shared, calls_of = set(run.shared.tolist()), partial(self._runs.calls, run)
        failed = None
        for span, entry in interfering_calls(Timeline.of(run), shared, lines, calls_of):
            failed = failed or self._failed_without(short) or run
            more = taken_over(Timeline.of(failed), span.code, lines)
            if not more:
                continue
            begins = answer_of(answer, [entry], 0, run, self._runs.interner)
            (begin,) = self._runs.lines(run, begins)
            series = self._without(answer, apart_as_calls(begin, span.code))
            if not series.arm.fail:
                self.windows[answer.key] = self._others(answer, failed, more)
                self.calls[answer.key] = span.function
                return series
        return short

    def _others(self, answer: Answer, run: RunFile, found: Sequence[Occurrence]) -> tuple[int, ...]:
        """What came between in each, as points of the campaign, if the answer does not have it."""
        own = {line.point for line in answer.lines}
        others = (answer_of(answer, one, 0, run, self._runs.interner).lines[1] for one in found)
        points = dict.fromkeys(line.point for line in others if line.point not in own)
        return tuple(points)[:MOST_WINDOWS]

    def _without(self, answer: Answer, rules: Sequence[Rule]) -> Series:
        """The failing runs under rules that forbid an answer, up to the first failure.

        Where nearly all failing runs have the answer, one that has not fails for another reason,
        and says nothing about it: it is left out (docs/adr/0061).
        """
        series = self._runs.series(self._runs.replays(rules))
        which = list(range(series.size))
        while series.until(has_failed, least=ENOUGH).fail:
            failed = which.pop(len(series.made) - 1)
            if not self._has_other_cause(answer, failed):
                break
            series = series.without_latest()
        return series

    def _has_other_cause(self, answer: Answer, at: int) -> bool:
        """Whether a failing run does not have the answer that nearly all others have."""
        run = (
            self._runs.trace(at) if self._runs.explains(answer) and at not in answer.runs else None
        )
        return run is not None and not occurrences(Timeline.of(run), self._runs.lines(run, answer))

    def _lasting(self, answer: Answer, lines: Sequence[LinePoints], short: Series) -> Series:
        """With regions until the end of threads, if the short ones ended too early; else these."""
        if not is_repeated(lines[-1], short.made[-1]):
            return short
        lasting = self._without(answer, forbidding(lines, lasts=True))
        return short if lasting.arm.fail else lasting

    def _without_others(self, answer: Answer, lines: Sequence[LinePoints], short: Series) -> Series:
        """With other accesses kept out of the region, too, if it is these that made runs fail.

        If runs fail even so, the arm is as it was.
        """
        series, others, found = short, list[list[LinePoints]](), list[int]()
        for _ in range(MOST_WINDOWS):
            run = self._failed_without(series)
            kept_out = [line for window in others for line in window]
            window = other_window(Timeline.of(run), lines, kept_out) if run is not None else ()
            if run is None or not window:
                break
            other = answer_of(answer, window, 0, run, self._runs.interner)
            others.append(self._runs.lines(run, other))
            found.append(other.lines[1].point)
            series = self._without(answer, with_others(forbidding(lines), others))
            if not series.arm.fail:
                own = {line.point for line in answer.lines}
                self.windows[answer.key] = tuple(dict.fromkeys(at for at in found if at not in own))
                return series
        return short

    def _failed_without(self, series: Series) -> RunFile | None:
        """The latest trial of an arm once more, with every event, if it failed under all rules."""
        if not series.made or not self._runs.shows(series.made[-1]):
            return None
        plan = series.made[-1].plan
        rules = plan.rules[: len(plan.rules) - len(self._runs.trials.given)]
        (trial,) = self._runs.trials.run([with_fields(plan, trace=True, rules=rules)])
        if trial.run is None or not self._runs.shows(trial):
            return None
        same = (
            at for at, run in enumerate(self._runs.compared.runs) if run.schedule is plan.schedule
        )
        for at in same:
            self._runs.compared.mark(trial.run, at)
        return trial.run

    def _replays_holding(self, lines: Sequence[LinePoints]) -> list[Plan]:
        """With a hold of the thread that came too early in that very run."""
        found = (
            (at, early_thread(run, lines)) for at, run in enumerate(self._runs.compared.runs[:RUNS])
        )
        return [
            self._runs.schedule(at, rules=tuple(holding(lines, path))) for at, path in found if path
        ]
