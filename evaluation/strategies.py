# SPDX-License-Identifier: Apache-2.0
"""Strategies compared: `python -m evaluation.strategies`, which writes docs/strategies.md.

For every bug, every strategy alone, and the rotation of all: how many schedules until the first
failure, for each of some seeds. A search ends with its first failure and makes no experiments. Its
plans learn from earlier runs when those of a hunt do (campaigns/lessons.py). All searches of a bug
use one fork server, one run at a time; what one search has learned is unknown to the next.
"""

from __future__ import annotations

import argparse
import re
import shlex
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from evaluation import strategy_page
from evaluation.draws import REPOSITORY
from evaluation.strategy_results import ROTATION, Found, Results, Searches
from evaluation.strategy_subjects import KINDS, Prepared, Subject, subjects
from unsnarl.campaigns.campaign import mode_without_failure
from unsnarl.campaigns.lessons import Lesson, Lessons
from unsnarl.campaigns.neighbours import Neighbours
from unsnarl.campaigns.profile import profile_of
from unsnarl.campaigns.rotation import STRATEGIES, Rotation
from unsnarl.campaigns.tally import HUNT, Tally
from unsnarl.config import Settings
from unsnarl.execution.runner import Runner, started
from unsnarl.model.plan import Strategy

PAGE = REPOSITORY / "docs" / "strategies.md"
SEEDS, CAP = 20, 500
# What differs between the commands of parts.
PART = re.compile(r" --(bugs|save)[ =]\S+")
TIMEOUT = 10.0
# A strategy that found nothing with the first so many seeds is not tried with the others, ...
SEEDS_WITHOUT_A_FAILURE = 3
# ... nor one whose median with so many seeds is so many times that of the best one before it.
SEEDS_OF_ALL, CLEARLY_WORSE = 6, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the bar, write the page."""
    options = _options(arguments)
    if options.load:
        results = _joined([_load(Path(one)) for one in options.load])
    else:
        given = sys.argv[1:] if arguments is None else arguments
        command = shlex.join(["python", "-m", "evaluation.strategies", *given])
        every = sum(1 for _ in subjects())
        results = Results(command, options.seeds, options.cap, (), every)
        for subject in _chosen(options):
            results = replace(results, searches=(*results.searches, _measured(subject, options)))
            _save(results, options.save)
    if options.page:
        Path(options.page).write_text(strategy_page.page(results), encoding="utf-8")
    print(strategy_page.bar(results))
    print(strategy_page.reading(results))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation.strategies", description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"searches (default: {SEEDS})")
    parser.add_argument("--cap", type=int, default=CAP, help=f"runs of a search (default: {CAP})")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS, help="only these")
    parser.add_argument("--bugs", default="", help="only these, by name: weblech,c/bank")
    parser.add_argument("--page", help="where to write the page (default: docs/strategies.md)")
    parser.add_argument("--save", metavar="FILE", help="keep the results as JSON")
    parser.add_argument(
        "--load", metavar="FILE", nargs="+", help="make the page from kept results, joined"
    )
    options = parser.parse_args(arguments)
    # Only a run over everything may replace the page without being asked.
    if not (options.page or options.bugs or options.kinds != KINDS):
        options.page = str(PAGE)
    return options


def _chosen(options: argparse.Namespace) -> Iterator[Subject]:
    wanted = set(filter(None, options.bugs.split(",")))
    for subject in subjects():
        if subject.name in wanted if wanted else subject.kind in options.kinds:
            yield subject


def _load(path: Path) -> Results:
    return msgspec.json.decode(path.read_bytes(), type=Results)


def _joined(parts: Sequence[Results]) -> Results:
    """Parts that were measured one after the other, or at the same time on several cores."""
    if len(parts) == 1:
        return parts[0]
    commands = dict.fromkeys(PART.sub("", part.command) for part in parts)
    in_parts = any(PART.search(part.command) for part in parts)
    command = "`, `".join(commands) + ("` in parts by `--bugs" if in_parts else "")
    order = [subject.name for subject in subjects()]
    searches = [one for part in parts for one in part.searches]
    searches.sort(key=lambda one: order.index(one.bug))
    return replace(parts[0], command=command, searches=tuple(searches), every=len(order))


def _save(results: Results, path: str | None) -> None:
    """After every bug: an evaluation of an hour may be cut off."""
    if path:
        Path(path).write_bytes(msgspec.json.encode(results))


def _measured(subject: Subject, options: argparse.Namespace) -> Searches:
    with subject.opened() as bug:
        searches = search_all(subject.name, bug, range(1, options.seeds + 1), options.cap)
    shown = {who: _median(found) for who, found in searches.found.items()}
    print(f"{subject.name}: {shown}", file=sys.stderr, flush=True)
    return searches


def _median(found: Sequence[Found]) -> float:
    return statistics.median(n if n is not None else float("inf") for n in found)


def search_all(
    name: str,
    bug: Prepared,
    seeds: Iterable[int],
    cap: int,
    *,
    whom: Sequence[str] = (*STRATEGIES, ROTATION),
) -> Searches:
    """Every strategy alone, and the rotation, on one bug."""
    settings = Settings(jobs=1, timeout=TIMEOUT, include=bug.include)
    chosen = list(seeds)
    with tempfile.TemporaryDirectory(prefix="unsnarl-strategies-") as scratch:
        files = Path(scratch)
        with started(bug.target, files / "server", settings, scratch=True) as runner:
            search = _Search(runner, bug.switch, files, cap)
            return Searches(name, dict(search.each(whom, chosen)))


def _made_of(who: str) -> tuple[Strategy, ...]:
    return tuple(one for one in STRATEGIES if who in (one, ROTATION))


class _Search:
    """Searches for the first failure of one target."""

    def __init__(self, runner: Runner, switch: str, files: Path, cap: int) -> None:
        self._runner = runner
        self._switch = switch
        self._cap = cap
        self._fields = {
            "timeout": TIMEOUT,
            "file": str(files / "run"),
            "output": str(files / "output"),
        }

    def each(
        self, whom: Sequence[str], seeds: Sequence[int]
    ) -> Iterator[tuple[str, tuple[Found, ...]]]:
        """What each needs with each seed; all seeds for the rotation."""
        best = float("inf")
        for who in whom:
            most = float("inf") if who == ROTATION else CLEARLY_WORSE * best
            found = self._with_seeds(_made_of(who), seeds, most)
            best = min(best, _median(found))
            yield who, found

    def _with_seeds(
        self, strategies: tuple[Strategy, ...], seeds: Sequence[int], most: float
    ) -> tuple[Found, ...]:
        found: list[Found] = []
        for seed in seeds:
            found.append(self.first_failure(Rotation(seed, strategies)))
            is_blind = len(found) == SEEDS_WITHOUT_A_FAILURE and not any(found)
            if is_blind or (len(found) == SEEDS_OF_ALL and _median(found) > most):
                break
        return tuple(found)

    def first_failure(self, rotation: Rotation) -> Found:
        """How many schedules until one fails; None: more than the cap."""
        # Runs near one that failed come after the first failure.
        lessons = Lessons(Tally(1, 1, 0), rotation, Neighbours(0))
        for number in range(1, self._cap + 1):
            lessons.teach(number)
            plan = rotation.plan(number, **self._fields_of(number))
            (result,) = self._runner.run([plan])
            if result.judgement.label != "pass":
                return number
            profile = profile_of(result.run) if result.run is not None else None
            wide = plan.sites is None
            lessons.add(Lesson(result.record(number), HUNT, profile=profile, wide=wide))
        return None

    def _fields_of(self, number: int) -> dict[str, Any]:
        auto = self._switch == "auto"
        return {
            **self._fields,
            "switch": mode_without_failure(number - 1) if auto else self._switch,
        }


if __name__ == "__main__":
    raise SystemExit(main())
