# SPDX-License-Identifier: Apache-2.0
"""Strategies compared: `python -m evaluation.strategies`, which writes docs/strategies.md.

For every bug, every strategy alone, and the rotation of all: how many schedules until the first
failure, for each of some seeds. A search ends with its first failure and makes no experiments. All
searches of a bug use one fork server, one run at a time; what one search has learned is unknown to
the next.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from evaluation import strategy_page
from evaluation.draws import REPOSITORY, ZOO, ZOO_C, copy_of
from evaluation.strategy_results import ROTATION, Found, Results, Searches
from evaluation.truth import Bug, load_zoo
from unsnarl.campaigns.profile import profile_of
from unsnarl.campaigns.rotation import STRATEGIES, Rotation
from unsnarl.config import Settings
from unsnarl.execution import target
from unsnarl.execution.runner import Runner, started
from unsnarl.model.plan import Strategy

PAGE = REPOSITORY / "docs" / "strategies.md"
SHAPES = REPOSITORY / "zoo" / "shapes"
SEEDS, CAP = 20, 500
TIMEOUT = 10.0
# A strategy that found nothing with the first so many seeds is not tried with the others.
SEEDS_WITHOUT_A_FAILURE = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the bar, write the page."""
    options = _options(arguments)
    if options.load:
        results = msgspec.json.decode(Path(options.load).read_bytes(), type=Results)
    else:
        given = sys.argv[1:] if arguments is None else arguments
        command = shlex.join(["python", "-m", "evaluation.strategies", *given])
        results = Results(command, options.seeds, options.cap, ())
        for named in _chosen(options.bugs):
            results = replace(results, searches=(*results.searches, _measured(named, options)))
            _save(results, options.save)
    if options.page:
        Path(options.page).write_text(strategy_page.page(results), encoding="utf-8")
    print(strategy_page.bar(results))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation.strategies", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"searches (default: {SEEDS})")
    parser.add_argument("--cap", type=int, default=CAP, help=f"runs of a search (default: {CAP})")
    parser.add_argument("--bugs", default="", help="only these, by name: weblech,c/bank")
    parser.add_argument("--page", help="where to write the page (default: docs/strategies.md)")
    parser.add_argument("--save", metavar="FILE", help="keep the results as JSON")
    parser.add_argument("--load", metavar="FILE", help="make the page from kept results")
    options = parser.parse_args(arguments)
    # Only a run over everything may replace the page without being asked.
    if not (options.page or options.bugs):
        options.page = str(PAGE)
    return options


def _chosen(names: str) -> Iterator[tuple[str, Bug]]:
    wanted = set(filter(None, names.split(",")))
    for prefix, folder in (("", ZOO), ("c/", ZOO_C), ("shape/", SHAPES)):
        for bug in load_zoo(folder):
            name = prefix + bug.name
            if not wanted or name in wanted:
                yield name, bug


def _save(results: Results, path: str | None) -> None:
    """After every bug: an evaluation of an hour may be cut off."""
    if path:
        Path(path).write_bytes(msgspec.json.encode(results))


def _measured(named: tuple[str, Bug], options: argparse.Namespace) -> Searches:
    name, bug = named
    with copy_of(Path(bug.folder)) as folder:
        searches = search_all(name, bug, folder, range(1, options.seeds + 1), options.cap)
    shown = {who: _median(found) for who, found in searches.found.items()}
    print(f"{name}: {shown}", file=sys.stderr, flush=True)
    return searches


def _median(found: Sequence[Found]) -> float | None:
    return statistics.median(n if n is not None else float("inf") for n in found)


def search_all(
    name: str,
    bug: Bug,
    folder: Path,
    seeds: Iterable[int],
    cap: int,
    *,
    whom: Sequence[str] = (*STRATEGIES, ROTATION),
) -> Searches:
    """Every strategy alone, and the rotation, on one bug."""
    settings = Settings(jobs=1, timeout=TIMEOUT)
    before = os.environ["PATH"]
    # `python` in the bugs' commands means this interpreter.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), before))
    try:
        found = target.parse(bug.command, folder)
    finally:
        os.environ["PATH"] = before
    chosen = list(seeds)
    with tempfile.TemporaryDirectory(prefix="unsnarl-strategies-") as scratch:
        files = Path(scratch)
        with started(found, files / "server", settings, scratch=True) as runner:
            search = _Search(runner, bug.switch, files, cap)
            return Searches(name, {who: search.with_seeds(_made_of(who), chosen) for who in whom})


def _made_of(who: str) -> tuple[Strategy, ...]:
    return tuple(one for one in STRATEGIES if who in (one, ROTATION))


class _Search:
    """Searches for the first failure of one target."""

    def __init__(self, runner: Runner, switch: str, files: Path, cap: int) -> None:
        self._runner = runner
        self._cap = cap
        self._fields = {
            "switch": switch,
            "timeout": TIMEOUT,
            "file": str(files / "run"),
            "output": str(files / "output"),
        }

    def with_seeds(
        self, strategies: tuple[Strategy, ...], seeds: Sequence[int]
    ) -> tuple[Found, ...]:
        found: list[Found] = []
        for seed in seeds:
            found.append(self.first_failure(Rotation(seed, strategies)))
            if len(found) == SEEDS_WITHOUT_A_FAILURE and not any(found):
                break
        return tuple(found)

    def first_failure(self, rotation: Rotation) -> Found:
        """How many schedules until one fails; None: more than the cap."""
        for number in range(1, self._cap + 1):
            plan = rotation.plan(number, **self._fields)
            (result,) = self._runner.run([plan])
            passed = result.judgement.label == "pass"
            if not passed:
                return number
            rotation.count(plan.strategy, not passed)
            if result.run is not None:
                wide = plan.sites is None
                rotation.learn(profile_of(result.run), passed=passed, wide=wide)
        return None


if __name__ == "__main__":
    raise SystemExit(main())
