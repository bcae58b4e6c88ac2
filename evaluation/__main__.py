# SPDX-License-Identifier: Apache-2.0
"""`python -m evaluation`: redo the papers' tables on the zoo and write docs/evaluation.md."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import msgspec

from evaluation import bars, page
from evaluation.draws import REPOSITORY, ZOO, ZOO_C
from evaluation.results import Draw, Results, rows
from evaluation.run import Plan, evaluate
from evaluation.truth import Bug, load_zoo

PAGE = REPOSITORY / "docs" / "evaluation.md"
PAGE_C = REPOSITORY / "docs" / "evaluation-c.md"
SHORT = ("weblech", "strlen", "apachelog", "order", "abba")
FIRST_SEED = 1


def main() -> int:
    """Evaluate, print the bars and write the page."""
    options = _options()
    zoo = load_zoo(ZOO_C if options.c else ZOO)
    if options.load:
        results = msgspec.json.decode(Path(options.load).read_bytes(), type=Results)
    else:
        command = shlex.join(["python", "-m", "evaluation", *sys.argv[1:]])
        results = evaluate(_plan(options, zoo), command, _say)
    if options.save:
        Path(options.save).write_bytes(msgspec.json.encode(results))
    if options.page:
        page.write(results, zoo, Path(options.page))
    for bar in bars.bars(results, rows(results, zoo)):
        print(f"{'met' if bar.met else 'MISSED':6}  {bar.text}: {bar.part} of {bar.whole}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="hunts per bug (default: 5)")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="seed of the first draw")
    parser.add_argument("--bugs", default="", help="only these, by name: weblech,abba")
    parser.add_argument("--c", action="store_true", help="the zoo of C and C++ programs")
    parser.add_argument("--short", action="store_true", help="a few bugs, one draw, fewer runs")
    parser.add_argument("--page", help="where to write the page (default: docs/evaluation.md)")
    parser.add_argument("--save", metavar="FILE", help="keep the results as JSON")
    parser.add_argument("--load", metavar="FILE", help="make the page from kept results")
    options = parser.parse_args()
    if options.draws < 1:
        parser.error("--draws must be at least 1")
    # Only a run over the whole zoo may replace the page of figures without being asked.
    if not (options.page or options.bugs or options.short):
        options.page = PAGE_C if options.c else PAGE
    return options


def _plan(options: argparse.Namespace, zoo: list[Bug]) -> Plan:
    if options.short:
        return Plan.short([bug for bug in zoo if bug.name in SHORT], options.seed)
    wanted = [name for name in options.bugs.split(",") if name]
    unknown = set(wanted) - {bug.name for bug in zoo}
    if unknown:
        sys.exit(f"no such bug: {', '.join(sorted(unknown))}")
    bugs = [bug for bug in zoo if not wanted or bug.name in wanted]
    seeds = range(options.seed, options.seed + options.draws)
    return Plan.native(bugs, seeds) if options.c else Plan(bugs, seeds)


def _say(draw: Draw) -> None:
    ranks = " ".join("-" if rank is None else str(rank) for rank in draw.ranks())
    few = "" if draw.enough else "  (fewer runs than wanted)"
    print(f"{draw.bug} seed {draw.seed}: rank {ranks} in {draw.runs.total} runs{few}", flush=True)
    if draw.complaint:
        print(draw.complaint, flush=True)


if __name__ == "__main__":
    sys.exit(main())
