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
from unsnarl.campaigns import target
from unsnarl.campaigns.comparisons import Compared
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.campaigns.store import Store
from unsnarl.experiments.confirm import Experimenter
from unsnarl.experiments.fix import Fix, Fixer
from unsnarl.experiments.ground import NOWHERE, Ground, Step
from unsnarl.experiments.rules import Rule
from unsnarl.experiments.trials import Trials
from unsnarl.reports.facts import FailingRun
from unsnarl.runfile import Interner

MOST = 2
FEW = 25  # runs that certify a fix: it is only to be had here


class Challenged(NamedTuple):
    """What experiments say of the decoys, and how many wrong regions were told apart, of all."""

    decoys: tuple[str, ...] = ()
    told_apart: int = 0
    planted: int = 0


def challenge(bug: Bug, cause: Cause, folder: Path) -> Challenged:
    """Put decoys and wrong regions to the experiments; `folder` is where the bug was hunted."""
    store = Store.open(stores.find(folder, ""))
    settings = config.override(store.description.options, {})
    found = target.parse(store.description.command, Path(store.description.cwd))
    try:
        with (
            kept(folder) as comparisons,
            Engine(found, store.folder, settings.jobs, settings.include) as engine,
        ):
            judge = Judge(found.root, store.folder / "codes.json", settings.fail_if)
            for one in comparisons.all():
                if bug.cause_of(one.signature) == cause:
                    trials = Trials(engine, judge, store.folder, one.switch, settings.timeout)
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


def wrong_regions(fix: Fix) -> Iterator[Rule]:
    """Regions that do not have the first access of the story in them."""
    story, ground = fix.story, fix.story.ground
    about = {ground.code(part.step.point) for part in story.parts}
    if fix.candidate.span is not None:
        about.add(fix.candidate.span.code)
    pairs = [
        (one, other)
        for one, other in _neighbours(ground.steps)
        if ground.code(one.point) == ground.code(other.point) not in {*about, NOWHERE}
    ]
    regions = (_region(ground, one.point, other.point) for one, other in pairs)
    yield from islice(filter(None, regions), MOST)
    mine = story.of(story.returning) if story.returning is not None else []
    if mine:
        yield from _late(mine[0].step, mine[-1].step, ground)


def _neighbours(steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """What a started thread did, and what it did next: nothing else is in a region of these."""
    last: dict[str, Step] = {}
    for step in steps:
        if step.path in last and step.path != "0":
            yield last[step.path], step
        last[step.path] = step


def _late(first: Step, last: Step, ground: Ground) -> Iterator[Rule]:
    """From where the last access begins: only if somebody can come between the first and that."""
    heads = ground.heads(last.point)
    between = [step for step in ground.steps[first.at + 1 : last.at] if step.path == first.path]
    starts = [step.point for step in between if step.point in heads]
    region = _region(ground, starts[-1], last.point) if starts else None
    if region is not None:
        yield region


def _region(ground: Ground, begin: int, end: int) -> Rule | None:
    """None if it would be entered where it ends: then it would last until the next time."""
    entries = ground.entries((begin,), lifted=False)
    if end in entries:
        return None
    rule: Rule = {"when": {"points": list(entries)}, "until": {"points": [end]}, "exclusive": 0}
    code = ground.code(begin)
    return {**rule, "leave": list(code)} if code == ground.code(end) else rule


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
