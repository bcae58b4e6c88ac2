# SPDX-License-Identifier: Apache-2.0
"""The experiments at the end of a hunt: from the best findings to a proof.

The findings are tested until one is confirmed. What then comes first is cut down to the orders
that matter, compared with the nearest passing run, and repaired in simulation. Where none can be
confirmed because several are at work, each of these is (causes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

from msgspec.structs import replace as with_fields

from unsnarl.analyses.answer import Answer
from unsnarl.analyses.methods import DEFAULT, rank_with
from unsnarl.campaigns.comparisons import Compared
from unsnarl.execution.budget import Budget
from unsnarl.execution.runner import Runner
from unsnarl.execution.trials import Trials
from unsnarl.experiments.causes import Cause, CauseSearch, Remainder, are_apart
from unsnarl.experiments.completion import same_course
from unsnarl.experiments.confirm import Experimenter
from unsnarl.experiments.fix import CERTAIN, Fixer, FixSearch
from unsnarl.experiments.guards import enclosing, guard_of
from unsnarl.experiments.halving import suspects
from unsnarl.experiments.minimise import Minimal, explanation
from unsnarl.experiments.named_fix import named
from unsnarl.experiments.nearest import Nearest, nearest
from unsnarl.experiments.passages import passage_of
from unsnarl.experiments.verdict import Verdict
from unsnarl.model.constraint import Constraint
from unsnarl.model.event import Event, Op, with_op
from unsnarl.model.evidence import Comparison
from unsnarl.model.plan import Plan
from unsnarl.model.report import Fix
from unsnarl.placement.line_points import is_placeable
from unsnarl.runfile import Interner, RunFile

T = TypeVar("T")
TAKES_IN_SEVERAL = "it takes in several causes, which were confirmed without each other"
CERTAIN_OF_ONE = 40  # fresh runs with the simulated repair of one of several causes
Kind = Literal["confirm", "minimise", "fix"]
KINDS: tuple[Kind, ...] = ("confirm", "minimise", "fix")
FIXING = "looking for a fix"
# Of the time that is left, what testing a finding may take, testing all others, refining the first,
# minimising and fixing it; the last capture needs the rest.
TEST, OTHERS, REFINE, MINIMISE, FIX = 0.6, 0.4, 0.3, 0.6, 0.95
# The first finding may take more: where runs are long no other one will get further.
FIRST = 0.8
FURTHER = 3  # so many times as many findings are tested, if none is confirmed and time is left
SEVERAL = 0.6  # ... and looking for several causes, if none is confirmed or one that may be several
# What is confirmed comes first. The others keep their order: that an experiment did not succeed
# says more about the experiment.
ORDER = {"confirmed": 0, "inconclusive": 1, "untested": 1, "infeasible": 1, "refuted": 2}


@dataclass(frozen=True)
class Seen:
    """Events of one run, in the order of time, and the run with the values at them."""

    events: tuple[Event, ...]
    run: RunFile | None


@dataclass(frozen=True)
class Proof:
    """What experiments found out about the first finding.

    Attributes:
        at: The failing run that it is about.
        minimal: The constraints under which the failure is certain.
        failing: What to show of that run.
        passing: The same of the nearest passing run.
        nearest: That run.
        course: In how many of the fresh runs that certify it all went as it is shown, and of how
            many that was looked at.
    """

    at: int
    minimal: Minimal
    failing: Seen
    passing: Seen | None = None
    nearest: Nearest | None = None
    course: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Proven:
    """An answer and what experiments say of it, as far as some were made.

    Attributes:
        by_explanation: What was confirmed is not its own order but what makes its failure certain.
        is_one_of_several: It is a cause of its own; its experiments forbade the other causes.
        is_nearest: Its accesses are the nearest ones already.
    """

    answer: Answer
    verdict: Verdict | None = None
    proof: Proof | None = None
    repair: Fix | None = None
    by_explanation: bool = False
    is_one_of_several: bool = False
    is_nearest: bool = False

    @property
    def status(self) -> str:
        """Its status, as reports have it."""
        return self.verdict.status if self.verdict else "untested"

    @property
    def is_confirmed(self) -> bool:
        """Whether it is the cause."""
        return self.status == "confirmed"


# Begins the search for a fix; None if nothing can be tried.
BeginFix = Callable[[], FixSearch | None]


@dataclass(frozen=True)
class Experiments:
    """What experiments about the answers of one signature came to.

    Attributes:
        answers: Those that were confirmed first, refuted ones last.
        constraints: By the number of a failing run: what makes its failure certain.
        repair: Begins the search for the first one's fix, if that is left for later.
        forced: The same of what makes its failure likely, where nothing makes it certain.
    """

    answers: tuple[Proven, ...]
    constraints: Mapping[int, Sequence[Constraint]] = field(default_factory=dict)
    repair: BeginFix | None = None
    forced: Mapping[int, Sequence[Constraint]] = field(default_factory=dict)

    @classmethod
    def none(cls, answers: Iterable[Answer]) -> Experiments:
        """No experiments were made."""
        return cls(tuple(Proven(answer) for answer in answers))


class Prover:
    """Tests the answers of every signature of a campaign with the process that hunted."""

    def __init__(
        self,
        runner: Runner,
        folder: Path,
        timeout: float,
        *,
        findings: int,
        kinds: Collection[Kind] = KINDS,
        budget: Budget | None = None,
        patches: bool = False,
    ) -> None:
        """If `patches` are looked for later, so are fixes: readers have the answer before."""
        self._patches = patches
        self._runner = runner
        self._folder = folder
        self._timeout = timeout
        self._findings = findings
        self._kinds = kinds
        self.budget = budget or Budget()

    def prove(
        self,
        compared: Compared,
        answers: Sequence[Answer],
        interner: Interner,
        others: Collection[str] = (),
    ) -> Experiments:
        """Test the answers until one is confirmed; minimise and repair what then comes first.

        `others` are the signatures of the campaign's other failures.
        """
        if not answers or not self._findings or compared.kind == "hang":
            return Experiments.none(answers)
        trials = Trials(self._runner, self._folder, compared.switch, self._timeout, self.budget)
        experimenter = Experimenter(trials, compared, interner, others)
        proven = [Proven(answer) for answer in answers]
        if "confirm" in self._kinds:
            most = min(self._findings, len(answers))
            proven = self._tested(experimenter, answers, interner, most)
            # Without its order nothing fails: more may have to happen, but it is the only cause.
            alone = proven[0].verdict is not None and not proven[0].verdict.forbidden.fail
            if alone:
                proven = self._explained(experimenter, proven, interner)
            if causes := self._several(experimenter, proven, interner, others):
                return self._of_causes(experimenter, causes, proven, interner, others)
            if not alone:
                proven = self._explained(experimenter, proven, interner)
            proven.sort(key=lambda one: ORDER[one.status])
            proven = self._with_guard(experimenter, proven, interner)
        first = proven[0]
        if not is_placeable(first.answer, interner):
            proven[0] = self._completed(experimenter, first)
            return Experiments(tuple(proven))
        proven[0], repair = self._repaired(experimenter, first, interner, others)
        proof = proven[0].proof
        if proof is None:
            forced = self._forced(experimenter, proven[0])
            return Experiments(tuple(proven), {}, repair, forced)
        constraints = {compared.records[proof.at].number: proof.minimal.constraints}
        return Experiments(tuple(proven), constraints, repair)

    def _forced(
        self, experimenter: Experimenter, first: Proven
    ) -> Mapping[int, Sequence[Constraint]]:
        """The order that was forced for what is confirmed, by the number of a run that has it."""
        if not first.is_confirmed:
            return {}
        nothing: tuple[int, Sequence[Constraint]] = (0, ())
        at, order = self._part(
            "minimise", "looking for the forced order",
            lambda: experimenter.forced(first.answer), nothing, quick=True,
        )  # fmt: skip
        return {experimenter.compared.records[at].number: order} if order else {}

    def _completed(self, experimenter: Experimenter, first: Proven) -> Proven:
        """What was not proved is shown as it was ranked, with what closes its conflict."""
        answer = self._part(
            "minimise", "completing the conflict",
            lambda: experimenter.completed(first.answer), first.answer,
            quick=experimenter.is_traced(first.answer) or self.budget.has_time,
        )  # fmt: skip
        return replace(first, answer=answer)

    def _repaired(
        self, experimenter: Experimenter, first: Proven, interner: Interner, others: Collection[str]
    ) -> tuple[Proven, BeginFix | None]:
        """With the proof of it and what would repair it; or what looks for that, if it is left."""
        answer, proof = self._minimised(experimenter, first)
        if proof is None:
            first = self._completed(experimenter, first)
        first = replace(first, proof=proof)
        if "fix" not in self._kinds:
            return first, None
        trials, trace = experimenter.trials, experimenter.trace
        fixer = Fixer(trials, experimenter.compared, interner, others, trace)
        windows = first.verdict.windows if first.verdict else ()
        if self._patches and first.is_confirmed and not first.is_one_of_several:
            return first, lambda: fixer.search(answer, windows)
        # What repairs one of several causes is no fix yet: that is for a patch of all of them.
        runs = CERTAIN_OF_ONE if first.is_one_of_several else CERTAIN
        fix = self._part("fix", FIXING, lambda: fixer.fix(answer, runs, windows), None, FIX)
        return replace(first, repair=named(fix) if fix else None), None

    # Several causes.

    def _several(
        self,
        experimenter: Experimenter,
        proven: Sequence[Proven],
        interner: Interner,
        others: Collection[str],
    ) -> list[Cause]:
        """All causes, if no single one could be confirmed because others are at work, too.

        One after the first that many failing runs do not have may have been confirmed because
        forbidding it keeps threads apart for long: then it takes in several causes. These come
        first, if they have nothing in common.
        """
        confirmed = [one for one in proven if one.is_confirmed]
        is_clear = any(experimenter.explains(one.answer) for one in confirmed)
        # Who asks about one finding wants to know about that one.
        if self._findings < 2 or proven[0].is_confirmed or is_clear:
            return []

        def confirm(
            where: Experimenter, answers: Sequence[Answer]
        ) -> tuple[Answer, Verdict] | None:
            # All of the time: nothing else is to be done there.
            tested = self._tested(where, answers, interner, len(answers), share=1.0)
            pairs = [(one.answer, one.verdict) for one in tested if one.verdict]
            return next((pair for pair in pairs if pair[1].status == "confirmed"), None)

        def rank(comparison: Comparison) -> Sequence[Answer]:
            return rank_with(DEFAULT, comparison)

        remainder = Remainder(experimenter, interner, others)
        search = CauseSearch(experimenter, remainder.without, rank, confirm)
        answers = [one.answer for one in proven if is_placeable(one.answer, interner)]
        none: list[Cause] = []
        doing = "looking for several causes"
        causes = self._part("confirm", doing, lambda: search.find(answers), none, SEVERAL)
        return causes if not confirmed or are_apart(causes) else []

    def _of_causes(
        self,
        experimenter: Experimenter,
        causes: Sequence[Cause],
        proven: Sequence[Proven],
        interner: Interner,
        others: Collection[str],
    ) -> Experiments:
        """The causes, each explained and repaired where the others are forbidden, then the rest."""
        found: list[Proven] = []
        constraints: dict[int, Sequence[Constraint]] = {}
        for left, cause in zip(range(len(causes), 0, -1), causes, strict=True):
            one = Proven(cause.answer, cause.verdict, is_one_of_several=True)
            if cause.where is not None and is_placeable(cause.answer, interner):
                with self.budget.share(1 / left):
                    one, _ = self._repaired(cause.where, one, interner, others)
            one = _in_base_terms(experimenter, cause, one, constraints)
            if one.proof is not None:
                number = experimenter.compared.records[one.proof.at].number
                constraints[number] = one.proof.minimal.constraints
            found.append(one)
        keys = {one.answer.key for one in found}
        rest = [_not_alone(one) for one in proven if one.answer.key not in keys]
        rest.sort(key=lambda one: ORDER[one.status])
        return Experiments((*found, *rest), constraints)

    # Tests.

    def _tested(
        self,
        experimenter: Experimenter,
        answers: Sequence[Answer],
        interner: Interner,
        most: int,
        *,
        share: float = OTHERS,
    ) -> list[Proven]:
        """All answers, of which so many were tested, until one was confirmed.

        If none was, and time is left for others, so are the rest: what is frequent in passing runs,
        too, because it does harm only now and then, is ranked low and may be the cause.
        """
        doing = f"testing finding 1 of {most}"
        verdict = self._verdict(experimenter, answers[0], interner, doing, FIRST)
        verdicts: dict[int, Verdict | None] = {0: verdict}
        if verdict is None or verdict.status != "confirmed":
            # Whatever comes of them: the first finding is to be explained and repaired, too.
            with self.budget.share(share):
                if most > 1:
                    verdicts |= self._of_enclosing(experimenter, answers, interner, verdict)
                last = min(len(answers), FURTHER * most) if most > 1 else most
                for some in (range(1, most), range(most, last)):
                    if not _has_confirmed(verdicts):
                        left = [at for at in some if at not in verdicts]
                        verdicts |= self._of_others(experimenter, answers, interner, left)
        return [Proven(answer, verdicts.get(at)) for at, answer in enumerate(answers)]

    def _explained(
        self, experimenter: Experimenter, proven: list[Proven], interner: Interner
    ) -> list[Proven]:
        """If nothing is confirmed, the first finding may be by what makes its failure certain."""
        first = proven[0]
        if not any(one.is_confirmed for one in proven) and is_placeable(first.answer, interner):
            # The ranked answer may contain too much: what makes its failure certain is tested
            # instead (docs/adr/0016).
            doing = "testing what makes the failure certain"
            proven[0] = self._part(
                "confirm", doing, lambda: _explained(experimenter, first), first, TEST
            )
        return proven

    def _with_guard(
        self, experimenter: Experimenter, proven: list[Proven], interner: Interner
    ) -> list[Proven]:
        """First the check that let threads into the first one's conflict, if one is confirmed."""
        first = proven[0]
        if self._findings < 2 or not first.is_confirmed or first.by_explanation:
            return proven
        doing = "looking for the check before the conflict"
        answers = [one.answer for one in proven if is_placeable(one.answer, interner)]

        def find() -> Proven | None:
            guard = guard_of(experimenter, first.answer, answers, experimenter.test)
            passage = None if guard else passage_of(experimenter, first.answer, experimenter.test)
            found = guard or passage
            return Proven(*found, is_nearest=not guard) if found else None

        found = self._part("confirm", doing, find, None, REFINE)
        if found is None:
            return proven
        return [found, *(one for one in proven if one.answer.key != found.answer.key)]

    def _of_enclosing(
        self,
        experimenter: Experimenter,
        answers: Sequence[Answer],
        interner: Interner,
        first: Verdict | None,
    ) -> dict[int, Verdict | None]:
        """The verdicts on those that lie around the first, by index, until one is confirmed.

        Only if runs fail without the first: what they have in common with it may be a check.
        """
        verdicts: dict[int, Verdict | None] = {}
        if len(answers) < 2 or first is None or not first.forbidden.fail:
            return verdicts
        placeable = [one for one in answers if is_placeable(one, interner)]
        doing = "looking for the check before the conflict"
        none: Sequence[Answer] = ()
        found = self._part(
            "confirm", doing, lambda: enclosing(experimenter, answers[0], placeable), none, TEST
        )
        for one in found:
            at = answers.index(one)
            verdicts[at] = self._verdict(experimenter, one, interner, doing)
            if _has_confirmed(verdicts):
                break
        return verdicts

    def _of_others(
        self,
        experimenter: Experimenter,
        answers: Sequence[Answer],
        interner: Interner,
        which: Sequence[int],
    ) -> dict[int, Verdict | None]:
        """The verdicts on some of them, by index, until one is confirmed.

        As long as runs fail without all of a group, none of it is tested alone (docs/adr/0036).
        """
        verdicts: dict[int, Verdict | None] = {}
        last = which[-1] + 1 if which else 0

        def test(at: int) -> Verdict | None:
            doing = f"testing finding {at + 1} of {last}"
            return self._verdict(experimenter, answers[at], interner, doing)

        def are_excluded(group: Sequence[int]) -> bool:
            if self.budget.left <= 0:
                return True  # nothing more will be tested
            some = [answers[at] for at in group]
            doing = f"testing findings {', '.join(str(at + 1) for at in group)} of {last}"
            verdict = self._part("confirm", doing, lambda: experimenter.excluded(some), None, TEST)
            if verdict is not None:
                verdicts.update(dict.fromkeys(group, verdict))
            return verdict is not None

        placeable = [at for at in which if is_placeable(answers[at], interner)]
        for at in chain(suspects(placeable, are_excluded), set(which).difference(placeable)):
            if self.budget.left <= 0:
                break
            verdicts[at] = test(at)
            if (found := verdicts[at]) is not None and found.status == "confirmed":
                break
        return verdicts

    def _verdict(
        self,
        experimenter: Experimenter,
        answer: Answer,
        interner: Interner,
        doing: str,
        share: float = TEST,
    ) -> Verdict | None:
        if not is_placeable(answer, interner):
            text = "its code was loaded late, and other runs do not name it alike"
            self.budget.note("confirm", doing, "unsupported", text)
            return None
        return self._part("confirm", doing, lambda: experimenter.test(answer), None, share)

    def _minimised(self, experimenter: Experimenter, first: Proven) -> tuple[Answer, Proof | None]:
        """The answer by its nearest accesses, if it is confirmed, and the proof of it."""
        answer = first.answer
        # What its explanation confirmed has no order of its own to be refined.
        if first.is_confirmed and not first.by_explanation and not first.is_nearest:
            doing = "looking for the nearest accesses"
            answer = self._part(
                "minimise", doing, lambda: experimenter.refine(first.answer), answer, REFINE
            )
        if "minimise" not in self._kinds:
            return answer, None
        found = self._part(
            "minimise", "minimising", lambda: experimenter.minimal(answer), None, MINIMISE
        )
        return answer, None if found is None else self._proof(experimenter, *found)

    def _proof(self, experimenter: Experimenter, minimal: Minimal, at: int) -> Proof | None:
        """With what was seen in the failing run and in the nearest passing one."""
        trials = experimenter.trials
        none: tuple[Event, ...] = ()
        events = self._part(
            "minimise", "explaining", lambda: tuple(explanation(minimal, minimal.timeline)), none
        )
        if not events:
            return None
        closing = self._part(
            "minimise", "completing the conflict", lambda: experimenter.closing(minimal, events),
            none, quick=True,
        )  # fmt: skip
        events = tuple(sorted({*events, *closing}))
        plan = experimenter.schedule(at)
        run = self._part(
            "minimise",
            "capturing values",
            lambda: _captured(trials, plan, events),
            None,
            quick=self.budget.has_time,
        )
        nothing: tuple[Seen | None, Nearest | None] = (None, None)
        passing, near = self._part(
            "minimise", "comparing with passing runs", lambda: _nearest(trials, minimal), nothing,
            TEST,
        )  # fmt: skip
        fresh = [trial.run for trial in minimal.certifying if trial.run is not None]
        course = self._part(
            "minimise", "comparing fresh runs", lambda: same_course(fresh, events), (0, 0),
            quick=True,
        )  # fmt: skip
        return Proof(at, minimal, Seen(events, run), passing, near, course)

    def _part(
        self,
        kind: Kind,
        doing: str,
        work: Callable[[], T],
        otherwise: T,
        share: float = 1.0,
        *,
        quick: bool = False,
    ) -> T:
        return self.budget.part(kind, doing, work, otherwise, share=share, quick=quick)


def _has_confirmed(verdicts: Mapping[int, Verdict | None]) -> bool:
    return any(one is not None and one.status == "confirmed" for one in verdicts.values())


def _explained(experimenter: Experimenter, first: Proven) -> Proven:
    """The first finding, confirmed if what makes its failure certain is the cause."""
    verdict = experimenter.explain(first.answer)
    if verdict is None or verdict.status != "confirmed":
        return first
    return replace(first, verdict=verdict, by_explanation=True)


def _not_alone(found: Proven) -> Proven:
    """What was confirmed before several causes were found takes in more than one of them."""
    if found.verdict is None or not found.is_confirmed:
        return found
    verdict = replace(found.verdict, status="inconclusive", why=TAKES_IN_SEVERAL)
    return replace(found, verdict=verdict)


def _in_base_terms(
    base: Experimenter, cause: Cause, found: Proven, taken: Collection[int]
) -> Proven:
    """One of several causes, by the runs of the campaign.

    Its proof becomes that of a failing run: the one that it repeats with the other causes
    forbidden, or one that has its order; none of those that are `taken` for other causes.
    """
    answer = base.located(found.answer)
    numbers = [record.number for record in base.compared.records]
    wanted = [numbers[at] for at in answer.runs] if answer is not None else []
    if found.proof is not None and cause.where is not None:
        wanted.insert(0, cause.where.compared.records[found.proof.at].number)
    free = [one for one in (*wanted, *numbers) if one in numbers and one not in taken]
    at = numbers.index(free[0]) if free else 0
    answer = answer or replace(found.answer, runs=(at,), threads={})
    return replace(found, answer=answer, proof=found.proof and replace(found.proof, at=at))


def _nearest(trials: Trials, minimal: Minimal) -> tuple[Seen | None, Nearest | None]:
    near = nearest(trials, minimal)
    if near is None:
        return None, None
    return Seen(near.events, _captured(trials, near.plan, near.events)), near


def _captured(trials: Trials, plan: Plan, events: Sequence[Event]) -> RunFile | None:
    """The same run once more, with the values at the events, and the calls that led to waits."""
    waits = {with_op(event.point, Op.WAIT) for event in events if event.op.is_sync}
    points = sorted({event.point for event in events} | waits)
    (trial,) = trials.run([with_fields(plan, capture=points)])
    return trial.run
