# SPDX-License-Identifier: Apache-2.0
"""What must not convince: decoys that are no causes, and regions that are no fixes.

Easy decoys are planted: communication that failing and passing runs have alike, away from the
cause. Hard ones are the ranking's own wrong answers: they are in the failing runs and not in the
passing ones, and still no order of the cause is in them. Some are the cause in other words, or more
than it: such an answer is proved as if it were the only one, and what counts is whether that which
a report would then show is the cause. Wrong regions are planted too: elsewhere in the program, and
from after the first access on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evaluation.cases import Points, unnamed_point
from evaluation.draws import kept
from evaluation.truth import Bug, Cause, judge
from unsnarl import config
from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.methods import rank_with
from unsnarl.analyses.stuck import Stuck, stuck_answer
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.comparisons import Compared
from unsnarl.campaigns.store import Store
from unsnarl.execution import target
from unsnarl.execution.runner import Runner, started
from unsnarl.execution.trials import Trials
from unsnarl.experiments.confirm import Experimenter
from unsnarl.experiments.fix import Fixer, TriedFix
from unsnarl.experiments.prove import Kind, Proven, Prover
from unsnarl.model.event import Event
from unsnarl.model.plan import Match, Rule
from unsnarl.model.report import FindingPoint
from unsnarl.placement.code_context import CodeContext
from unsnarl.placement.line_points import NOWHERE, is_placeable
from unsnarl.reports.facts import FailingRun
from unsnarl.runfile import Interner

MOST = 2
MOST_WRONG = 3
CAUSE = "the cause"  # what a wrong answer turned out to be when it was proved
FEW = 25  # runs that certify a fix: it is only to be had here


class Challenged(NamedTuple):
    """What experiments say of decoys and wrong answers; wrong regions rejected, of all."""

    decoys: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    rejected: int = 0
    planted: int = 0


def challenge(bug: Bug, cause: Cause, folder: Path) -> Challenged:
    """Put decoys and wrong regions to the experiments; `folder` is where the bug was hunted."""
    store = Store.open(stores.find(folder, ""))
    settings = config.override(store.description.options, {})
    found = target.parse(store.description.command, Path(store.description.cwd))
    try:
        with (
            kept(folder) as comparisons,
            started(found, store.folder, settings) as runner,
        ):
            for one in comparisons.all():
                if bug.cause_of(one.signature) == cause:
                    trials = Trials(runner, store.folder, one.switch, settings.timeout)
                    prover = alone(runner, store, settings)
                    return _challenged(trials, prover, one, comparisons.interner, bug)
    finally:
        store.close()
    return Challenged()


def alone(runner: Runner, store: Store, settings: config.Settings) -> Prover:
    """What proves a single answer as a hunt does, without a fix and without a limit of time."""
    kinds: tuple[Kind, ...] = ("confirm", "minimise")
    return Prover(runner, store.folder, settings.timeout, findings=1, kinds=kinds)


def _challenged(
    trials: Trials, prover: Prover, compared: Compared, interner: Interner, bug: Bug
) -> Challenged:
    experimenter = Experimenter(trials, compared, interner)
    cause = bug.cause_of(compared.signature)
    assert cause is not None
    verdicts = [experimenter.test(answer) for answer in decoys(compared, interner, cause)]
    fixer = Fixer(trials, compared, interner)
    ranked = _ranked(compared, interner)
    fix = fixer.fix(ranked[0], FEW) if ranked else None
    regions = list(wrong_regions(fix)) if fix else []
    apart = [fixer.screen(replace(fix.candidate, rules=(rule,))).bad for rule in regions if fix]
    wrong = wrong_answers(ranked, interner, bug)
    return Challenged(
        tuple(verdict.status if verdict else "untested" for verdict in verdicts),
        tuple(proved_alone(prover, compared, interner, bug, one) for one in wrong),
        sum(map(bool, apart)),
        len(apart),
    )


def _ranked(compared: Compared, interner: Interner) -> list[Answer]:
    """What a hunt would test and repair; of a deadlock it is no guess who waits."""
    waits = [FailingRun.of(run, interner) for run in compared.runs]
    ends = [Stuck(run.graph, run.waits) for run in waits]
    stuck = stuck_answer(ends, interner.point, "joined", 0)
    ranked = rank_with("joined", compared.comparison)
    return ranked if stuck is None else [stuck, *ranked]


def wrong_answers(ranked: Sequence[Answer], interner: Interner, bug: Bug) -> list[Answer]:
    """The first answers that have no conflict of any cause in them."""
    wrong = (
        answer
        for answer in ranked
        if not answer.is_stuck
        and is_placeable(answer, interner)
        and not any(
            has_conflict(cause, ranked_points(answer, interner), bug) for cause in bug.causes
        )
    )
    return list(islice(wrong, MOST_WRONG))


def has_conflict(cause: Cause, points: Sequence[FindingPoint], bug: Bug) -> bool:
    """Whether points have two of the cause, one after the other, in two threads as there."""
    pairs = [pair for pair in pairwise(cause.points) if pair[0].role != pair[1].role]
    parts = [Cause(cause.signature, pair) for pair in pairs] or [cause]
    return any(judge(part, points, bug.folder).matches for part in parts)


def proved_alone(
    prover: Prover, compared: Compared, interner: Interner, bug: Bug, answer: Answer
) -> str:
    """The status of an answer if it were the only one; CAUSE if a conflict of that is shown."""
    first = prover.prove(compared, [answer], interner).answers[0]
    if not first.is_confirmed:
        return first.status
    cause = bug.cause_of(compared.signature)
    shown = (ranked_points(first.answer, interner), _proved_points(first, interner))
    is_cause = cause and any(has_conflict(cause, points, bug) for points in shown)
    return CAUSE if is_cause else first.status


def ranked_points(answer: Answer, interner: Interner) -> Points:
    """The lines of an answer as points of a finding."""
    return tuple(
        unnamed_point(interner, line.point, line.region, line.role, line.time)
        for line in answer.lines
    )


def _proved_points(proven: Proven, interner: Interner) -> Points:
    """The steps of its proof, in the order of time; threads are their own roles."""
    if proven.proof is None:
        return ()
    run, events = proven.proof.minimal.run, proven.proof.failing.events
    indexes = interner.indexes(np.array([one.point for one in events], dtype=np.uint32), run)
    paths = sorted({one.path for one in events})
    return tuple(
        unnamed_point(interner, int(index), role=paths.index(one.path) + 1, time=float(at))
        for at, (index, one) in enumerate(zip(indexes, events, strict=True))
    )


def wrong_regions(fix: TriedFix) -> Iterator[Rule]:
    """Regions that do not have the first access of the placement in them."""
    placement, context = fix.placement, fix.placement.context
    about = {context.code(line.event.point) for line in placement.lines}
    if fix.candidate.span is not None:
        about.add(fix.candidate.span.code)
    pairs = [
        (one, other)
        for one, other in _neighbours(context.events)
        if context.code(one.point) == context.code(other.point) not in {*about, NOWHERE}
    ]
    regions = (_region(context, one.point, other.point) for one, other in pairs)
    yield from islice(filter(None, regions), MOST)
    mine = placement.of(placement.returning) if placement.returning is not None else []
    if mine:
        yield from _late(mine[0].event, mine[-1].event, context)


def _neighbours(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """What a started thread did, and what it did next: nothing else is in a region of these."""
    last: dict[str, Event] = {}
    for event in events:
        if event.path in last and event.path != "0":
            yield last[event.path], event
        last[event.path] = event


def _late(first: Event, last: Event, context: CodeContext) -> Iterator[Rule]:
    """From where the last access begins: only if somebody can come between the first and that."""
    heads = context.stops_before(last.point)
    between = [one for one in context.events[first.at + 1 : last.at] if one.path == first.path]
    starts = [event.point for event in between if event.point in heads]
    region = _region(context, starts[-1], last.point) if starts else None
    if region is not None:
        yield region


def _region(context: CodeContext, begin: int, end: int) -> Rule | None:
    """None if it would be entered where it ends: then it would last until the next time."""
    entries = context.entries((begin,), lifted=False)
    if end in entries:
        return None
    code = context.code(begin)
    return Rule(
        when=Match(entries),
        until=Match((end,)),
        exclusive=0,
        leave=code if code == context.code(end) else None,
    )


def decoys(compared: Compared, interner: Interner, cause: Cause) -> list[Answer]:
    """The most frequent edges, away from the functions of the cause if there are such."""
    functions = {point.function for point in cause.points}
    edges = _common(compared, interner)
    away = [pair for pair in edges if not _functions(pair, interner) & functions]
    return [_answer(pair, compared) for pair in (away or edges)[:MOST]]


def _functions(pair: tuple[int, int], interner: Interner) -> set[str]:
    return {interner.point(index).site.function for index in pair}


def _common(compared: Compared, interner: Interner) -> list[tuple[int, int]]:
    """Edges between two data points that all failing and many passing runs have."""
    failing, passing = compared.comparison.failing, compared.comparison.passing
    count = Counter(pair for one in passing for pair in _pairs(one.graph.edges))
    sync = interner.sync_mask()
    shared = set.intersection(*(set(_pairs(one.graph.edges)) for one in failing))
    data = [pair for pair in shared if not sync[list(pair)].any()]
    return sorted(data, key=lambda pair: (-count[pair], pair))


def _pairs(edges: np.ndarray) -> Iterator[tuple[int, int]]:
    between = edges[edges["source_thread"] != edges["sink_thread"]]
    yield from zip(between["source_point"].tolist(), between["sink_point"].tolist(), strict=True)


def _answer(pair: Sequence[int], compared: Compared) -> Answer:
    first, last = (
        Line(point, region, role, 1.0, float(role), 0.0, 1.0, role - 1)
        for point, region, role in ((pair[0], "source", 1), (pair[1], "sink", 2))
    )
    runs = tuple(range(len(compared.runs)))
    return Answer("decoy", 0.0, {}, (first, last), runs, len(compared.comparison.passing), {})
