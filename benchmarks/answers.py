# SPDX-License-Identifier: Apache-2.0
"""Whole answers, from the hunt to the patch: how many runs they take, and what CPU time a run.

What the tool itself computes between the runs is counted apart: while it does, cores are idle.
Nothing is cut off by the clock, so that a busy machine makes no difference to the runs.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.hunting import environment
from benchmarks.subject import REPOSITORY

USERS = REPOSITORY / "zoo" / "users"
PROGRAMS = ("lru_cache", "metrics_tight", "jobs_retry", "config_invariant")
QUICK_PROGRAMS = PROGRAMS[:1]
SECONDS = "600"  # far more than is needed
# The command line, which leaves the CPU seconds of its own process in the file named first.
COUNTED = """
import pathlib, resource, sys
from unsnarl.cli.main import main
file = pathlib.Path(sys.argv.pop(1))
try:
    main()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    file.write_text(str(used.ru_utime + used.ru_stime))
"""


def figures(quick: bool) -> Iterator[Figure]:
    """Three figures per program, and the runs of the median one."""
    runs = []
    for name in QUICK_PROGRAMS if quick else PROGRAMS:
        cpu, own, trials = _answer(name)
        total = sum(trials.values())
        runs.append(total)
        yield Figure(f"answers: {name}, runs", total, total, total, unit="", details=trials)
        each = 1000 * cpu / total
        yield Figure(f"answers: {name}, CPU time by run", each, each, each, unit="ms")
        share = own / cpu
        yield Figure(f"answers: {name}, share of the tool's own process", share, share, share)
    yield median("answers: runs, median program", runs, unit="", bar=None if quick else 1000)


def _answer(name: str) -> tuple[float, float, dict[str, int]]:
    """The CPU seconds of a hunt with all that follows, the tool's own, the runs of each phase."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-bench-") as folder:
        target = Path(folder) / name
        shutil.copytree(USERS / name, target, ignore=shutil.ignore_patterns("fixed", ".unsnarl"))
        (test,) = target.glob("test_*.py")
        report, own = target / "report.json", Path(folder) / "own"
        options = (f"--json={report}", "--seed", "1", "--time", SECONDS)
        before = _seconds()
        subprocess.run(
            [
                *(sys.executable, "-c", COUNTED, str(own)),
                *("hunt", *options, "--", "pytest", "-q", test.name),
            ],
            cwd=target,
            env=environment() | {"UNSNARL_ANSWER": SECONDS},
            capture_output=True,
            check=False,
        )
        content = json.loads(report.read_text())
        seconds = float(own.read_text())
    return _seconds() - before, seconds, {"hunt": content["runs"]["total"], **content["trials"]}


def _seconds() -> float:
    """Of all processes below this one that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
