# SPDX-License-Identifier: Apache-2.0
"""What becomes of a program if one line comes before another: forced, or forbidden."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.errors import UsageError
from unsnarl.execution.budget import Budget
from unsnarl.execution.trials import Trial, fresh_plans
from unsnarl.experiments.arms import are_kept
from unsnarl.experiments.rules import MOST_EQUALS, MOST_RULES
from unsnarl.model.event import site_of
from unsnarl.model.plan import Match, Rule
from unsnarl.model.run import Switch
from unsnarl.placement.line_points import GateLines, Points
from unsnarl.replay.target_process import TargetProcess, start_target
from unsnarl.runfile import Interner, RunFile, SiteTable
from unsnarl.workflows.line_name import LineName

RUNS = 20
LOOKING = 6  # traced runs, to see where both lines are met


class PairArm(msgspec.Struct, frozen=True):
    """Some runs: how many failed, how, and in how many the order was as wanted."""

    runs: int
    failed: int
    kept: int
    signatures: dict[str, int]


class PairResult(msgspec.Struct, frozen=True):
    """Runs with an order of two lines enforced, and as many without."""

    first: str
    second: str
    enforced: PairArm
    free: PairArm


def order_lines(
    first: str,
    second: str,
    campaign: str = "",
    *,
    runs: int = RUNS,
    seconds: float = math.inf,
) -> PairResult:
    """Make threads wait before `second` until another thread has done `first`, in fresh runs.

    Where threads do both, each waits for each other one; if that is a circle, later ones wait for
    earlier ones only.

    Args:
        first: FILE:LINE, as reports print it; the end of the path will do.
        campaign: Whose program it is; the newest by default.
    """
    earlier, later = LineName.parse(first), LineName.parse(second)
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        with start_target(store, budget=Budget(seconds)) as process:
            switch = _switch(store)
            lines = _TracedLines(process, Path(store.description.root), switch)
            choices = _choices(lines.of(earlier), lines.of(later))
            enforced = _best(process, choices, runs, switch)
            free = process.trials.run(fresh_plans("pair", runs, switch=switch))
        return PairResult(first, second, _arm(enforced), _arm(free))
    finally:
        store.close()


def _switch(store: Store) -> Switch:
    """Where threads could be switched when it failed: elsewhere the order may not be possible."""
    failing = [one.record.switch for one in store.runs() if one.record.label != "pass"]
    return "free" if failing and "gil" not in failing else "gil"


class _Line(NamedTuple):
    """A line in terms of the gate, and the threads that came to it."""

    points: Points
    holds: Points
    paths: tuple[str, ...]


class _TracedLines:
    """Lines as some traced runs met them."""

    def __init__(self, process: TargetProcess, root: Path, switch: Switch) -> None:
        plans = fresh_plans("look", LOOKING, trace=True, switch=switch)
        self._runs = [one.run for one in process.trials.run(plans) if one.run is not None]
        self._table = SiteTable.load(process.codes, root)
        for run in self._runs:
            self._table.learn(run.codes)

    def of(self, name: LineName) -> _Line:
        """Raises UsageError for a line at which nothing shared is touched."""
        met = {pair for run in self._runs for pair in _met(run)}
        sites = {point: self._table.site(site_of(point)) for point, _ in met}
        own = {p for p, site in sites.items() if name.names(site.file, site.line)}
        if not own:
            hint = "lines that do are in the steps of a finding: unsnarl show"
            raise UsageError("bad-argument", f"no thread touches shared data at {name}", hint)
        longest = max(self._runs, key=lambda run: len(run.trace))
        holds = GateLines(longest, Interner(self._table), self._runs).holds(sorted(own))
        paths = sorted({path for point, path in met if point in own})
        return _Line(tuple(sorted(own)), holds, tuple(paths[:MOST_EQUALS]))


def _met(run: RunFile) -> set[tuple[int, str]]:
    """Points of a traced run, with who came there."""
    rows = np.unique(run.trace[["point", "thread"]]).tolist()
    return {(point, run.threads[thread].path) for point, thread in rows}


def _choices(first: _Line, second: _Line) -> list[tuple[Rule, ...]]:
    """The rules to try: the strongest first."""
    if not {*first.paths} & {*second.paths}:
        return [(Rule(hold=Match(second.holds), until=Match(first.points)),)]
    pairs = [(a, b) for a in first.paths for b in second.paths if a != b]
    if not pairs:
        text = "only one thread comes to these lines: their order is the program's"
        raise UsageError("bad-argument", text)
    every = {(a, b): _rule(first, second, a, b) for a, b in pairs}
    in_turn = {pair: rule for pair, rule in every.items() if pair[0] < pair[1]}
    return [tuple(rules.values()) for rules in (every, in_turn) if rules]


def _rule(first: _Line, second: _Line, earlier: str, later: str) -> Rule:
    return Rule(hold=Match(second.holds, path=later), until=Match(first.points, path=earlier))


def _best(
    process: TargetProcess, choices: Sequence[tuple[Rule, ...]], runs: int, switch: Switch
) -> Sequence[Trial]:
    """The runs under the first rules that can be kept at all, else under the last."""
    trials: Sequence[Trial] = ()
    for rules in choices:
        trials = process.trials.run(
            fresh_plans("pair", runs, rules=rules[:MOST_RULES], switch=switch)
        )
        if any(one.run is not None and _is_kept(one.run) for one in trials):
            break
    return trials


def _arm(trials: Sequence[Trial]) -> PairArm:
    failed = [one for one in trials if one.label != "pass"]
    kept = sum(one.run is not None and _is_kept(one.run) for one in trials)
    return PairArm(len(trials), len(failed), kept, dict(Counter(one.signature for one in failed)))


def _is_kept(run: RunFile) -> bool:
    return bool(run.rules) and are_kept(run.rules)
