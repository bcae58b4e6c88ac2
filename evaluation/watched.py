# SPDX-License-Identifier: Apache-2.0
"""`python -m evaluation.watched`: is the planted bug among the first anomalies of watched runs?

For each program of the Python zoo that is a script and cannot deadlock: a baseline of its passing
runs, 200 watched runs at 5 %, and the rank of the first anomaly whose points are all in the known
cause. Writes docs/watched-zoo.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from evaluation.draws import REPOSITORY, ZOO
from evaluation.truth import Bug, load_zoo
from evaluation.watched_service import UP_SINCE
from unsnarl.anomalies.analyst import Analyst
from unsnarl.anomalies.points import Anchored
from unsnarl.errors import UnsnarlError
from unsnarl.workflows.communication import write_baseline

PAGE = REPOSITORY / "docs" / "watched-zoo.md"
RUNS, BUDGET, FIRST, WANTED = 200, 0.05, 5, 8
BASELINE_RUNS, BASELINE_SECONDS, SECONDS = 60, 20, 120


class Row(msgspec.Struct, frozen=True):
    """One program; `rank` is None if the bug is not among the anomalies."""

    name: str
    baseline: int
    failing: int
    bursts: int
    overhead: float
    anomalies: int
    rank: int | None


def main() -> int:
    """Measure, print, write the page."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.watched", description=__doc__)
    parser.add_argument("--bugs", default="", help="only these, by name; no page is written")
    wanted = [one for one in parser.parse_args().bugs.split(",") if one]
    rows = []
    for bug in load_zoo(ZOO):
        if _is_script(bug) and (not wanted or bug.name in wanted):
            row = _measured(bug)
            if row is not None:
                print(row, flush=True)
                rows.append(row)
    if not wanted:
        PAGE.write_text(_page(rows), encoding="utf-8")
    print(f"{_found(rows)} of {len(rows)} among the first {FIRST}")
    return 0


def _is_script(bug: Bug) -> bool:
    return bug.command[0] == "python" and bug.type != "deadlock"


def _measured(bug: Bug) -> Row | None:
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        folder = Path(scratch) / bug.name
        shutil.copytree(ZOO / bug.name, folder)
        os.chdir(folder)
        with _quietly():
            flags = {"time": BASELINE_SECONDS}
            file = folder / "baseline.json"
            known = write_baseline(tuple(bug.command), file, runs=BASELINE_RUNS, flags=flags)
            arguments = [bug.command[1], str(RUNS), str(BUDGET), str(folder / "spool"), str(file)]
            done = subprocess.run(
                [sys.executable, "-m", "evaluation.watched_service", *arguments],
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=True,
            )
            analyst = Analyst(folder / "spool")
            suspects = analyst.look().suspects
            anchors = analyst.spool.points.anchors
            pairs = [[anchors[end] for end in one.pair] for one in suspects]
            is_right = [all(_is_true(bug, one) for one in pair) for pair in pairs]
            answer = json.loads(done.stdout)
            rank = is_right.index(True) + 1 if any(is_right) else None
            return Row(bug.name, known.edges, **answer, anomalies=len(pairs), rank=rank)
    print(f"{bug.name}: could not be measured", flush=True)
    return None


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """One program that hangs or fails for good costs its own row only."""
    try:
        yield
    except (UnsnarlError, subprocess.SubprocessError, ValueError) as error:
        print(f"{type(error).__name__}: {str(error)[:200]}", flush=True)


def _is_true(bug: Bug, point: Anchored) -> bool:
    return any(
        point.function == one.function and one.text in point.text and point.op == one.op
        for cause in bug.causes
        for one in cause.points
    )


def _found(rows: list[Row]) -> int:
    return sum(one.rank is not None and one.rank <= FIRST for one in rows)


PAGE_TEXT = """\
# Watched programs of the zoo

Made by `python -m evaluation.watched`. Each program is called {runs} times, one call after the
other, in one process that has been busy with other work for {up:.0f} seconds of the processor
(`evaluation/watched_service.py`), watched at {budget:.0%}; its set-up is not charged. The baseline
has the passing ones of {known} runs. An anomaly is right if both of its points belong to the known
cause.

The bug is among the first {first} anomalies in **{found} of {all}** programs (wanted: {wanted},
{verdict}). Few of these runs fail: an anomaly is often the first half of a failure that did not
come about.

| program | edges of the baseline | failing runs | bursts | overhead | anomalies | rank of the bug |
|---|---|---|---|---|---|---|
"""


def _page(rows: list[Row]) -> str:
    found = _found(rows)
    head = PAGE_TEXT.format(
        runs=RUNS,
        up=UP_SINCE,
        budget=BUDGET,
        known=BASELINE_RUNS,
        first=FIRST,
        found=found,
        all=len(rows),
        wanted=WANTED,
        verdict="met" if found >= WANTED else "missed",
    )
    lines = [
        f"| {one.name} | {one.baseline} | {one.failing} | {one.bursts} | {one.overhead:.1%} | "
        f"{one.anomalies} | {one.rank or '-'} |"
        for one in rows
    ]
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
