# SPDX-License-Identifier: Apache-2.0
"""Native programs of the benchmarks: built in several ways, run alone or under a plan."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.subject import SubjectError
from unsnarl.probes.binaries import sites
from unsnarl.probes.native.program import PLAN, store_plan

SOURCES = Path(__file__).resolve().parent / "native_kernels"
APART = ("events.c", "fast_path.c", "late.c", "stub.c", "switches.c")  # programs of their own
KERNELS = tuple(sorted(path for path in SOURCES.glob("*.c") if path.name not in APART))
COMPILERS = ("gcc", "clang")
# Its reports would be timed, too.
QUIET = {"TSAN_OPTIONS": "report_bugs=0 exitcode=0"}
FREE = {"strategy": "free"}


@dataclass(frozen=True)
class Build:
    """A way to build: by which compiler, and plain, tracked (ours), or sanitized (its own)."""

    kind: str
    compiler: str

    @property
    def command(self) -> list[str]:
        """The command that stands for the compiler."""
        if self.kind == "tracked":
            return [sys.executable, "-m", "unsnarl", "cc"]
        return [self.compiler, *(["-fsanitize=thread"] if self.kind == "sanitized" else [])]


class Program:
    """An executable; `build` says what may be asked of it."""

    def __init__(self, path: Path, build: Build) -> None:
        self.path, self.build = path, build
        self.run_file = path.with_suffix(".run")
        self._program = sites.Program(path) if build.kind == "tracked" else None

    def run(self, *arguments: object, plan: dict[str, Any] | None = None) -> str:
        """What it prints. Addresses are those of every run, as in a hunt."""
        environment = os.environ | QUIET | (self._store(plan) if plan is not None else {})
        command = ["setarch", "-R", str(self.path), *map(str, arguments)]
        return _output(command, environment)

    def measure(self, *arguments: object, plan: dict[str, Any] | None = None) -> dict[str, Any]:
        """The line of JSON that it prints."""
        found: dict[str, Any] = json.loads(self.run(*arguments, plan=plan))
        return found

    def _store(self, plan: dict[str, Any]) -> dict[str, str]:
        path = self.path.with_suffix(".plan")
        assert self._program is not None
        store_plan(self._program, {"file": str(self.run_file), **plan}, path)
        return {PLAN: str(path)}


class Workshop:
    """Builds programs in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def program(self, build: Build, name: str, paths: Sequence[Path], *flags: str) -> Program:
        """Builds one; SubjectError says what the compiler said."""
        path = self._folder / f"{name}-{build.kind}-{build.compiler}"
        command = [*build.command, "-O2", "-pthread", *map(str, paths), "-o", str(path), *flags]
        _output(command, os.environ | {"UNSNARL_CC": build.compiler})
        return Program(path, build)

    def kernels(self, build: Build) -> Program:
        """All kernels, as one program."""
        flags = ("-DWITH_BZIP2", "-lbz2") if has_bzip2() else ()
        return self.program(build, "kernels", KERNELS, *flags, "-lm")

    def stub(self, name: str, paths: Sequence[Path]) -> Program:
        """Compiled as for a probe, linked to one that does nothing."""
        part = self._folder / f"{name}.o"
        flags = ("-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0")
        _output(["gcc", "-O2", *flags, "-c", *map(str, paths), "-o", str(part)], dict(os.environ))
        return self.program(Build("plain", "gcc"), f"{name}-stub", [part, SOURCES / "stub.c"])


@contextmanager
def workshop() -> Iterator[Workshop]:
    """A folder that goes away with what was built in it."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-native-") as folder:
        yield Workshop(Path(folder))


def has_bzip2() -> bool:
    """Whether libbz2 can be compiled against."""
    command = ["gcc", "-E", "-include", "bzlib.h", "-x", "c", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def compilers() -> list[str]:
    """Those that are installed."""
    return [name for name in COMPILERS if shutil.which(name)]


def say(text: str) -> None:
    """What a reader of the figures has to know."""
    print(f"native: {text}", file=sys.stderr, flush=True)


def timed(program: Program, *arguments: object, plan: dict[str, Any]) -> tuple[float, float]:
    """Wall and CPU seconds of a whole run, its start and end included."""
    start, before = time.perf_counter(), _children_cpu()
    program.run(*arguments, plan=plan)
    return time.perf_counter() - start, _children_cpu() - before


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _output(command: Sequence[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip()[-2000:]
        raise SubjectError(f"{' '.join(command)} exits with {done.returncode}: {said}")
    return done.stdout
