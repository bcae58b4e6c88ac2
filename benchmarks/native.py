# SPDX-License-Identifier: Apache-2.0
"""Native programs: free tracked runs compared with the plain program and ThreadSanitizer.

CPU time inside main, all builds in turn. A cell is a kernel with a number of threads; its factor is
the median of one build against the median of the plain one of the same compiler.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.figures import Figure
from benchmarks.programs import (
    FREE,
    Build,
    Program,
    Workshop,
    compilers,
    has_bzip2,
    say,
    workshop,
)
from benchmarks.subject import SubjectError

# Sizes that take the plain program about 40 ms.
SIZES = {
    "options": 100_000,
    "hash_table": 1_000_000,
    "pipeline": 5_000_000,
    "clusters": 25_000,
    "lu": 90_000_000,
    "migrating_lu": 90_000_000,
    "compressor": 1_500_000,
    "counter": 3_000_000,
    "swaps": 1_000_000,
    "bzip2": 600_000,
}
NINE = tuple(name for name in SIZES if name != "bzip2")
PROTOTYPES_NINE = tuple(name for name in SIZES if name != "migrating_lu")
THREADS = (2, 4, 8)
# Recon's table 4, and what we do by default.
RECON = {
    "Base": {"first_read": 0, "first_write": "off", "racy_lookup": 0},
    "FR": {"first_read": 1, "first_write": "off", "racy_lookup": 0},
    "FR/W": {"first_read": 1, "first_write": "paper", "racy_lookup": 0},
    "Recon": {"first_read": 1, "first_write": "paper", "racy_lookup": 1},
    "ours": {},
}
RECON_THREADS = 4
GROWING = ("compressor", "hash_table", "options")
TIMES = (1, 4, 16)

Cell = tuple[str, int]


@dataclass(frozen=True)
class Way:
    """A program and how it is run; `plan` None: without unsnarl."""

    program: Program
    plan: dict[str, Any] | None = None


@dataclass
class Samples:
    """What the runs of all ways said, by cell and way."""

    found: dict[Cell, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)

    def cells(self, kernels: Iterable[str]) -> list[Cell]:
        """Those of some kernels."""
        wanted = set(kernels)
        return [cell for cell in self.found if cell[0] in wanted]

    def median(self, cell: Cell, way: str, what: str = "cpu") -> float:
        """Of one way in one cell."""
        return float(statistics.median(sample[what] for sample in self.found[cell][way]))

    def factors(self, cells: Iterable[Cell], over: str, under: str) -> dict[str, float]:
        """One way against another, cell by cell."""
        return {
            f"{kernel}, {threads} threads": self.median((kernel, threads), over)
            / self.median((kernel, threads), under)
            for kernel, threads in cells
        }


def figures(quick: bool) -> Iterator[Figure]:
    """Slowdown, memory, growth, and Recon's table 4."""
    rounds, shrink = (2, 4) if quick else (5, 1)
    with workshop() as shop:
        ways = dict(_ways(shop))
        samples = Samples()
        sizes = {name: size // shrink for name, size in SIZES.items()}
        if not has_bzip2():
            say("bzlib.h is not found: no bzip2 kernel")
            del sizes["bzip2"]
        for kernel, size in sizes.items():
            for threads in (4,) if quick else THREADS:
                cell = (kernel, threads)
                samples.found[cell] = compared(ways, rounds, kernel, size, threads)
            yield _kernel(samples, kernel)
        yield from _means(samples)
        yield from _against_sanitizers(samples)
        yield from _memory(samples)
        yield from _growth(ways, rounds, shrink)
        yield from _recon(ways["tracked gcc"].program, ways["plain gcc"], rounds, sizes)


def compared(
    ways: dict[str, Way], rounds: int, *arguments: object
) -> dict[str, list[dict[str, Any]]]:
    """All ways in turn; they must compute the same."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(way.program.measure(*arguments, plan=way.plan))
    sums = {name: {one["checksum"] for one in samples} for name, samples in found.items()}
    if len(set().union(*sums.values())) > 1:
        raise SubjectError(f"{arguments}: checksums differ: {sums}")
    return found


def _ways(shop: Workshop) -> Iterator[tuple[str, Way]]:
    for compiler in compilers():
        yield f"plain {compiler}", Way(shop.kernels(Build("plain", compiler)))
        tracked = shop.kernels(Build("tracked", compiler))
        yield f"tracked {compiler}", Way(tracked, FREE)
        if compiler == "gcc":
            yield "idle gcc", Way(tracked)
        try:
            yield f"sanitized {compiler}", Way(shop.kernels(Build("sanitized", compiler)))
        except SubjectError as error:
            say(f"{compiler}'s ThreadSanitizer cannot be linked: {error}")
    if "clang" not in compilers():
        say("clang is not found: no comparison with its ThreadSanitizer")


def _geomean(values: Iterable[float]) -> float:
    return math.exp(statistics.mean(map(math.log, values)))


def _mean(name: str, factors: dict[str, float], **more: Any) -> Figure:
    low, high = min(factors.values()), max(factors.values())
    return Figure(f"native: {name}", _geomean(factors.values()), low, high, details=factors, **more)


def _kernel(samples: Samples, kernel: str) -> Figure:
    """One kernel, with the other builds' factors after its name."""
    cells = samples.cells([kernel])
    factors = {}
    for way in samples.found[cells[0]]:
        plain = "plain clang" if "clang" in way else "plain gcc"
        if not way.startswith("plain"):
            factors[way] = samples.factors(cells, way, plain)
    others = ", ".join(
        f"{way} {_geomean(found.values()):.1f}"
        for way, found in factors.items()
        if way not in ("tracked gcc", "idle gcc")
    )
    figure = _mean(f"{kernel} ({others})", factors["tracked gcc"])
    return Figure(**{**vars(figure), "details": factors})


def _means(samples: Samples) -> Iterator[Figure]:
    nine = samples.cells(NINE)
    plain = "plain gcc"
    yield _mean("slowdown, nine kernels", samples.factors(nine, "tracked gcc", plain), bar=3.6)
    others = samples.cells(PROTOTYPES_NINE)
    yield _mean("slowdown, the prototype's nine", samples.factors(others, "tracked gcc", plain))
    yield _mean(
        "built with the wrapper, run without unsnarl", samples.factors(nine, "idle gcc", plain)
    )


def _against_sanitizers(samples: Samples) -> Iterator[Figure]:
    """Both against the same plain program, which drops out."""
    nine = samples.cells(NINE)
    every = list(samples.found)
    for compiler, bar in (("clang", 0.5), ("gcc", 0.33)):
        ours, theirs = f"tracked {compiler}", f"sanitized {compiler}"
        if theirs not in samples.found[nine[0]]:
            continue
        for way in (ours, theirs):
            yield _mean(f"slowdown, {way}", samples.factors(nine, way, f"plain {compiler}"))
        yield _mean(f"of {compiler}'s TSan", samples.factors(nine, ours, theirs), bar=bar)
        ratios = samples.factors(every, ours, theirs)
        yield _worst(
            f"of {compiler}'s TSan at worst", ratios, bar=1.2 if compiler == "clang" else None
        )


def _worst(name: str, parts: dict[str, float], bar: float | None = None) -> Figure:
    cell = max(parts, key=lambda one: parts[one])
    low, high = min(parts.values()), parts[cell]
    return Figure(f"native: {name} ({cell})", high, low, high, bar=bar, details=parts)


def _memory(samples: Samples) -> Iterator[Figure]:
    """Resident at most, in parts of what is allowed: 4 times the touched data, and 4 MB.

    The data is what the kernel counts as its own; or, to inform, all that the plain program has
    resident, libc and stacks with it.
    """
    strict, wide = {}, {}
    for kernel, threads in samples.cells(NINE):
        cell, name = (kernel, threads), f"{kernel}, {threads} threads"
        resident = samples.median(cell, "tracked gcc", "resident_kb")
        strict[name] = resident / _allowed(samples.median(cell, "tracked gcc", "touched") / 1024)
        wide[name] = resident / _allowed(samples.median(cell, "plain gcc", "resident_kb"))
    yield _worst("memory, of 4x its data + 4 MB", strict, bar=1)
    yield _worst("memory, of 4x the plain program + 4 MB", wide)


def _allowed(kilobytes: float) -> float:
    return 4 * kilobytes + 4096


def _growth(ways: dict[str, Way], rounds: int, shrink: int) -> Iterator[Figure]:
    """CPU time per unit of work at the largest size, against the smallest."""
    both = {name: ways[name] for name in ("plain gcc", "tracked gcc")}
    for kernel in GROWING:
        each: dict[str, list[float]] = {name: [] for name in both}
        for times in TIMES:
            size = SIZES[kernel] // shrink // 2 * times
            found = compared(both, rounds, kernel, size, 4)
            for name, samples in found.items():
                each[name].append(statistics.median(one["cpu"] for one in samples) / times)
        ratio = {name: units[-1] / units[0] for name, units in each.items()}
        value = ratio["tracked gcc"]
        yield Figure(
            f"native: {kernel} {TIMES[-1]} times as large, time per unit "
            f"(plain {ratio['plain gcc']:.2f})",
            value,
            value,
            value,
            details=each,
        )


def _recon(program: Program, plain: Way, rounds: int, sizes: dict[str, int]) -> Iterator[Figure]:
    """Table 4: what each of Recon's optimisations is worth."""
    ways = {name: Way(program, FREE | options) for name, options in RECON.items()}
    samples = Samples()
    for kernel in NINE:
        found = compared(
            {"plain": plain, **ways}, min(rounds, 3), kernel, sizes[kernel] // 2, RECON_THREADS
        )
        samples.found[(kernel, RECON_THREADS)] = found
    for name in RECON:
        factors = samples.factors(samples.found, name, "plain")
        yield _mean(f"Recon's table 4, {name}", factors)
