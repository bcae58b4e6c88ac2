# SPDX-License-Identifier: Apache-2.0
"""The Python zoo in another interpreter: `python -m evaluation.other_python PYTHON [BUG ...]`.

unsnarl itself runs in this one. In the other only the probes are needed, so it may be one that
unsnarl's own dependencies do not support: `pip install --no-deps unsnarl` there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from evaluation.draws import ZOO, copy_of
from evaluation.truth import Bug, load_zoo, rank_of_truth
from unsnarl.model.report import Report


def hunted(bug: Bug, python: Path, *options: str) -> Report | None:
    """The report of one hunt of a bug; None if there was none."""
    path = os.pathsep.join((str(python.parent), os.environ["PATH"]))
    with copy_of(Path(bug.folder)) as folder:
        words = ["hunt", "--json=answer.json", "--seed", "1", "--jobs", "1", *options, "--"]
        done = subprocess.run(
            [sys.executable, "-m", "unsnarl", *words, *bug.command],
            cwd=folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        answer = folder / "answer.json"
        if not answer.exists():
            print(done.stderr[-2000:], file=sys.stderr)
            return None
        return msgspec.json.decode(answer.read_bytes(), type=Report)


def row(bug: Bug, report: Report | None) -> tuple[bool, bool, str]:
    """Whether it failed, whether a true cause is confirmed, and all that in words."""
    if report is None or not report.failures:
        return False, False, f"{bug.name}: not found"
    failure = report.failures[0]
    rank = rank_of_truth(bug, failure.signature, failure.findings)
    at_rank = [one for one in failure.findings if one.rank == rank]
    status = at_rank[0].status if at_rank else "-"
    latent = " LATENT" if failure.latent else ""
    runs = report.runs
    text = f"{bug.name}: {runs.fail} fail, {runs.passed} pass, rank {rank}, {status}{latent}"
    return True, status == "confirmed", text


def main(python: str, *names: str) -> None:
    """Hunt the bugs with these names, or all."""
    # Not resolved: the link is what says which environment it is.
    found = confirmed = total = 0
    for bug in load_zoo(ZOO):
        if names and bug.name not in names:
            continue
        is_found, is_confirmed, text = row(bug, hunted(bug, Path(python).absolute()))
        total, found, confirmed = total + 1, found + is_found, confirmed + is_confirmed
        print(text, flush=True)
    print(f"{found} of {total} found, the true cause of {confirmed} confirmed")


if __name__ == "__main__":
    main(*sys.argv[1:])
