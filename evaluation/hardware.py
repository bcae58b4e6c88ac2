# SPDX-License-Identifier: Apache-2.0
"""Bugaboo's hardware on the zoo: `python -m evaluation.hardware`, which writes docs/hardware.md.

    python -m evaluation.hardware [--only NAME ...] [--draws N] [--all] [--show]

A hunt of each bug keeps the trace of every run that it keeps, on the paper's own kind of graph (no
edges from reads). The same traces then go through the tracker with cells, through the tracker with
cache lines, and through the simulated hardware: three graphs of the very same runs. By default the
bugs that the paper has, in C and in Python; `--all` takes the whole zoo. Results are kept in the
environment: with `--only` the others stay as they are, and `--show` measures nothing.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from evaluation import hardware_page
from evaluation.bugaboo_tables import unlabelled_trial
from evaluation.cases import Case
from evaluation.draws import REPOSITORY, ZOO, ZOO_C, hunted
from evaluation.hardware_kernels import kernels
from evaluation.hardware_results import (
    GRAPHS,
    HARDWARE,
    WORDS,
    CaseResult,
    HardwareDraw,
    KernelResult,
    Seen,
)
from evaluation.inspections import inspections
from evaluation.measure import ONE_BY_ONE, cases
from evaluation.papers import BUGABOO_2
from evaluation.truth import Bug, load_zoo
from unsnarl.analyses.bugaboo import BugabooOptions, ranking
from unsnarl.campaigns.swallowed import cut_off
from unsnarl.model.access_trace import TrackerOptions
from unsnarl.model.evidence import Comparison, Evidence
from unsnarl.model.graph import Edges
from unsnarl.runfile import RunFile
from unsnarl.traces import offline
from unsnarl.traces.files import Trace, path_of
from unsnarl.traces.hardware import HardwareCounts, HardwareMachine, simulate
from unsnarl.workflows.simulate_hw import GraphSize, graph_size, listed_only

HOME = Path(sys.prefix) / "hardware"
PAGE = REPOSITORY / "docs" / "hardware.md"
# The papers' graph: sources are writes.
PAPERS = TrackerOptions(anti_edges=False, own_reads=False)
OPTIONS = ("--accesses", "--no-anti-edges", "--no-own-reads", *ONE_BY_ONE)
SIZES = (0, 5)


class Made(NamedTuple):
    """The graph that one way makes of a trace."""

    edges: Edges
    counts: HardwareCounts = HardwareCounts()


def _words(trace: Trace) -> Made:
    return Made(offline.track(trace, PAPERS).edges)


def _lines(trace: Trace) -> Made:
    return Made(offline.track(trace, PAPERS, offline.LINES).edges)


def _hardware(trace: Trace) -> Made:
    return Made(*simulate(trace))


def _quiet(trace: Trace) -> Made:
    return Made(*simulate(trace, HardwareMachine(quiet_locks=True)))


WAYS: dict[str, Callable[[Trace], Made]] = dict(
    zip(GRAPHS, (_words, _lines, _hardware, _quiet), strict=True)
)


class Remade(NamedTuple):
    """A case with other graphs of the same runs."""

    case: Case
    counts: HardwareCounts


def remade(case: Case, way: Callable[[Trace], Made]) -> Remade:
    """The case as it would be, had its runs been collected in another way."""
    counts = HardwareCounts()

    def evidence(one: Evidence, run: RunFile) -> Evidence:
        nonlocal counts
        made = way(Trace(path_of(run.path)))
        counts = counts.plus(made.counts)
        graph = case.interner.graph(run, made.edges)
        return cut_off(Evidence(graph, counts=one.counts), run.ends)

    compared, comparison = case.compared, case.comparison
    failing, passing = (
        tuple(evidence(one, run) for one, run in zip(some, runs, strict=True))
        for some, runs in (
            (comparison.failing, compared.runs),
            (comparison.passing, compared.passed),
        )
    )
    # Made last: graphs may have code points that the others have not.
    whole = Comparison(failing, passing, case.interner.point_table())
    return Remade(replace(case, compared=replace(compared, comparison=whole)), counts)


def measure(bug: Bug, seed: int) -> HardwareDraw:
    """One hunt of a bug, and its traces by all ways."""
    options = ("--seed", str(seed), "--switch", bug.switch, *OPTIONS)
    try:
        with hunted(bug.folder, bug.command, *options) as done:
            found = [_measured(case) for case in cases(bug, seed, done) if case]
        return HardwareDraw(bug.name, bug.language, seed, tuple(found))
    except Exception:  # what breaks one draw off must not cost the others theirs
        return HardwareDraw(bug.name, bug.language, seed, (), traceback.format_exc())


def _measured(case: Case) -> CaseResult:
    found = {name: remade(case, way) for name, way in WAYS.items()}
    points = {name: _communicating(one.case) for name, one in found.items()}
    exact = points[WORDS]
    return CaseResult(
        failing=len(case.comparison.failing),
        passing=len(case.comparison.passing),
        labelled={name: _inspected(one.case, labelled=True) for name, one in found.items()},
        unlabelled={name: _inspected(one.case, labelled=False) for name, one in found.items()},
        code_points=len(exact),
        missing={name: len(exact - some) for name, some in points.items()},
        counts=found[HARDWARE].counts,
        plain=_size(found[HARDWARE].case, 0),
        with_context=_size(found[HARDWARE].case, 5),
    )


def _inspected(case: Case, *, labelled: bool) -> dict[int, Seen | None]:
    """By the size of contexts."""
    runs = case.comparison if labelled else unlabelled_trial(case)
    found: dict[int, Seen | None] = {}
    for size in SIZES:
        options = BugabooOptions(labelled=labelled, context_size=size)
        ranked = listed_only(ranking(runs, options), case.interner)
        counted = inspections(ranked, case.is_bug_site)
        found[size] = Seen(counted.points, counted.functions) if counted else None
    return found


def _communicating(case: Case) -> set[int]:
    """The code points at both ends of edges; memory communicates with nobody."""
    sites, unknown = case.comparison.points.site, case.interner.unknown_site
    found: set[int] = set()
    for run in (*case.comparison.failing, *case.comparison.passing):
        edges = run.graph.edges
        edges = edges[sites[edges["source_point"]] != unknown]
        for end in ("source_point", "sink_point"):
            found.update(sites[edges[end]].tolist())
    return found - {unknown}


def _size(case: Case, size: int) -> GraphSize:
    return graph_size(case.comparison, case.interner, size)


def bugs(*, every: bool) -> Iterator[Bug]:
    """Those of the paper, in C first, or all."""
    for root in (ZOO_C, ZOO):
        yield from (bug for bug in load_zoo(root) if every or bug.name in BUGABOO_2)


def main(arguments: list[str] | None = None) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="evaluation.hardware")
    parser.add_argument("--only", nargs="*", default=(), metavar="NAME")
    parser.add_argument("--draws", type=int, default=1, metavar="N")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE")
    options = parser.parse_args(arguments)

    def wanted(name: str) -> bool:
        return not options.show and (not options.only or name in options.only)

    for bug in bugs(every=options.all):
        for seed in range(options.draws) if wanted(bug.name) else ():
            _keep(f"{bug.language}-{bug.name}-{seed}", measure(bug, seed))
    if wanted("kernels"):
        for kernel in kernels():
            _keep(f"kernel-{kernel.name}", kernel)
    draws = [
        msgspec.json.decode(path.read_bytes(), type=HardwareDraw)
        for path in sorted(HOME.glob("*.json"))
        if not path.name.startswith("kernel-")
    ]
    programs = [
        msgspec.json.decode(path.read_bytes(), type=KernelResult)
        for path in sorted(HOME.glob("kernel-*.json"))
    ]
    page = hardware_page.page(draws, programs)
    options.page.write_text(page.text)
    print(*page.bars, sep="\n")
    return 0


def _keep(name: str, result: object) -> None:
    print(name, result, flush=True)
    HOME.mkdir(parents=True, exist_ok=True)
    (HOME / f"{name}.json").write_bytes(msgspec.json.encode(result))


if __name__ == "__main__":
    sys.exit(main())
