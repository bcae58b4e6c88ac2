# SPDX-License-Identifier: Apache-2.0
"""Real bugs: `python -m evaluation.real`, which writes docs/real.md.

Every case is hunted in an environment of its own, its failure is replayed and verified, first as
it is and then with the fixed release, which is hunted too. One case at a time: the times count.
The result of every case is stored when it ends; `--resume` goes on after a break.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from evaluation import real_page
from evaluation.draws import REPOSITORY
from evaluation.patched import RUNS
from evaluation.real_cases import FOLDERS, SETS, RealCase, load_cases
from evaluation.real_environments import cache
from evaluation.real_measure import Budget, measure
from evaluation.real_page import MeasuredCases
from evaluation.real_results import Measured
from evaluation.shapes import KEPT

PAGE = REPOSITORY / "docs" / "real.md"
SEED = 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evaluation.real", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="only these, of whatever set")
    parser.add_argument("--set", choices=(*SETS, "all"), action="append", help="default: work")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="cases at once")
    parser.add_argument("--only-hunt", action="store_true", help="no replays, nothing of the fix")
    parser.add_argument("--patches", action="store_true", help="hunts, and 1000 runs of each patch")
    parser.add_argument("--page", default=None, metavar="FILE", help="where to write the page")
    parser.add_argument("--cases", type=Path, action="append", metavar="FOLDER", help="others")
    parser.add_argument("--results", type=Path, default=cache() / "results", metavar="FOLDER")
    parser.add_argument("--resume", action="store_true", help="skip cases with a stored result")
    return parser


def chosen(options: argparse.Namespace) -> list[RealCase]:
    """The cases that were asked for; SystemExit if one of them does not exist."""
    cases = load_cases(options.cases or FOLDERS)
    if options.names:
        missing = set(options.names) - {case.name for case in cases}
        if missing:
            raise SystemExit(f"there is no case {', '.join(sorted(missing))}")
        return [case for case in cases if case.name in options.names]
    sets = options.set or ["work"]
    return [case for case in cases if case.set in (SETS if "all" in sets else sets)]


def measure_or_load(case: RealCase, options: argparse.Namespace) -> Measured:
    """The stored result of a case, if it is wanted and there; else a new one, which is stored."""
    kind = "patches" if options.patches else "hunt" if options.only_hunt else "whole"
    stem = f"{case.name}-{options.seed}"
    file = Path(options.results) / f"{stem}-{kind}.json"
    if options.resume and file.exists():
        return msgspec.json.decode(file.read_bytes(), type=Measured)
    applied = RUNS if options.patches else 0
    kept = file.with_name(f"{stem}-{KEPT}")
    budget = Budget(only_hunt=options.only_hunt, applied=applied, kept=kept)
    row = measure(case, options.seed, budget)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(row)))
    return row


def _all(cases: Sequence[RealCase], options: argparse.Namespace) -> Iterator[Measured]:
    with ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(partial(measure_or_load, options=options), cases):
            print(real_page.line(row), flush=True)
            yield row


def _command(options: argparse.Namespace) -> str:
    """What was typed, without what depends on the machine."""
    words = [f"--set {name}" for name in options.set or ()]
    words += [f"--seed {options.seed}"] if options.seed != SEED else []
    words += ["--patches" if options.patches else "--only-hunt"] if options.only_hunt else []
    return " ".join(["python -m evaluation.real", *words, *options.names])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the bars and write the page."""
    options = _parser().parse_args(arguments)
    options.only_hunt |= options.patches
    measured = MeasuredCases(
        command=_command(options),
        date=time.strftime("%Y-%m-%d"),
        python=platform.python_version(),
        cores=len(os.sched_getaffinity(0)),
        rows=tuple(_all(chosen(options), options)),
        whole=not options.only_hunt,
    )
    for name in SETS:
        for bar in real_page.bars(measured.of(name), measured.whole) if measured.of(name) else ():
            judged = bar.whole and bar.wanted != real_page.NO_BAR
            verdict = ("met" if bar.met else "MISSED") if judged else ""
            print(f"{name:9}{verdict:6}  {bar.text}: {bar.part} of {bar.whole}")
    page = options.page or (None if options.names or options.only_hunt or options.cases else PAGE)
    if page:
        Path(page).write_text(real_page.page(measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
