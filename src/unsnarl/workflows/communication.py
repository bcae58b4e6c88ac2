# SPDX-License-Identifier: Apache-2.0
"""Baselines of communication: the graphs of a command's passing runs, joined, in one file.

Some runs are free, as the deployed program is, the others are under the gate, which brings about
interleavings that free runs rarely have. What a failing run did is left out.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unsnarl import config
from unsnarl.anomalies import baseline as baselines
from unsnarl.anomalies.baseline import GraphBaseline
from unsnarl.anomalies.observed import Reader, rows
from unsnarl.anomalies.points import AnchoredPoints
from unsnarl.anomalies.spool import write_whole
from unsnarl.campaigns.campaign import nothing_instrumented
from unsnarl.campaigns.stdin import keep_stdin
from unsnarl.campaigns.store import Store
from unsnarl.errors import ToolError, UsageError
from unsnarl.execution import target
from unsnarl.execution.result import Result
from unsnarl.execution.runner import Runner, started
from unsnarl.model.plan import Plan, Strategy
from unsnarl.runfile import SiteTable
from unsnarl.workflows.progress import OnWarning, ignore

STRATEGIES: tuple[Strategy, ...] = ("free", "walk", "pos", "pct")
AT_ONCE = 8


@dataclasses.dataclass(frozen=True)
class BaselineResult:
    """What was written.

    Attributes:
        edges: How many edges the file has, contexts distinguished.
        pairs: ... between how many pairs of points.
        new: How many of the edges were in none of the files that were joined.
        runs: How many runs were made,
        passing: ... and how many of them passed.
    """

    file: str
    digest: str
    edges: int
    pairs: int
    new: int
    runs: int
    passing: int


def write_baseline(
    command: tuple[str, ...],
    file: Path,
    *,
    joined: Sequence[Path] = (),
    runs: int = 200,
    flags: Mapping[str, Any] | None = None,
    on_warning: OnWarning = ignore,
) -> BaselineResult:
    """Collect the communication of a command's passing runs, join it with other baselines, write.

    Args:
        joined: Baselines that become part of it; with some of them `command` may be empty.
        flags: Settings by the names of `config.KEYS`, as for a hunt.
    """
    if not command and not joined:
        raise UsageError("command-missing", "there is nothing to run, and nothing to join")
    before = GraphBaseline()
    for one in joined:
        before = before.merged(baselines.load(one))
    collected = _Collector(command, flags or {}).collect(runs) if command else _Collected()
    if command and not collected.passing:
        raise ToolError(
            "no-passing-run", f"none of {collected.runs} runs passed: there is no baseline"
        )
    if collected.passing < collected.runs:
        failing = collected.runs - collected.passing
        on_warning("baseline-failing", f"{failing} of {collected.runs} runs failed; left out", "")
    found = before.merged(GraphBaseline(collected.edges))
    try:
        write_whole(file, found.encoded())
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {file}: {error.strerror}") from None
    pairs = {edge[:2] for edge in found.edges}
    new = len(found.edges) - len(before.edges)
    counts = (len(found.edges), len(pairs), new, collected.runs, collected.passing)
    return BaselineResult(str(file), found.digest, *counts)


@dataclasses.dataclass
class _Collected:
    edges: set[baselines.Edge] = dataclasses.field(default_factory=set)
    runs: int = 0
    passing: int = 0


class _Collector:
    """The runs of one command, and what those that pass have done."""

    def __init__(self, command: tuple[str, ...], flags: Mapping[str, Any]) -> None:
        cwd = Path.cwd()
        self._settings = config.load(config.find_root(cwd), os.environ, flags)
        found = target.parse(command, cwd, force_python=self._settings.force_python)
        options, python = dataclasses.asdict(self._settings), found.python.version
        self._store = Store.create(cwd, command, cwd, found.root, options=options, python=python)
        self._target = dataclasses.replace(found, stdin=keep_stdin(self._store.folder))
        self._points = AnchoredPoints()
        self._reader: Reader | None = None

    def collect(self, most: int) -> _Collected:
        """Make the runs, until the time is over."""
        found, limit = _Collected(), time.monotonic() + self._settings.time
        try:
            with started(self._target, self._store.folder, self._settings) as runner:
                for first in range(1, most + 1, AT_ONCE):
                    numbers = range(first, min(first + AT_ONCE, most + 1))
                    self._take(runner.run(self._plans(numbers)), found, runner)
                    if time.monotonic() >= limit:
                        break
        finally:
            self._store.close()
        return found

    def _plans(self, numbers: Iterable[int]) -> list[Plan]:
        return [
            Plan(
                number=number,
                seed=self._settings.seed + number,
                strategy=STRATEGIES[number % len(STRATEGIES)],
                switch="free" if self._target.kind == "program" else "gil",
                timeout=self._settings.timeout,
                file=str(self._store.run_file(number)),
                output=str(self._store.output_file(number)),
            )
            for number in numbers
        ]

    def _take(self, results: Iterable[Result], found: _Collected, runner: Runner) -> None:
        for result in results:
            found.runs += 1
            if result.label == "pass" and result.run is not None:
                if self._reader is None:
                    if not runner.ready.modules and not result.run.notes.codes:
                        raise nothing_instrumented(self._target.root)
                    root = Path(self._target.root)
                    table = SiteTable.load(self._store.codes, root)
                    self._reader = Reader(table, root, self._points)
                edges = self._reader.edges(result.run)
                found.edges.update(edge for edge, _ in rows(edges, self._points))
                found.passing += 1
            self._store.run_file(result.plan.number).unlink(missing_ok=True)
