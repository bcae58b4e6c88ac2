# SPDX-License-Identifier: Apache-2.0
"""Longer programs for tables 3 and 5 of Bugaboo: the benchmarks' kernels, recorded once each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from benchmarks.programs import Build, Program, workshop

from evaluation.hardware_results import GRAPHS, KernelResult
from unsnarl.model.access_trace import TrackerOptions
from unsnarl.model.graph import Edges, context_mask
from unsnarl.traces import offline
from unsnarl.traces.files import Trace, gather
from unsnarl.traces.hardware import NOWHERE, HardwareMachine, simulate
from unsnarl.workflows.simulate_hw import GraphSize

# Sizes that make some hundred thousand to a few million accesses; which of the paper's programs
# does work of the same kind.
KERNELS = {
    "options": (4_000, "blackscholes"),
    "swaps": (40_000, "canneal"),
    "compressor": (40_000, "dedup"),
    "pipeline": (100_000, "ferret"),
    "hash_table": (40_000, ""),
    "clusters": (1_000, ""),
    "lu": (2_000_000, ""),
}
THREADS = 8
PLAN = {"strategy": "free", "accesses": 1, "anti_edges": 0}
PAPERS = TrackerOptions(anti_edges=False, own_reads=False)


def kernels() -> Iterator[KernelResult]:
    """Record and simulate every one."""
    with workshop() as made:
        program = made.kernels(Build("tracked", "gcc"))
        for name, (size, like) in KERNELS.items():
            yield kernel(program, name, size, like)


def kernel(
    program: Program, name: str, size: int, like: str, threads: int = THREADS
) -> KernelResult:
    """One kernel, with four graphs of one run."""
    program.run(name, size, threads, plan=PLAN)
    stored = gather(program.run_file, PAPERS)
    assert stored is not None
    trace = Trace(stored.path)
    simulated = simulate(trace)
    graphs = (
        offline.track(trace, PAPERS).edges,
        offline.track(trace, PAPERS, offline.LINES).edges,
        simulated.edges,
        simulate(trace, HardwareMachine(quiet_locks=True)).edges,
    )
    sites = {which: _sites(edges) for which, edges in zip(GRAPHS, graphs, strict=True)}
    exact = sites[GRAPHS[0]]
    return KernelResult(
        name=name,
        like=like,
        threads=threads,
        trace_bytes=stored.bytes,
        code_points=len(exact),
        missing={which: len(np.setdiff1d(exact, some)) for which, some in sites.items()},
        counts=simulated.counts,
        plain=_size(simulated.edges, 0),
        with_context=_size(simulated.edges, 5),
    )


def _sourced(edges: Edges) -> Edges:
    return edges[edges["source_point"] != NOWHERE]


def _sites(edges: Edges) -> npt.NDArray[np.uint32]:
    edges = _sourced(edges)
    found: npt.NDArray[np.uint32] = np.unique(
        np.concatenate([edges["source_point"], edges["sink_point"]]) >> 4
    )
    return found


def _size(edges: Edges, size: int) -> GraphSize:
    edges, mask = _sourced(edges), np.uint64(context_mask(size))
    ends = [
        edges[f"{end}_point"].astype(np.uint64) << np.uint64(16) | edges[f"{end}_context"] & mask
        for end in ("source", "sink")
    ]
    pairs = np.unique(np.stack(ends, axis=1), axis=0)
    return GraphSize(len(np.unique(np.concatenate(ends))), len(pairs))
