# SPDX-License-Identifier: Apache-2.0
"""A program of Debian built by one compiler, and its runs: as they are, tracked, measured."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

from evaluation.program_recipes import Build, Recipe
from evaluation.program_sources import unpack
from unsnarl.probes.binaries.sites import Program
from unsnarl.probes.native.program import PLAN, store_plan
from unsnarl.runfile import RunFileError, read_run

# In the name of a run file: the wrapper puts the process's number there.
NOBODY = "run-00000000"
COUNTED = re.compile(r"^# (PASS|FAIL|ERROR|TOTAL): +(\d+)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Checked:
    """What came of a test suite under tracking."""

    status: int
    passed: int
    total: int
    runs: int  # that left a run file
    threads: int  # the most of one run
    edges: int  # of all runs
    damaged: int

    @property
    def good(self) -> bool:
        """The suite passed, and its runs were tracked."""
        return not self.status and self.runs > 0 and not self.damaged


class BuildError(Exception):
    """A compiler does not take the source as it is."""


class Built:
    """One build of one program."""

    def __init__(self, recipe: Recipe, build: Build, archive: Path, folder: Path) -> None:
        self.recipe = recipe
        self.build = build
        self._folder = folder
        folder.mkdir(parents=True)
        self._source = unpack(archive, folder)
        self.program = self._source / recipe.program
        for step in recipe.steps:
            if self._shell(step, MAKEFLAGS=f"-j{os.cpu_count()}").returncode:
                raise BuildError(f"{recipe.name} cannot be built by {build.name}: {step}")

    def _shell(self, step: str, **more: str) -> subprocess.CompletedProcess[str]:
        words = {"cc": shlex.quote(self.build.cc), "cxx": shlex.quote(self.build.cxx)}
        command = step.format(**words)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self._source,
            env=os.environ | {"PATH": path} | more,
            capture_output=True,
            text=True,
            check=False,
        )
        with (self._folder / "log").open("a") as log:
            log.write(f"$ {command}\n{done.stdout}{done.stderr}")
        return done

    def seconds(self, words: str, given: Path, out: Path, tracked: bool) -> float:
        """Processor time of one run, from a file to a file."""
        environment = dict(os.environ)
        if tracked:
            plan = self._folder / "one.plan"
            self._store_plan(plan, self._folder / "one.run")
            environment[PLAN] = str(plan)
        with given.open("rb") as source, out.open("wb") as sink:
            process = subprocess.Popen(
                [self.program, *shlex.split(words)],
                stdin=source,
                stdout=sink,
                stderr=subprocess.DEVNULL,
                env=environment | {"TSAN_OPTIONS": "report_bugs=0"},
            )
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{self.program} {words} ends with {process.returncode}")
        return usage.ru_utime + usage.ru_stime

    def _store_plan(self, path: Path, run: Path) -> None:
        """Track everything, stop nothing."""
        store_plan(Program(self.program), {"strategy": "free", "file": str(run)}, path)

    def check(self) -> Checked:
        """Run the test suite with a script in the program's place that tracks each run of it."""
        runs = self._folder / "runs"
        runs.mkdir()
        plan = self._folder / "template"
        self._store_plan(plan, runs / f"{NOBODY}.run")
        real = self.program.with_name(f"{self.program.name}.real")
        self.program.rename(real)
        self.program.write_text(_wrapper(plan, runs, real))
        self.program.chmod(0o755)
        try:
            done = self._shell(self.recipe.check)
        finally:
            real.rename(self.program)
        return _checked(done, runs)


def _wrapper(plan: Path, runs: Path, real: Path) -> str:
    """A plan is used up by its run, and names its run file: each run gets a copy."""
    return f"""#!/bin/bash
number=$(printf 'run-%08d' $$)
LC_ALL=C sed "s/{NOBODY}/$number/" {shlex.quote(str(plan))} > {shlex.quote(str(runs))}/$number.plan
{PLAN}={shlex.quote(str(runs))}/$number.plan exec -a "$0" {shlex.quote(str(real))} "$@"
"""


def _checked(done: subprocess.CompletedProcess[str], runs: Path) -> Checked:
    counted = {word: int(number) for word, number in COUNTED.findall(done.stdout)}
    threads, edges, good, damaged = 0, 0, 0, 0
    for path in runs.glob("*.run"):
        try:
            run = read_run(path)
        except RunFileError:
            damaged += 1
            continue
        good += 1
        threads = max(threads, len(run.threads))
        edges += len(run.edges)
    total = counted.get("TOTAL", 0)
    return Checked(done.returncode, counted.get("PASS", 0), total, good, threads, edges, damaged)


def stamp() -> str:
    """The day, for the page."""
    return time.strftime("%Y-%m-%d")
