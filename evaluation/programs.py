# SPDX-License-Identifier: Apache-2.0
"""Debian's programs: built unchanged with the wrapper, tested under tracking, and the slowdown.

    python -m evaluation.programs [--megabytes N] [--repeats N] [--sources FOLDER] [NAME ...]

Needs apt (or the source packages in the folder named), make, autoconf, automake and the libraries
of the programs. Processor time is compared within one round, in which every build has its turn;
of all rounds the least is taken. ThreadSanitizer prints no reports, which costs it nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation import markdown
from evaluation.draws import REPOSITORY
from evaluation.program_builds import BuildError, Built, Checked, stamp
from evaluation.program_recipes import OURS, PLAIN, RECIPES, Recipe, builds
from evaluation.program_sources import fetch

PAGE = REPOSITORY / "docs" / "programs.md"
THREADS = (2, 4)
TRACKED = "unsnarl, tracked"


class Times(NamedTuple):
    """The processor time of one piece of work, by the build that did it."""

    program: str
    work: str
    threads: int
    seconds: dict[str, float]

    def factor(self, name: str) -> float | None:
        """The slowdown against the plain build of the same compiler."""
        plain = "plain clang" if "clang" in name else "plain gcc"
        if name not in self.seconds or plain not in self.seconds:
            return None
        return self.seconds[name] / self.seconds[plain]


FACTORS = (OURS.name, TRACKED, "gcc TSan", "clang TSan")


def measure(recipe: Recipe, made: Sequence[Built], data: Path, repeats: int) -> list[Times]:
    """Packing and unpacking with each number of threads, by every build."""
    packed, scratch = data.with_suffix(".packed"), data.with_suffix(".out")
    made[0].seconds(recipe.pack.format(n=2), data, packed, False)
    found = []
    for work, words, given in (("pack", recipe.pack, data), ("unpack", recipe.unpack, packed)):
        for threads in THREADS:
            best: dict[str, float] = {}
            for _ in range(repeats):
                for built in made:
                    _turn(built, words.format(n=threads), given, scratch, best)
                    if work == "unpack" and scratch.read_bytes() != data.read_bytes():
                        raise SystemExit(f"{built.program} unpacks something else")
            found.append(Times(recipe.name, work, threads, best))
            print(_line(found[-1]), flush=True)
    return found


def _turn(built: Built, words: str, given: Path, out: Path, best: dict[str, float]) -> None:
    for tracked in (False, True) if built.build is OURS else (False,):
        name = TRACKED if tracked else built.build.name
        seconds = built.seconds(words, given, out, tracked)
        best[name] = min(seconds, best.get(name, seconds))


def _line(times: Times) -> str:
    parts = [f"{name} {markdown.cell(times.factor(name))}x" for name in FACTORS]
    head = f"{times.program} {times.work} {times.threads} threads"
    return f"{head}: {', '.join(parts)}"


def make_data(path: Path, megabytes: int) -> None:
    """Text and machine code of this very environment: neither too dull nor too wild."""
    wanted = megabytes << 20
    with path.open("wb") as out:
        for file in sorted(Path(os.__file__).parent.rglob("*")):
            if file.suffix in (".py", ".pyc", ".so") and file.is_file():
                out.write(file.read_bytes()[: wanted - out.tell()])
            if out.tell() >= wanted:
                return


def page(command: str, checks: dict[str, Checked | None], times: Sequence[Times]) -> str:
    """docs/programs.md."""
    return markdown.sections(
        "# Debian's programs",
        f"Made by `{command}` on {stamp()}, {os.cpu_count()} processors, {platform.machine()}.",
        "Source packages of Debian, built unchanged with `unsnarl cc` and `unsnarl c++`. Their own "
        "test suites were run with every run of the program tracked (a free run: accesses are "
        "tracked, threads are not held).",
        markdown.table(
            ("program", "suite passes", "its tests", "tracked runs", "most threads", "edges"),
            [_check_row(name, one) for name, one in checks.items()],
        ),
        "## Slowdown",
        "Processor time over the plain build of the same compiler at the package's own level of "
        "optimisation. *Not tracked* is what a program built with the wrapper costs when it "
        "runs on its own. The compression of pigz, pbzip2 and pixz is in a system library, "
        "which no build instruments.",
        markdown.table(
            (
                "program",
                "work",
                "threads",
                "unsnarl, not tracked",
                TRACKED,
                "gcc's ThreadSanitizer",
                "clang's ThreadSanitizer",
            ),
            [(t.program, t.work, t.threads, *map(t.factor, FACTORS)) for t in times]
            + [("geometric mean", "", "", *(_mean(times, name) for name in FACTORS))],
        ),
    )


def _check_row(name: str, one: Checked | None) -> tuple[object, ...]:
    if one is None:
        return (name, "it has none", None, None, None, None)
    tests = f"{one.passed} of {one.total}" if one.total else None
    return (name, one.good, tests, one.runs, one.threads, one.edges)


def _mean(times: Sequence[Times], name: str) -> float | None:
    known = [factor for factor in (one.factor(name) for one in times) if factor]
    return statistics.geometric_mean(known) if known else None


def build_all(recipe: Recipe, folder: Path, sources: Path) -> list[Built]:
    """One build by every compiler that takes the source; gcc and ours must."""
    archive = fetch(recipe.name, sources)
    made = []
    for build in builds():
        print(f"{recipe.name}: {build.name}", flush=True)
        try:
            made.append(Built(recipe, build, archive, folder / build.name.replace(" ", "-")))
        except BuildError as error:
            if build in (PLAIN, OURS):
                raise
            print(error, flush=True)
    return made


def evaluate(
    recipe: Recipe, folder: Path, options: argparse.Namespace
) -> tuple[Checked | None, list[Times]]:
    """Build one program with every compiler, test it, measure it."""
    made = build_all(recipe, folder / recipe.name, options.sources)
    ours = next(one for one in made if one.build is OURS)
    checked = ours.check() if recipe.check else None
    print(f"{recipe.name}: {checked}", flush=True)
    data = folder / "data"
    if not data.exists():
        make_data(data, options.megabytes)
    return checked, measure(recipe, made, data, options.repeats)


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate, print, write the page; 1 if a suite does not pass under tracking."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.programs", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--sources", type=Path, default=REPOSITORY / "build" / "debian")
    parser.add_argument("--page", help="where to write the page (default: docs/programs.md)")
    parser.add_argument("names", nargs="*", help="only these")
    options = parser.parse_args(arguments)
    recipes = [one for one in RECIPES if not options.names or one.name in options.names]
    checks: dict[str, Checked | None] = {}
    times: list[Times] = []
    with tempfile.TemporaryDirectory(prefix="unsnarl-programs-") as folder:
        for recipe in recipes:
            checks[recipe.name], found = evaluate(recipe, Path(folder), options)
            times += found
    command = " ".join(["python -m evaluation.programs", *(arguments or sys.argv[1:])])
    wanted = options.page or (None if options.names else PAGE)
    if wanted:
        Path(wanted).write_text(page(command, checks, times), encoding="utf-8")
    return int(any(one is not None and not one.good for one in checks.values()))


if __name__ == "__main__":
    sys.exit(main())
