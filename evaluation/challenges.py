# SPDX-License-Identifier: Apache-2.0
"""What must not convince: decoys that are no causes, and regions that are no fixes.

The ranking's own wrong answers are often the true cause in other words (the lock around it, say).
So decoys are planted: communication that failing and passing runs have alike, away from the cause.
Wrong regions are planted too: elsewhere in the program, and from after the first access on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evaluation.draws import kept
from evaluation.truth import Bug, Cause
from unsnarl import config
from unsnarl.analyses.answer import Answer, Line
from unsnarl.analyses.methods import rank_with
from unsnarl.analyses.stuck import Stuck, stuck_answer
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.comparisons import Compared
from unsnarl.campaigns.store import Store
from unsnarl.execution import target
from unsnarl.execution.runner import started
from unsnarl.execution.trials import Trials
from unsnarl.experiments.confirm import Experimenter
from unsnarl.experiments.fix import Fixer, TriedFix
from unsnarl.model.event import Event
from unsnarl.model.plan import Match, Rule
from unsnarl.placement.code_context import CodeContext
from unsnarl.placement.line_points import NOWHERE
from unsnarl.reports.facts import FailingRun
from unsnarl.runfile import Interner

MOST = 2
FEW = 25  # runs that certify a fix: it is only to be had here


class Challenged(NamedTuple):
    """What experiments say of the decoys, and how many wrong regions were told apart, of all."""

    decoys: tuple[str, ...] = ()
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
                    return _challenged(trials, one, comparisons.interner, cause)
    finally:
        store.close()
    return Challenged()


def _challenged(trials: Trials, compared: Compared, interner: Interner, cause: Cause) -> Challenged:
    experimenter = Experimenter(trials, compared, interner)
    verdicts = [experimenter.test(answer) for answer in decoys(compared, interner, cause)]
    fixer = Fixer(trials, compared, interner)
    answer = _first(compared, interner)
    fix = fixer.fix(answer, FEW) if answer else None
    regions = list(wrong_regions(fix)) if fix else []
    apart = [fixer.screen(replace(fix.candidate, rules=(rule,))).bad for rule in regions if fix]
    statuses = tuple(verdict.status if verdict else "untested" for verdict in verdicts)
    return Challenged(statuses, sum(map(bool, apart)), len(apart))


def _first(compared: Compared, interner: Interner) -> Answer | None:
    """What a hunt would mend."""
    waits = [FailingRun.of(run, interner) for run in compared.runs]
    ends = [Stuck(run.graph, run.waits) for run in waits]
    stuck = stuck_answer(ends, interner.point, "joined", 0)
    ranked = rank_with("joined", compared.comparison) if stuck is None else [stuck]
    return next(iter(ranked), None)


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
