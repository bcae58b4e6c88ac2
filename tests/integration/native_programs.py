# SPDX-License-Identifier: Apache-2.0
"""Building the C and C++ programs of tests/data/native, and single runs of them under a plan."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from unsnarl.probes.binaries import sites
from unsnarl.probes.native import build_record, program
from unsnarl.runfile import RunFile, read_run

PROGRAMS = Path(__file__).parents[1] / "data" / "native"
LIMIT = 100.0  # only what never ends comes to it, however busy the machine is


class Run(NamedTuple):
    """What came back of one run."""

    status: int
    output: str
    errors: str
    file: RunFile | None


def build(folder: Path, source: str, *options: str, compiler: str = "") -> Path:
    """The program of a source file, built with the wrapper."""
    verb, variable = ("cc", "UNSNARL_CC") if source.endswith(".c") else ("c++", "UNSNARL_CXX")
    made = folder / Path(source).stem
    words = ["-O1", "-pthread", *options, str(PROGRAMS / source), "-o", str(made)]
    done = subprocess.run(
        [sys.executable, "-m", "unsnarl", verb, *words],
        # That it cannot be built once more saves its hunts the search for a patch.
        env=os.environ | {build_record.VARIABLE: "0"} | ({variable: compiler} if compiler else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return made


def plainly(made: Path, *arguments: str) -> Run:
    """The program by itself."""
    done = subprocess.run([made, *arguments], capture_output=True, text=True, check=False)
    return Run(done.returncode, done.stdout, done.stderr, None)


def run(
    made: Path,
    strategy: str,
    seed: int,
    *arguments: str,
    through: Path | None = None,
    **plan: Any,
) -> Run:
    """One run of the program under a plan; `through`: a script that becomes it."""
    file = made.with_suffix(f".{strategy}-{seed}.run")
    plan |= {"strategy": strategy, "seed": seed, "number": seed}
    plan = {"timeout": LIMIT, **plan, "file": str(file)}
    program.store_plan(sites.Program(made), plan, Path(f"{file}.plan"))
    done = subprocess.run(
        [through or made, *arguments],
        env=os.environ | {program.PLAN: f"{file}.plan"},
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * LIMIT,
    )
    found = read_run(file) if file.exists() else None
    return Run(done.returncode, done.stdout, done.stderr, found)
