# SPDX-License-Identifier: Apache-2.0
"""Growth: time per run of the analysis as campaigns get larger."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure
from benchmarks.hunting import bugs, copy_of, hunt
from unsnarl.analyses.recon import rank
from unsnarl.model.graph import EDGE, Graph
from unsnarl.workflows.campaign_report import rank_anew

BUG = "weblech"
EDGES = 600
POINTS = 200
CONTEXTS = 64
SIZES = (10, 50, 250)


def figures(quick: bool) -> Iterator[Figure]:
    """Campaigns on disk, then Recon's ranking alone."""
    few, many = (40, 400) if quick else (200, 2000)
    rounds = 2 if quick else 3
    yield _campaigns(few, many, rounds)
    yield from _rankings(rounds)


def _campaigns(few: int, many: int, rounds: int) -> Figure:
    (bug,) = (one for one in bugs() if one.name == BUG)
    with copy_of(bug) as folder:
        campaigns = {runs: _collect(folder, bug.command, runs) for runs in (few, many)}
        with chdir(folder):
            rank_anew(campaigns[few])  # loads what is loaded late
            times = {
                runs: [_cpu(lambda name=name: rank_anew(name)) / runs for _ in range(rounds)]
                for runs, name in campaigns.items()
            }
    return _growth(f"growth: analysis, {many} runs against {few}, per run", times, 2.0)


def _collect(folder: Path, command: list[str], runs: int) -> str:
    """A campaign with so many run files, half of them of failing runs."""
    half = str(runs // 2)
    options = ("--fail", half, "--pass", half, "--max-runs", str(8 * runs), "--time", "300")
    found = hunt(folder, command, *options)
    counts = found.json["runs"]
    if min(counts["pass"], counts["fail"]) < runs // 2:
        raise RuntimeError(f"{BUG} gave only {counts}")
    return found.folder.name


def _rankings(rounds: int) -> Iterator[Figure]:
    generator = np.random.default_rng(1)
    runs = [_graph(generator) for _ in range(2 * max(SIZES))]
    times = {}
    for size in SIZES:
        failing, passing = runs[:size], runs[-size:]
        times[size] = [_cpu(lambda f=failing, p=passing: rank(f, p)) / size for _ in range(rounds)]
    for size in SIZES:
        milliseconds = [1000 * sample for sample in times[size]]
        yield Figure(
            f"growth: ranking of {size}+{size} synthetic runs, per run",
            statistics.median(milliseconds),
            min(milliseconds),
            max(milliseconds),
            unit="ms",
        )
    ends = {size: times[size] for size in (SIZES[0], SIZES[-1])}
    yield _growth(f"growth: ranking, {SIZES[-1]} runs against {SIZES[0]}, per run", ends, 2.0)


def _graph(generator: np.random.Generator) -> Graph:
    """A run of edges that have something in common with other runs: low points are frequent."""
    points = np.minimum(generator.geometric(4 / POINTS, (2, EDGES)), POINTS) - 1
    contexts = generator.integers(0, CONTEXTS, (2, EDGES))
    keys = np.unique(np.stack([*points, *contexts]), axis=1)
    times = np.sort(generator.permutation(4 * EDGES)[: 2 * keys.shape[1]].reshape(2, -1), axis=0)
    edges = np.zeros(keys.shape[1], dtype=EDGE)
    edges["source_point"], edges["sink_point"] = keys[0], keys[1]
    edges["source_context"], edges["sink_context"] = keys[2], keys[3]
    edges["source_time"], edges["sink_time"] = times
    edges["sink_thread"] = 1
    edges["cell"] = keys[0]
    edges["count"] = 1
    return Graph(edges)


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _growth(name: str, times: dict[int, list[float]], bar: float) -> Figure:
    (_, small), (_, large) = sorted(times.items())
    return Figure(
        name,
        statistics.median(large) / statistics.median(small),
        min(large) / max(small),
        max(large) / min(small),
        bar=bar,
        details={str(size): samples for size, samples in times.items()},
    )
