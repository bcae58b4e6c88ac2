# SPDX-License-Identifier: Apache-2.0
"""Real hunts: the command, its report and its store."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.subject import REPOSITORY

ZOO = REPOSITORY / "zoo" / "python"
EXPECTED = (0, 1)  # a failure was found, or none


@dataclass(frozen=True)
class Hunt:
    """A finished hunt."""

    json: dict[str, Any]
    folder: Path
    wall: float

    def first_failing(self) -> int | None:
        """The number of the first run that did not pass."""
        with closing(sqlite3.connect(self.folder / "campaign.sqlite")) as database:
            row = database.execute("SELECT min(number) FROM runs WHERE label <> 'pass'").fetchone()
        return None if row[0] is None else int(row[0])


def hunt(cwd: Path, command: list[str], *options: str) -> Hunt:
    """Run `unsnarl hunt` in a folder."""
    report = cwd / "report.json"
    start = time.perf_counter()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "unsnarl",
            "hunt",
            f"--json={report}",
            "--no-confirm",
            *options,
            "--",
            *command,
        ],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    wall = time.perf_counter() - start
    if done.returncode not in EXPECTED:
        raise RuntimeError(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    content = json.loads(report.read_text())
    return Hunt(content, cwd / ".unsnarl" / content["campaign"], wall)


def environment() -> dict[str, str]:
    """`python` and `pytest` in commands mean those of this interpreter."""
    folder = str(Path(sys.executable).parent)
    return os.environ | {"PATH": os.pathsep.join((folder, os.environ.get("PATH", "")))}


@dataclass(frozen=True)
class Bug:
    """One bug of the zoo."""

    name: str
    switch: str
    command: list[str]
    fixed: list[str]


def bugs() -> list[Bug]:
    """The zoo, by name."""
    found = []
    for path in sorted(ZOO.glob("*/bug.toml")):
        toml = tomllib.loads(path.read_text(encoding="utf-8"))
        found.append(Bug(toml["name"], toml["switch"], toml["command"], toml["fixed"]))
    return found


@contextmanager
def copy_of(bug: Bug) -> Iterator[Path]:
    """A folder with the bug's files, and nothing of earlier hunts."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-bench-") as folder:
        target = Path(folder) / bug.name
        ignored = shutil.ignore_patterns(".unsnarl", "__pycache__", ".pytest_cache")
        shutil.copytree(ZOO / bug.name, target, ignore=ignored)
        yield target
