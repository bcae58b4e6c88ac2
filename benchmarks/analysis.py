# SPDX-License-Identifier: Apache-2.0
"""Analysis of large runs: seconds and memory for 10, 50 and 250 runs of 100,000 edges each.

The runs are made up. `usual`: 60 % of the edges are in every run, the others are the same pairs of
points in contexts of their own. Harder: `equal`, all runs have the same edges, so that nothing
distinguishes them; `distinct`, no edge is in two runs. Times between source and sink are spread
over all orders of magnitude, so that some bodies are as long as the run.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.figures import Figure, median
from unsnarl.analyses.answer import Answer
from unsnarl.analyses.recon.answers import answers
from unsnarl.model.evidence import Comparison, Evidence, PointTable
from unsnarl.model.graph import EDGE, Graph

EDGES = 100_000
SIZES = (10, 50, 250)
BAR_RUNS, BAR_SECONDS, BAR_GROWTH = 50, 5.0, 2.0
SHARED = 0.6
POINTS, PAIRS, CONTEXTS = 3000, 20_000, 1024
THREADS, CELLS = 8, 5000
LOCKS = 0.2  # of the points
KEY = ("source_point", "sink_point", "source_context", "sink_context")
BUG = (7, 11, 3, 5)  # an edge that only failing runs have

Columns = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Measured:
    """What one analysis took."""

    seconds: list[float]
    cpu: list[float]
    memory: int


def figures(quick: bool) -> Iterator[Figure]:
    """Seconds and bytes per edge, and how both grow with the runs."""
    sizes, rounds = (SIZES[:2], 2) if quick else (SIZES, 3)
    measured = {}
    for runs in sizes:
        measured[runs] = _alone("usual", runs, rounds if runs <= BAR_RUNS else 1)
        yield _seconds(f"{runs} runs", measured[runs], BAR_SECONDS if runs == BAR_RUNS else None)
        yield _memory(runs, measured[runs])
    yield _growth("CPU time per run", sizes, {n: min(one.cpu) for n, one in measured.items()})
    yield _growth("memory per run", sizes, {n: one.memory for n, one in measured.items()})
    if not quick:
        for shape in ("equal", "distinct"):
            yield _seconds(f"{BAR_RUNS} {shape} runs", _alone(shape, BAR_RUNS, rounds), None)


def _alone(shape: str, runs: int, rounds: int) -> Measured:
    """Measured in a process of its own, so that peaks are not those of another size."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure, shape, runs, rounds).result()


def measure(shape: str, runs: int, rounds: int, edges: int = EDGES) -> Measured:
    """Analyses such runs some times; the memory is what it takes in addition to the runs."""
    compared = comparison(shape, runs, edges)
    before = _peak()
    seconds, cpu = [], []
    for _ in range(rounds):
        start, busy = time.perf_counter(), time.process_time()
        found = answers(compared)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    # Times are random: with fewer runs, chance makes other edges look as consistent.
    if shape == "usual" and runs >= BAR_RUNS and not _tells_the_bug(found[0]):
        raise RuntimeError("the edge that only failing runs have is not the first answer")
    return Measured(seconds, cpu, _peak() - before)


def _tells_the_bug(answer: Answer) -> bool:
    return {line.point for line in answer.lines if line.is_end} == set(BUG[:2])


def comparison(shape: str, runs: int, edges: int = EDGES) -> Comparison:
    """Half of the runs fail."""
    rng = np.random.default_rng(1)
    common = _edges(rng, edges, rng.integers(0, POINTS, (2, PAIRS)))
    made = [_run(rng, shape, common, failing=number < runs // 2) for number in range(runs)]
    points = np.arange(POINTS)
    sync = rng.random(POINTS) < LOCKS
    sync[list(BUG[:2])] = False
    where = PointTable(sync, points, points, points, points.astype(np.uint32))
    return Comparison(tuple(made[: runs // 2]), tuple(made[runs // 2 :]), where)


def _edges(rng: np.random.Generator, count: int, pairs: Columns) -> Columns:
    """Edges between some pairs of points: a few pairs are frequent, most are rare."""
    chosen = np.minimum(rng.zipf(1.3, count), pairs.shape[1]) - 1
    return np.concatenate((pairs[:, chosen], rng.integers(0, CONTEXTS, (2, count))))


def _run(rng: np.random.Generator, shape: str, common: Columns, *, failing: bool) -> Evidence:
    columns = common.copy()
    if shape == "distinct":
        columns[:2] = rng.integers(0, POINTS, columns[:2].shape)
    if shape != "equal":
        own = int(SHARED * columns.shape[1]) if shape == "usual" else 0
        columns[2:, own:] = rng.integers(0, CONTEXTS, columns[2:, own:].shape)
        if failing:
            columns[:, -1] = BUG
    _, first = np.unique(_packed(columns), return_index=True)
    return Evidence(_graph(rng, columns[:, rng.permutation(first)]))


def _packed(columns: Columns) -> Columns:
    source, sink, source_context, sink_context = columns
    packed: Columns = (
        (source * POINTS + sink) * CONTEXTS + source_context
    ) * CONTEXTS + sink_context
    return packed


def _graph(rng: np.random.Generator, columns: Columns) -> Graph:
    count = columns.shape[1]
    edges = np.zeros(count, dtype=EDGE)
    for name, column in zip(KEY, columns, strict=True):
        edges[name] = column
    span = 8 * count
    sources = rng.integers(0, span, count)
    sinks = sources + 1 + np.exp(rng.uniform(0, np.log(span), count)).astype(np.int64)
    for end, moments in (("source", sources), ("sink", sinks)):
        edges[f"{end}_time"] = moments
        edges[f"{end}_thread"] = moments * 2654435761 % 2**32 % THREADS  # one thread a moment
    edges["cell"] = columns[0] * 7919 % CELLS
    edges["count"] = 1
    return Graph(edges)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _seconds(what: str, measured: Measured, bar: float | None) -> Figure:
    # One thread does it all: on an idle machine its CPU time is the wall time.
    name, more = f"analysis: {what} of {EDGES} edges", {"cpu": measured.cpu}
    return median(name, measured.seconds, unit="s", bar=bar, details=more)


def _memory(runs: int, measured: Measured) -> Figure:
    per_edge = measured.memory / (runs * EDGES)
    name = f"analysis: {runs} runs, further memory, per edge"
    return Figure(name, per_edge, per_edge, per_edge, unit="bytes")


def _growth(what: str, sizes: tuple[int, ...], values: dict[int, float]) -> Figure:
    few, many = sizes[0], sizes[-1]
    ratio = (values[many] / many) / (values[few] / few)
    name = f"analysis: {what}, {many} runs against {few}"
    return Figure(name, ratio, ratio, ratio, bar=BAR_GROWTH, details={"values": values})
