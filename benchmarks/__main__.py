# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks [--quick] [name...]`: measure, print one table, keep the figures."""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
import traceback
from collections.abc import Iterator

from benchmarks.figures import Figure, save, table

NAMES = (
    "tracking",
    "parallel",
    "windows",
    "watching",
    "controlled",
    "runs",
    "imports",
    "startup",
    "hunts",
    "answers",
    "growth",
    "cluster",
    "analysis",
    "native",
    "fast_path",
    "switching",
    "clocks",
    "recording",
    "orders",
    "hardware",
    "pages",
    "collecting",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help="of: " + ", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter kernels")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    start = time.monotonic()
    measured = measure(options.names or NAMES, options.quick)
    seconds = time.monotonic() - start
    print(table(measured))
    missed = sum(not figure.passes for figure in measured)
    path = save(measured, options.quick, seconds)
    print(f"\n{len(measured)} figures, {missed} bars missed, {seconds:.0f} s; kept in {path}")
    return 1 if missed and options.strict else 0


def measure(names: list[str] | tuple[str, ...], quick: bool) -> list[Figure]:
    """All figures of the named benchmarks, said on standard error as they come."""
    measured = []
    for name in names:
        for figure in _figures(name, quick):
            print("  ".join(cell for cell in figure.row() if cell), file=sys.stderr, flush=True)
            measured.append(figure)
    return measured


def _figures(name: str, quick: bool) -> Iterator[Figure]:
    """The figures of one benchmark; what breaks it off must not cost the others theirs."""
    try:
        yield from importlib.import_module(f"benchmarks.{name}").figures(quick)
    except Exception:
        traceback.print_exc()
        yield Figure(f"{name}: broken off", math.inf, math.inf, math.inf, unit="", bar=0)


if __name__ == "__main__":
    sys.exit(main())
