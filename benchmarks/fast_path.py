# SPDX-License-Identifier: Apache-2.0
"""The fast path of native programs: what a call of the probe costs that finds nothing new.

The bar is in nanoseconds, and a processor may need more than that for a call of an empty function:
so the ratio to an empty probe is given as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.programs import FREE, SOURCES, Build, workshop

BAR = 1.2


def figures(quick: bool) -> Iterator[Figure]:
    """Nanoseconds for each access: plain, an empty probe, and ours."""
    paths = [SOURCES / "fast_path.c"]
    with workshop() as shop:
        plain = shop.program(Build("plain", "gcc"), "fast_path", paths)
        stub = shop.stub("fast_path", paths)
        tracked = shop.program(Build("tracked", "gcc"), "fast_path", paths)
        ways = {"plain": (plain, None), "empty probe": (stub, None), "tracked": (tracked, FREE)}
        samples: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
        for _ in range(2 if quick else 5):
            for name, (program, plan) in ways.items():
                samples[name].append(program.measure(plan=plan))
    for name, found in samples.items():
        for kind in ("read", "write"):
            each = [one[kind] for one in found]
            yield Figure(
                f"fast path: L1 {kind}, {name}",
                min(each),
                min(each),
                max(each),
                unit="ns",
                bar=BAR if name == "tracked" else None,
            )
    for kind in ("read", "write"):
        ours, empty = (
            min(one[kind] for one in samples[name]) for name in ("tracked", "empty probe")
        )
        ratio = ours / empty
        yield Figure(f"fast path: L1 {kind}, tracked against an empty probe", ratio, ratio, ratio)
