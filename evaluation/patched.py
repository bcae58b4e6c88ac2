# SPDX-License-Identifier: Apache-2.0
"""A shown patch is written into the files and hunted: `no wrong patch` is checked, not believed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from evaluation.draws import build, environment
from evaluation.truth import load_bug
from unsnarl.model.report import Patch, Report, numbered

RUNS = 1000
SECONDS = 600  # all of them, on a busy machine, too


class Patched(NamedTuple):
    """The kind of a patch, and how many runs failed when it was applied."""

    patch: str = ""
    patched_fail: int = 0
    patched_runs: int = 0


def apply_and_hunt(
    folder: Path, number: int, command: Sequence[str], options: Sequence[str]
) -> Patched:
    """Apply the patch of a finding in a folder that was hunted, and hunt what is there then.

    What has to be compiled is compiled anew, as its bug.toml says.
    """
    answer = folder / "patch.json"
    _unsnarl(folder, "fix", "--apply", f"--json={answer}", str(number))
    patch = _shown(answer, number)
    if patch is None or not patch.works:
        return Patched()
    if (folder / "bug.toml").exists():
        build(load_bug(folder))
    after = folder / "patched.json"
    wanted = str(RUNS)
    counts = ("--fail", wanted, "--pass", wanted, "--max-runs", wanted)
    limits = ("--no-confirm", *counts, "--time", str(SECONDS))
    _unsnarl(folder, "hunt", f"--json={after}", *limits, *options, "--", *command)
    if not after.exists():
        return Patched(patch.kind)
    runs = msgspec.json.decode(after.read_bytes(), type=Report).runs
    return Patched(patch.kind, runs.fail + runs.hang, runs.total)


def _shown(answer: Path, number: int) -> Patch | None:
    if not answer.exists():
        return None
    report = msgspec.json.decode(answer.read_bytes(), type=Report)
    return next((one.finding.patch for one in numbered(report) if one.number == number), None)


def _unsnarl(folder: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "unsnarl", *arguments],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
