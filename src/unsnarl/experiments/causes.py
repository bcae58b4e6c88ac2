# SPDX-License-Identifier: Apache-2.0
"""Several causes of one symptom: without any one of them runs still fail, because of the others.

So no single one can be confirmed where all are at work. They are peeled off:

    forbid the order that spares most failing runs  -->  what still fails is ranked and tested
    ... until one is confirmed there: without all that were found nothing fails
        (one that many failing runs do not have only if nothing narrower is found)
    each is then confirmed where the others are forbidden, and nothing else is

Where the others are forbidden, the program has one cause, and all experiments are the usual ones
(`Trials.given`). A cause that the others make superfluous is dropped: two views of one cause are
not two causes (docs/adr/0043).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from unsnarl.analyses.answer import Answer, AnswerKey
from unsnarl.campaigns.comparisons import compare
from unsnarl.execution.trials import Trial, fresh_plans
from unsnarl.experiments.confirm import Experimenter
from unsnarl.experiments.rules import apart
from unsnarl.experiments.verdict import Verdict
from unsnarl.model.evidence import Comparison
from unsnarl.model.plan import Rule
from unsnarl.model.run import RunRecord
from unsnarl.runfile import Interner, RunFile

MOST_CAUSES = 4
# Answers that are tried as a first cause, each on so many failing runs.
CANDIDATES = 6
SPARED = 10
MANY = 1 / 3  # ... and the first that spares so many of them is taken
# The gate takes 64 rules, a candidate for a fix has up to 52 of them.
MOST_GIVEN = 12
# The numbers of the others' locks: experiments use small ones.
FIRST_LOCK = 32
# Failing runs that an experiment needs to exclude chance, and that a ranking should have; where
# replays leave fewer, so many fresh runs are made, in parts.
LEAST, ENOUGH = 4, 8
FRESH, BATCH = 160, 20
# Passing runs under the rules that are compared, too: those that nearly failed say most.
MOST_PASSING = 25
# How often causes may be replaced by what is found without the others, until all are confirmed.
ROUNDS = 3

Rank = Callable[[Comparison], Sequence[Answer]]
# The first answer that an experimenter confirms.
Confirm = Callable[[Experimenter, Sequence[Answer]], tuple[Answer, Verdict] | None]
Without = Callable[[Sequence["Cause"]], Experimenter | None]


@dataclass(frozen=True, eq=False)
class Cause:
    """One of several causes.

    Attributes:
        answer: In terms of the runs of `where`.
        rules: Under which its order cannot happen.
        where: Experiments with the other causes forbidden; None as long as it is only suspected.
        given: What was forbidden there.
    """

    answer: Answer
    rules: tuple[Rule, ...]
    verdict: Verdict | None = None
    where: Experimenter | None = None
    given: frozenset[AnswerKey] = field(default_factory=frozenset)


class CauseSearch:
    """Looks for all causes of one signature.

    Args:
        base: Experiments where all of them are at work.
        without: Experiments where some are forbidden; None if too few runs fail there.
        rank: Ranks what fails without some of them.
        confirm: Makes the usual experiments.
    """

    def __init__(self, base: Experimenter, without: Without, rank: Rank, confirm: Confirm) -> None:
        self._base = base
        self._without = without
        self._rank = rank
        self._confirm = confirm

    def find(self, answers: Sequence[Answer]) -> list[Cause]:
        """All causes, each confirmed without the others; none if there are not several."""
        causes = self._sufficient(self._base, answers, [])
        return self._independent(causes) if len(causes) > 1 else []

    def _sufficient(
        self, where: Experimenter, answers: Sequence[Answer], before: list[Cause]
    ) -> list[Cause]:
        """Further causes without all of which nothing fails; the last of them is confirmed."""
        narrow = [one for one in answers if not one.is_wide]
        last = self._confirmed(where, answers, before) if before else None
        if last is not None and (where.explains(last.answer) or not last.answer.is_wide):
            return [last]
        # Runs without its order pass without its wide region: it may take in several causes.
        first = self._most_sparing(where, narrow)
        if first is None and last is None:
            first = self._most_sparing(where, [one for one in answers if one.is_wide])
        if first is not None and len(before) + 1 < MOST_CAUSES:
            found = [*before, first]
            rest = self._without(found)
            if rest is not None and rest.compared.runs:
                ranked = self._rank(rest.compared.comparison)
                if more := self._sufficient(rest, ranked, found):
                    return [first, *more]
        return [last] if last is not None else []

    def _most_sparing(self, where: Experimenter, answers: Sequence[Answer]) -> Cause | None:
        """The answer without which most failing runs pass, but not all of them.

        An order that spares all of them and was not confirmed is too wide, too.
        """
        best: tuple[int, Cause] | None = None
        for answer in answers[:CANDIDATES]:
            rules = tuple(where.forbidding_rules(answer))
            if not rules or len(where.trials.given) + len(rules) > MOST_GIVEN:
                continue
            spared = where.spared(rules, SPARED)
            most = min(SPARED, len(where.compared.runs))
            if (best[0] if best else 0) < spared < most:
                best = spared, Cause(answer, rules)
            if best is not None and best[0] > MANY * most:
                break
        return best[1] if best else None

    def _independent(self, causes: list[Cause]) -> list[Cause]:
        """The causes once each of them is confirmed without the others."""
        for _ in range(ROUNDS * len(causes)):
            if len(causes) < 2:
                break
            at = next((at for at in range(len(causes)) if not _is_confirmed(causes, at)), None)
            if at is None:
                return causes
            others = [*causes[:at], *causes[at + 1 :]]
            where = self._without(others)
            if where is None:
                return []
            if not where.compared.runs:
                causes = others
                continue
            ranked = self._rank(where.compared.comparison)
            found = self._confirmed(where, self._first(causes[at], where, ranked), others)
            if found is None:
                return []
            causes[at] = found
        return []

    def _first(
        self, cause: Cause, where: Experimenter, ranked: Sequence[Answer]
    ) -> Sequence[Answer]:
        """The cause, in terms of these runs, and what is ranked there."""
        same = [one for one in ranked if one.key == cause.answer.key]
        own = same[0] if same else where.located(cause.answer)
        return [*([own] if own else []), *(one for one in ranked if one not in same)]

    def _confirmed(
        self, where: Experimenter, answers: Sequence[Answer], others: Sequence[Cause]
    ) -> Cause | None:
        found = self._confirm(where, _by_promise(where, answers)) if answers else None
        if found is None:
            return None
        answer, verdict = found
        rules = tuple(where.forbidding_rules(answer))
        given = frozenset(one.answer.key for one in others)
        return Cause(answer, rules, verdict, where, given) if rules else None


class Remainder:
    """What fails without some causes: experiments where their orders cannot happen."""

    def __init__(self, base: Experimenter, interner: Interner, others: Collection[str]) -> None:
        self._base = base
        self._interner = interner
        self._others = others

    def without(self, causes: Sequence[Cause]) -> Experimenter | None:
        """Experiments with these forbidden, on no run if nothing fails; None if too few runs do."""
        rules = apart([cause.rules for cause in causes], FIRST_LOCK)
        if len(rules) > MOST_GIVEN:
            return None
        base, compared = self._base, self._base.compared
        base.trials.budget.doing("looking at what fails all the same")
        made = self._made(rules)
        failing = [(number, one) for number, one in made if base.shows(one)]
        if failing and len(failing) < LEAST:
            return None
        passing = [one.run for _, one in made if one.label == "pass" and one.run is not None]
        runs = (*compared.passed, *passing[:MOST_PASSING])
        rest = compare(
            compared.signature,
            compared.switch,
            [pair for number, one in failing if (pair := _pair(number, one))],
            [(run, self._interner.evidence(run)) for run in runs],
            self._interner,
        )
        trials = base.trials.under(rules)
        # All that is ranked is tested; there is no time to minimise what does not fail by itself.
        return Experimenter(trials, rest, self._interner, self._others, most_minimised=0)

    def _made(self, rules: Sequence[Rule]) -> list[tuple[int, Trial]]:
        """Trials under the rules, each with the number of the failing run that it repeats, or -1.

        Fresh ones only if too few of the failing runs still fail.
        """
        base = self._base
        numbers = [record.number for record in base.compared.records]
        plans = [base.schedule(at, rules=tuple(rules)) for at in range(len(numbers))]
        made = list(zip(numbers, base.trials.run(plans), strict=True))
        seed = f"{base.compared.signature}/without"
        fresh = fresh_plans(seed, FRESH, rules=tuple(rules))
        while fresh and sum(base.shows(one) for _, one in made) < ENOUGH:
            made += [(-1, one) for one in base.trials.run(fresh[:BATCH])]
            del fresh[:BATCH]
        return made


def _by_promise(where: Experimenter, answers: Sequence[Answer]) -> list[Answer]:
    """What all failing runs have comes first: one cause is left; of that what is about one cell."""
    return sorted(answers, key=lambda one: (not where.explains(one), one.is_wide))


def are_apart(causes: Sequence[Cause]) -> bool:
    """Whether no two of them have an access in common."""
    points = [line for one in causes for line in {line.point for line in one.answer.lines}]
    return len(points) == len(set(points))


def _is_confirmed(causes: Sequence[Cause], at: int) -> bool:
    """Whether a cause was confirmed without exactly those that are now the others."""
    others = {one.answer.key for index, one in enumerate(causes) if index != at}
    return causes[at].verdict is not None and causes[at].given == others


def _pair(number: int, trial: Trial) -> tuple[RunRecord, RunFile] | None:
    """A failing trial like a run of a campaign."""
    return (trial.record(number), trial.run) if trial.run is not None else None
