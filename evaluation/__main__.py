# SPDX-License-Identifier: Apache-2.0
"""`python -m evaluation`: hunt every bug of the zoo several times and see where the truth ranks."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator

from evaluation import table
from evaluation.draws import REPOSITORY, ZOO, Draw, draw
from evaluation.table import Row
from evaluation.truth import Bug, load_zoo

PAGE = REPOSITORY / "docs" / "evaluation.md"
FIRST_SEED = 1


def main() -> int:
    """Evaluate, print the table and, for a run over the whole zoo, rewrite the page of figures."""
    options = _options()
    bugs = _chosen(options.bugs)
    begin = time.monotonic()
    rows = [Row(bug, tuple(_draws(bug, options.draws, options.seed))) for bug in bugs]
    print("\n" + table.text(rows))
    if not options.bugs:
        PAGE.write_text(_page(rows, options.draws, time.monotonic() - begin), encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    parser.add_argument("--draws", type=int, default=5, help="hunts per bug (default: 5)")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="seed of the first draw")
    parser.add_argument("--bugs", default="", help="only these, by name: weblech,abba")
    options = parser.parse_args()
    if options.draws < 1:
        parser.error("--draws must be at least 1")
    return options


def _chosen(names: str) -> list[Bug]:
    zoo = load_zoo(ZOO)
    wanted = [name for name in names.split(",") if name]
    unknown = set(wanted) - {bug.name for bug in zoo}
    if unknown:
        sys.exit(f"no such bug: {', '.join(sorted(unknown))}")
    return [bug for bug in zoo if not wanted or bug.name in wanted]


def _draws(bug: Bug, count: int, first: int) -> Iterator[Draw]:
    for seed in range(first, first + count):
        found = draw(bug, seed)
        ranks = " ".join("-" if one is None else str(one.rank) for one in found.places)
        few = "" if found.enough else "  (fewer runs than wanted)"
        line = f"{bug.name} seed {seed}: rank {ranks} in {found.runs.total} runs{few}"
        print(line, found.complaint, flush=True)
        yield found


def _page(rows: list[Row], draws: int, seconds: float) -> str:
    command = shlex.join(["python", "-m", "evaluation", *sys.argv[1:]])
    return (
        "# Evaluation\n\n"
        f"Figures of {time.strftime('%Y-%m-%d')}, made by `{command}` on Python "
        f"{platform.python_version()} with {os.cpu_count()} cores in {seconds:.0f} s; "
        "[its README](../evaluation/README.md) says what they mean.\n\n"
        f"Each bug of the [zoo](../zoo/README.md) was hunted {draws} times with different seeds, "
        "25 failing and 25 passing runs each. "
        "Runs and seconds are medians of the draws; points are those of the finding against those "
        "needed, without the mark of the place where the program failed.\n\n" + table.markdown(rows)
    )


if __name__ == "__main__":
    sys.exit(main())
