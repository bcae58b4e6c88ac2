# SPDX-License-Identifier: Apache-2.0
"""Is an answer the cause? Force its order, forbid it, and hold elsewhere as a control.

Forced trials are fresh runs in which the events come in the order that they had in one failing run;
control trials are the same with holds elsewhere, which must not help. Forbidden trials replay the
recorded failing schedules: without the rules every one of them fails. Where few were recorded,
those of failing forced trials are added. Where the order alone does not bring the failure, it is
forced and forbidden in runs near a failing one. An arm has as many trials as the verdict needs
(arms.py).

    excluded(answers)  the verdict on all of them at once, if runs fail without any of their orders
    test(answer)       the three arms. If forcing the answer's own order is not enough, all that
                       makes the failure certain is forced (minimise), if that implies the answer.
    refine(answer)     a confirmed answer by the accesses nearest to the intrusion; tested as well
    explain(answer)    if nothing is confirmed: the verdict on what makes the failure certain
    minimal(answer)    the constraints that make the failure certain

The caller (prove.py) asks in this order. Each answer is minimised, and its easiest run looked for,
only once, whoever asks: results are kept by what an answer says (`Answer.key`).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from unsnarl.analyses.answer import Answer, AnswerKey
from unsnarl.campaigns.comparisons import Compared
from unsnarl.campaigns.neighbours import changed
from unsnarl.execution.trials import Trial, Trials, fresh_plans
from unsnarl.experiments.arms import (
    BRINGS,
    ENOUGH,
    FEW,
    NO_ARM,
    RUNS,
    Series,
    brings,
    half_decides,
    has_failed,
    kept_all,
    never,
    replayed,
    stays,
)
from unsnarl.experiments.completion import Completion
from unsnarl.experiments.failing_runs import FailingRuns
from unsnarl.experiments.forbid import Forbidder
from unsnarl.experiments.minimise import Minimal, Minimiser, explanation
from unsnarl.experiments.refine import answer_of, tightest
from unsnarl.experiments.rules import (
    MOST_RULES,
    apart,
    controlling,
)
from unsnarl.experiments.undone import early_stop
from unsnarl.experiments.verdict import Verdict, concluded, forcing_result
from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, Op, point_of
from unsnarl.model.plan import Plan, Rule
from unsnarl.model.report import Arm, SourceLine, UndoneWork
from unsnarl.placement.line_points import LinePoints, unrelated
from unsnarl.placement.occurrence import (
    latest_occurrence,
    occurrences,
    order_constraints,
)
from unsnarl.placement.roles import by_roles
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import Interner, RunFile

# Failing runs that are looked at for an answer, and fresh trials under the order of each. (Ten are
# worse than five: later ones are longer, and so is what must come first in them.)
MOST_TRACES = 5
# ... of waits that do not end: who takes the lock how often differs from run to run anyway.
MOST_STOPS = 2
PROBES = 6
# So many of them that fail are enough: no other run is looked at.
EASY = 5
# So many answers that are not confirmed by their own order are minimised.
# Five took 34 s on tsp of the zoo (docs/adr/0016).
MOST_MINIMISED = 2
# What so many of the failing runs have may be what makes all of them fail: evidence keeps only the
# latest of what happened.
EXPLAINS = 0.9
# An answer that more than this share of the passing runs has cannot be what makes runs fail.
COMMON = 0.8


class Experimenter(FailingRuns):
    """Makes experiments about the answers of one signature.

    `others` are the signatures of the campaign's other failures. So many answers are minimised when
    they are tested.
    """

    def __init__(
        self,
        trials: Trials,
        compared: Compared,
        interner: Interner,
        others: Collection[str] = (),
        *,
        most_minimised: int = MOST_MINIMISED,
    ) -> None:
        super().__init__(trials, compared, interner)
        self._forbidder = Forbidder(self)
        self._others = others
        self._most_minimised = most_minimised
        self._confirmed: set[AnswerKey] = set()
        self._easiest: dict[AnswerKey, list[int]] = {}
        self._probed: dict[AnswerKey, Sequence[Trial]] = {}
        self._minimal: dict[AnswerKey, tuple[Minimal, int] | None] = {}
        # Orders that bring the failure only if they are not about single threads.
        self._by_roles: dict[AnswerKey, Sequence[Constraint]] = {}

    def test(self, answer: Answer) -> Verdict | None:
        """The verdict on one answer; None if no failing run of it can be replayed."""
        return self._verdict(answer, None)

    def excluded(self, answers: Sequence[Answer]) -> Verdict | None:
        """The verdict on each, if a run fails although none of their orders can happen.

        None if that is not clear: then one of them may be the cause.
        """
        rules = [self._forbidder.rules(answer) for answer in answers]
        if not all(rules) or sum(map(len, rules)) > MOST_RULES:
            return None
        self.trials.budget.doing("forbidding")
        series = self.series(self.replays(apart(rules))[:FEW])
        series.until(has_failed)
        # A hold that was given up may have let the order happen.
        if not any(map(self.shows, series.made)):
            return None
        arm = series.arm
        others = f" and without {len(answers) - 1} others" if len(answers) > 1 else ""
        why = f"without this order{others} {arm.fail} of {arm.runs} runs fail all the same"
        return Verdict("inconclusive", NO_ARM, arm, NO_ARM, 1.0, why)

    def refine(self, answer: Answer) -> Answer:
        """A confirmed answer by the accesses nearest to the intrusion, if that is confirmed too.

        An order that had to be widened is shown as it was forbidden.
        """
        whole = self._forbidder.widened.get(answer.key)
        if whole is not None and not answer.is_stuck:
            verdict = self._verdict(whole, None)
            return whole if verdict and verdict.status == "confirmed" else answer
        for at in self._easiest_runs(answer):
            run = self.trace(at)
            if run is None:
                continue
            timeline = Timeline.of(run)
            occurrence = next(iter(occurrences(timeline, self.lines(run, answer))), ())
            events = tightest(timeline, occurrence, partial(self.source_line, run))
            if {event.key for event in events} <= {event.key for event in occurrence}:
                return answer
            refined = answer_of(answer, events, at, run, self.interner)
            # It is of the run whose order failed most often: no other needs to be looked for.
            self._easiest.setdefault(refined.key, self._easiest_runs(answer))
            verdict = self._verdict(refined, None)
            return refined if verdict and verdict.status == "confirmed" else answer
        return answer

    def explain(self, answer: Answer) -> Verdict | None:
        """The verdict on what makes the failure certain: what was ranked may miss it.

        All of it is forced. It is proved if the failure is gone without all of it, or without one
        of its orders.
        """
        found = self.minimal(answer)
        if found is None or not found[0].is_certain:
            return None
        minimal, at = found
        if not minimal.constraints:
            return None  # it fails whatever the order
        orders = [one[:2] for one in reversed(minimal.constraints)]
        verdict = None
        for events in (explanation(minimal, minimal.timeline), *orders):
            meant = [minimal.timeline.meaning(event) for event in events]
            cause = answer_of(answer, meant, at, minimal.run, self.interner)
            # Of threads that wait for good it is what brought them there.
            verdict = self._verdict(replace(cause, is_stuck=False), found)
            if verdict is not None and verdict.status == "confirmed":
                break
        return verdict

    def minimal(self, answer: Answer) -> tuple[Minimal, int] | None:
        """The constraints that make the failure certain, and the failing run that they are from."""
        found = self._minimal.get(answer.key)
        if found is not None and found[0].whole is not None:
            # So far an arm was all that it was needed for.
            self.trials.budget.doing("minimising")
            whole = found[0].whole()
            self._minimal[answer.key] = (whole, found[1]) if whole else self._minimise(answer)
        elif answer.key not in self._minimal:
            self._minimal[answer.key] = self._minimise(answer)
        return self._minimal[answer.key]

    def forced(self, answer: Answer) -> tuple[int, Sequence[Constraint]]:
        """A failing run, and the order of an answer in it, if a schedule can name all of it."""
        at = self.simplest(answer)[0]
        run = self.trace(at)
        order = self._order(answer, run) if run is not None else ()
        return at, order if all(one.is_named for one in order) else ()

    def completed(self, answer: Answer) -> Answer:
        """The answer with the lines that close its conflict in the run that a report shows."""
        at = self.simplest(answer)[0]
        run = self.trace(at)
        if run is None:
            return answer
        return replace(answer, closing=Completion(run, self.interner).lines(answer, at))

    def is_traced(self, answer: Answer) -> bool:
        """Whether completing it needs no further run."""
        return self.simplest(answer)[0] in self.traces

    def closing(self, minimal: Minimal, shown: Sequence[Event]) -> tuple[Event, ...]:
        """What closes the conflict of an explanation, in its own run."""
        completion = Completion(minimal.run, self.interner, minimal.timeline)
        return tuple(completion.events(shown))

    def spared(self, rules: Sequence[Rule], runs: int) -> int:
        """How many of the first failing runs pass under rules that all had their way."""
        self.trials.budget.doing("forbidding")
        series = self.series(self.replays(rules)[:runs])
        series.until(never)
        return sum(kept_all(one) and not self.compared.symptom.is_in(one) for one in series.made)

    def located(self, answer: Answer) -> Answer | None:
        """The answer in terms of these failing runs; None if the first ones do not have it."""
        threads: dict[int, dict[int, int]] = {}
        for at in range(min(RUNS, len(self.compared.runs))):
            run = self.trace(at)
            events = latest_occurrence(Timeline.of(run), self.lines(run, answer)) if run else []
            if run is not None and len(events) == len(answer.lines):
                index = {thread.path: thread.index for thread in run.threads}
                pairs = zip(answer.lines, events, strict=True)
                threads[at] = {line.anchor: index[event.path] for line, event in pairs}
        return replace(answer, runs=tuple(threads), threads=threads) if threads else None

    def forbidden(self, answer: Answer) -> Sequence[Trial]:
        """The trials in which the order of an answer could not happen, if it was tested."""
        return self._forbidder.made.get(answer.key, ())

    def forbidding_rules(self, answer: Answer) -> Sequence[Rule]:
        """Those that keep the order of an answer from happening."""
        return self._forbidder.rules(answer)

    # The three arms.

    def _verdict(self, answer: Answer, found: tuple[Minimal, int] | None) -> Verdict | None:
        """With minimised constraints that imply the answer, it is these that are forced."""
        # Constraints say which run they are of.
        minimal, which = (found[0], [found[1]]) if found else (None, self.simplest(answer))
        run = next(self.traced(which), None)
        if run is None:
            return None
        # First, because all else is worth its time only if forbidding removes the failure: to find
        # the run whose order is the easiest to force takes up to 35 trials.
        forbidding = self._forbidder.forbid(answer, run)
        self.trials.budget.doing("forcing")
        order, forcing = self._forcing(answer, run, minimal)
        if minimal is None and not (forbidding.arm.fail and forcing.until(has_failed).fail):
            easiest = next(self.traced(self._easiest_runs(answer)), run)
            if easiest is not run or not forcing.made:
                run = easiest
                order, forcing = self._forcing(answer, run, None, self._probed.get(answer.key, ()))
        lines = self.lines(run, answer)
        is_alone = not forbidding.arm.fail and minimal is None
        if is_alone and not brings(forcing_result(forcing, forbidding)):
            order, forcing = self._forced_by_roles(answer, order, run, forcing, forbidding)
        if is_alone and order and not brings(forcing_result(forcing, forbidding)):
            forcing, forbidding = self._near(run, order, forcing, forbidding)
        if not forbidding.arm.fail and not brings(forcing_result(forcing, forbidding)):
            # More may have to happen than the answer says: all that matters is in the minimised
            # constraints. They count only if they imply the answer.
            whole = self._minimal_implying(answer, lines)
            if whole is not None:
                order = whole.constraints
                self.trials.budget.doing("forcing all that makes the failure certain")
                forcing = self.series(self._fresh("force", order), whole.certifying)
        brought: Sequence[Trial] = ()
        if not forbidding.arm.fail and forbidding.size < ENOUGH and forbidding.rules is not None:
            brought = self._brought(forcing, forbidding)
            forbidding = forbidding.longer(replayed(brought, forbidding.rules))
        verdict = concluded(forcing, forbidding, lambda: self._control(run, lines, order, brought))
        undone = None
        if verdict.status == "confirmed" and self._is_common(answer):
            undone = self._left_undone(run, lines)
        if verdict.status == "confirmed" and self._is_common(answer) and not undone:
            return replace(verdict, status="inconclusive", why=self._too_common(answer))
        if verdict.status == "confirmed":
            self._confirmed.add(answer.key)
            windows = self._forbidder.windows.get(answer.key, ())
            calls = self._forbidder.calls.get(answer.key, "")
            return replace(
                verdict,
                windows=windows,
                left_out=forbidding.left_out,
                calls=calls,
                undone=undone,
            )
        return verdict

    def _forcing(
        self, answer: Answer, run: RunFile, minimal: Minimal | None, begun: Sequence[Trial] = ()
    ) -> tuple[Sequence[Constraint], Series]:
        """What is forced, the order of an answer in a run or minimised constraints; its arm."""
        if minimal is not None:
            order: Sequence[Constraint] = minimal.constraints
            return order, self.series(self._fresh("force", order), minimal.certifying)
        order = self._order(answer, run)
        return order, self.series(self._fresh("force", order), begun)

    def _order(self, answer: Answer, run: RunFile) -> Sequence[Constraint]:
        """The order of an answer in a run; that of what was forbidden for it, if the run has it."""
        timeline = Timeline.of(run)
        asked = (self._forbidder.widened.get(answer.key), answer)
        orders = (order_constraints(timeline, self.lines(run, one)) for one in asked if one)
        return next(filter(None, orders), ())

    def _brought(self, forcing: Series, forbidding: Series) -> Sequence[Trial]:
        """More failing runs, where few were recorded: those that forcing brought about.

        They take part in the other arms like recorded ones; that they fail again if nothing is
        forced, the control shows (docs/adr/0045).
        """
        if not brings(forcing_result(forcing, forbidding)):
            return ()
        fails = [one for one in forcing.made if self.compared.symptom.is_in(one) and one.run]
        return fails[: RUNS - forbidding.size]

    def _forced_by_roles(
        self,
        answer: Answer,
        order: Sequence[Constraint],
        run: RunFile,
        forcing: Series,
        forbidding: Series,
    ) -> tuple[Sequence[Constraint], Series]:
        """The order and its arm, by roles if that brings the failure, else as they were."""
        cast = by_roles(order, run)
        series = self.series(self._fresh("force", cast))
        if not cast or not brings(forcing_result(series, forbidding)):
            return order, forcing
        self._by_roles[answer.key] = cast
        return cast, series

    def _near(
        self, run: RunFile, order: Sequence[Constraint], forcing: Series, forbidding: Series
    ) -> tuple[Series, Series]:
        """Both arms in runs near a failing one, if the order brings the failure there.

        More may have to happen than the order says. Near a failing run most of it does, and the
        same runs must pass with the order forbidden (docs/adr/0053).
        """
        at = next(at for at, traced in self.traces.items() if traced is run)
        rules = forbidding.rules
        if rules is None:
            return forcing, forbidding
        self.trials.budget.doing("forcing near a failing run")
        forced = self.series(self._nearby(at, [one.rule for one in order]))
        if not brings(forcing_result(forced, forbidding)):
            return forcing, forbidding
        kept = forbidding.longer(self._nearby(at, rules)[:ENOUGH])
        kept.until(has_failed, least=ENOUGH)
        return forced, kept

    def _nearby(self, at: int, rules: Sequence[Rule]) -> list[Plan]:
        """Runs near a failing one, the same ones each time, under some rules."""
        draw = random.Random(f"{self.compared.signature}/{at}/near")
        schedule = self.compared.runs[at].schedule
        return [
            self.schedule(at, schedule=changed(schedule, draw), rules=tuple(rules))
            for _ in range(RUNS)
        ]

    def _control(
        self,
        run: RunFile,
        lines: Sequence[LinePoints],
        order: Sequence[Constraint],
        brought: Sequence[Trial],
    ) -> Arm:
        self.trials.budget.doing("holding threads elsewhere")
        elsewhere = controlling(lines, unrelated(run, lines, len(lines)))
        series = self.series([*self.replays(elsewhere), *replayed(brought, elsewhere)])
        control = series.until(half_decides(series.size), least=FEW)
        if not stays(control) and order:
            # A hold may make a replay leave its schedule; constraints are more robust.
            series = self.series(self._fresh("control", order, elsewhere))
            control = series.until(half_decides(series.size), least=FEW)
        return control

    def _is_common(self, answer: Answer) -> bool:
        """Whether nearly all passing runs have it too: it may be needed, but is not the cause."""
        return answer.passing > COMMON * len(self.compared.comparison.passing)

    def _left_undone(self, run: RunFile, lines: Sequence[LinePoints]) -> UndoneWork | None:
        """What the later thread of an order does in all passing runs, and did not in this one.

        Then it is not the order that sets the failing runs apart, but how early it came.
        """
        stop = early_stop(run, lines, self.compared.passed)
        if stop is None:
            return None
        work = [point_of(one.site, Op.READ) for one in stop.undone]
        raw = np.array([lines[-1].points[0], *work], dtype=np.uint32)
        here, *sites = (self.interner.point(int(at)).site for at in self.interner.indexes(raw, run))
        pairs = zip(sites, stop.undone, strict=True)
        found = [(site, one) for site, one in pairs if site.file == here.file]
        if not found:
            return None
        # Of a loop's body, which it came to equally often, the last line is what its work came to.
        site, most = max(found, key=lambda one: (one[1].usual - one[1].times, one[0].line))
        line = SourceLine(site.file, site.line, site.function)
        return UndoneWork(line, stop.late, most.times, most.usual)

    def _too_common(self, answer: Answer) -> str:
        passing = len(self.compared.comparison.passing)
        return f"{answer.passing} of {passing} passing runs have this order, too"

    # What makes the failure certain.

    def _minimal_implying(self, answer: Answer, lines: Sequence[LinePoints]) -> Minimal | None:
        """Constraints that make the failure certain and imply the answer.

        Only a few answers are minimised for this: most of the time of a hunt would go there.
        """
        if len(self._minimal) < self._most_minimised and answer.key not in self._minimal:
            self._minimal[answer.key] = self._minimise(answer, few=True)
        # Those of another answer will do, if they imply this one.
        every = (found[0] for found in reversed(self._minimal.values()) if found is not None)
        return next((one for one in every if _implies(one, lines)), None)

    def _minimise(self, answer: Answer, *, few: bool = False) -> tuple[Minimal, int] | None:
        runs = self._easiest_runs(answer)
        first = next(self.traced(runs), None)
        if first is None:
            return None
        lines = self.lines(first, answer)
        self.trials.budget.doing("minimising")
        minimiser = Minimiser(self.trials, self.compared.symptom, self._others)
        used: list[int] = []
        is_confirmed = answer.key in self._confirmed
        orders = [self._by_roles[answer.key]] if answer.key in self._by_roles else []
        found = minimiser.minimise(
            self.traced(runs, used), lines, is_confirmed=is_confirmed, orders=orders, few=few
        )
        return None if found is None else (found, used[-1])

    def _easiest_runs(self, answer: Answer) -> list[int]:
        """The failing runs of an answer: first the one whose order fails most often by itself.

        The same accesses may need more to come first in one run than in another: who takes which
        of the jobs. Of equal ones the simplest.
        """
        if answer.key not in self._easiest:
            self._easiest[answer.key] = self._by_ease(answer)
        return self._easiest[answer.key]

    def _by_ease(self, answer: Answer) -> list[int]:
        simplest = self.simplest(answer)
        fails: dict[int, int] = {}
        most = MOST_STOPS if answer.is_stuck else MOST_TRACES
        for at in simplest[:most] if len(simplest) > 1 else ():
            trials = self._by_itself(answer, at)
            fails[at] = sum(map(self.compared.symptom.is_in, trials))
            if fails[at] >= EASY:
                # They begin the forced arm, unless they were the best of several.
                self._probed[answer.key] = trials if len(fails) == 1 else ()
                break
        # Where the answer's order brings it in few runs only, that says nothing.
        best = [at for at in fails if fails[at] >= BRINGS * PROBES]
        # Sorting is stable: of equally easy runs the simplest stays first.
        return sorted(simplest, key=lambda at: -fails[at] if at in best else 0)

    def _by_itself(self, answer: Answer, at: int) -> Sequence[Trial]:
        """A few fresh trials under the order that the answer has in one failing run."""
        run = self.trace(at)
        if run is None:
            return ()
        series = self.series(self._fresh("probe", self._order(answer, run))[:PROBES])
        series.until(lambda arm: arm.runs - arm.fail > (1 - BRINGS) * PROBES)
        return series.made

    # Trials.

    def _fresh(
        self, arm: str, order: Sequence[Constraint], first: Sequence[Rule] = ()
    ) -> list[Plan]:
        rules = (*first, *(one.rule for one in order))
        return fresh_plans(f"{self.compared.signature}/{arm}", RUNS, rules=rules) if order else []


def _implies(minimal: Minimal, lines: Sequence[LinePoints]) -> bool:
    """Whether all lines of an answer are among what makes the failure certain, in their order."""
    events = iter(explanation(minimal, minimal.timeline))
    return minimal.implies_answer or all(
        any(event.point in line.points for event in events) for line in lines
    )
