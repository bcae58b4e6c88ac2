# SPDX-License-Identifier: Apache-2.0
"""Simulated hardware: accesses per second of CPU time, and what traces take on disk.

Synthetic traces, since their miss rates are known: a thread's own data (hits), data of all threads
in more memory than the caches hold (nearly all misses), a thread's own data but for one access in
twenty, and a few lines that all threads write. In the last one every access is communication; in
the paper's programs at most one in twenty is (Bugaboo, table 5), so it has no bar.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, median
from unsnarl.model.access_trace import EVENT, EventKind, Events, TrackerOptions
from unsnarl.traces import codecs, files, hardware, offline

BAR = 5.0  # million accesses a second, on one core
ACCESSES = 2_000_000
THREADS = 16
WRITES = 0.3
POINTS = 50
OWN, SHARED = 1 << 14, 1 << 12  # bytes
# By name: the share of accesses to a thread's own data, and the bytes of the others.
KINDS = {
    "own data": (1.0, SHARED),
    "64 MB of all": (0.0, 1 << 26),
    "one in 20 shared": (0.95, SHARED),
}
ALL_SHARED = (0.0, SHARED)


def figures(quick: bool) -> Iterator[Figure]:
    rounds, count = (3, ACCESSES // 4) if quick else (7, ACCESSES)
    for name, how in KINDS.items():
        yield _simulated(name, trace(count, *how), rounds, bar=BAR)
    yield _simulated("everything shared", trace(count, *ALL_SHARED), rounds)
    with tempfile.TemporaryDirectory(prefix="unsnarl-trace-") as folder:
        events = trace(count, *KINDS["one in 20 shared"])
        yield from _files(Path(folder), events, rounds)
        yield from _codecs(events, rounds)


def _simulated(name: str, events: Events, rounds: int, bar: float | None = None) -> Figure:
    samples = [
        _millions(partial(hardware.simulate_events, events), len(events)) for _ in range(rounds)
    ]
    return median(f"hardware: {name}", samples, unit="million accesses/s", bar=bar, at_least=True)


def _files(folder: Path, events: Events, rounds: int) -> Iterator[Figure]:
    """From the disk and back, by way of what is installed."""
    path, options, count = folder / "1.trace", TrackerOptions(anti_edges=False), len(events)
    name = codecs.best().name
    written = [
        _millions(partial(files.write, path, [events], options), count) for _ in range(rounds)
    ]
    yield median(f"traces: written with {name}", written, unit="million accesses/s")
    stored = files.Trace(path)
    simulated = [_millions(partial(hardware.simulate, stored), count) for _ in range(rounds)]
    yield median(
        f"hardware: from a file with {name}", simulated, unit="million accesses/s", bar=BAR,
        at_least=True,
    )  # fmt: skip
    tracked = [_millions(partial(offline.track, stored), count) for _ in range(rounds)]
    yield median(f"traces: tracked, from a file with {name}", tracked, unit="million accesses/s")


def _codecs(events: Events, rounds: int) -> Iterator[Figure]:
    """What the choice of a codec costs."""
    blocks = [
        files._packed(events[at : at + files.BLOCK]) for at in range(0, len(events), files.BLOCK)
    ]
    for codec in filter(None, map(codecs.named, ("zstd", "zlib"))):
        samples = [
            _millions(partial(list, map(codec.compress, blocks)), len(events))
            for _ in range(rounds)
        ]
        yield median(f"traces: compressed with {codec.name}", samples, unit="million accesses/s")
        size = sum(len(codec.compress(block)) for block in blocks) / len(events)
        yield median(f"traces: with {codec.name}", [size], unit="bytes/access")


def trace(count: int, own: float, size: int) -> Events:
    """So many accesses at random, a share of them to a thread's own data."""
    chance = np.random.default_rng(1)
    events = np.zeros(count, EVENT)
    events["time"] = np.arange(1, count + 1)
    events["thread"] = chance.integers(0, THREADS, count)
    private = chance.random(count) < own
    base = np.where(private, (events["thread"].astype(np.int64) + 1) << 32, 0)
    within = np.where(private, chance.integers(0, OWN, count), chance.integers(0, size, count))
    events["address"] = base + (within & ~7)
    events["cell"] = events["address"] * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)
    events["point"] = (chance.integers(1, POINTS, count) + POINTS * private) << 4
    events["kind"] = np.where(chance.random(count) < WRITES, EventKind.WRITE, EventKind.READ)
    return events


def _millions(work: Callable[[], object], count: int) -> float:
    """Of accesses in a second of CPU time."""
    start = time.process_time()
    work()
    return count / (time.process_time() - start) / 1e6
