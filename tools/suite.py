# SPDX-License-Identifier: Apache-2.0
"""suite.py FOLDER...: every part of `make test`; the folders are the other Pythons' environments.

A part that fails does not keep the others from running. The last lines say what failed, in all
parts: whoever sees only the end of the output must be able to find the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from xml.etree import ElementTree

REPOSITORY = Path(__file__).parents[1]
LOGS = REPOSITORY / "build" / "suite"
# Of a failed test, and of the output of a part that is no test.
TEST_LINES, PART_LINES = 12, 30
MOST_TESTS = 25


@dataclass
class Part:
    """One command, and what came of it. Where pytest is called, it writes `results`.

    What it prints is shown in one piece, since parts run at the same time; if `is_live`, at once.
    """

    name: str
    command: Sequence[str]
    logs: Path = LOGS
    is_live: bool = False
    code: int | None = None
    seconds: float = 0.0

    @property
    def log(self) -> Path:
        """What it printed."""
        return self.logs / f"{self.name}.log"

    @property
    def results(self) -> Path:
        """What became of its tests (JUnit)."""
        return self.logs / f"{self.name}.xml"

    def run(self) -> None:
        """Run it to its end."""
        begin = time.monotonic()
        with self.log.open("wb") as log:
            self.code = self._started(log)
        self.seconds = time.monotonic() - begin
        if not self.is_live:
            text = self.log.read_text(encoding="utf-8", errors="replace")
            print(f"== {self.name}: {self.seconds:.0f} s, exit {self.code}\n{text}", flush=True)

    def _started(self, log: BinaryIO) -> int:
        pipe, both = subprocess.PIPE, subprocess.STDOUT
        with subprocess.Popen(
            self.command, cwd=REPOSITORY, stdout=pipe, stderr=both, env=environment(self.command[0])
        ) as process:
            assert process.stdout is not None
            while piece := os.read(process.stdout.fileno(), 1 << 16):
                log.write(piece)
                if self.is_live:
                    sys.stdout.buffer.write(piece)
                    sys.stdout.buffer.flush()
        return process.returncode

    def summary(self) -> list[str]:
        """What failed; nothing if nothing did."""
        if self.code == 0:
            return []
        head = f"{self.name}: exit {self.code}, `{' '.join(self.command)}`"
        failed = failed_tests(self.results)
        if not failed:
            return [head, *last_lines(self.log.read_text(errors="replace"), PART_LINES)]
        shown = [line for test in failed[:MOST_TESTS] for line in test]
        more = [f"  and {len(failed) - MOST_TESTS} more"] if len(failed) > MOST_TESTS else []
        return [head, *shown, *more]


def environment(program: str) -> dict[str, str]:
    """For an interpreter: tests start `python` and scripts, and mean those next to it."""
    folder = Path(program).parent
    first = [str(folder)] if folder.is_absolute() else []
    return os.environ | {"PATH": os.pathsep.join((*first, os.environ["PATH"]))}


def failed_tests(results: Path) -> list[list[str]]:
    """Of each failed test its name and where it failed, from a JUnit file, if there is one."""
    try:
        tree = ElementTree.parse(results)
    except (OSError, ElementTree.ParseError):
        return []
    return [
        [f"  {case.get('classname')}::{case.get('name')}", *last_lines(bad.text or "", TEST_LINES)]
        for case in tree.iter("testcase")
        for bad in case
        if bad.tag in {"failure", "error"}
    ]


def last_lines(text: str, count: int) -> list[str]:
    """The end of a text, indented."""
    return [f"    {line}" for line in text.rstrip().splitlines()[-count:]]


def tests(name: str, python: str, *options: str, is_live: bool = False) -> Part:
    """A part that is a call of pytest."""
    results = LOGS / f"{name}.xml"
    command = [python, "-m", "pytest", "-q", f"--junitxml={results}", *options]
    return Part(name, command, is_live=is_live)


def lane(parts: Sequence[Part]) -> None:
    """One part after the other."""
    for part in parts:
        part.run()


def at_once(*lanes: Sequence[Part]) -> None:
    """Several lanes at the same time, to their end."""
    threads = [threading.Thread(target=lane, args=(parts,)) for parts in lanes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def run_all(others: Sequence[str]) -> list[Part]:
    """All parts, those that use one core next to each other."""
    lint = Part("lint", ["make", "--no-print-directory", "lint"])
    native = Part("native", ["make", "--no-print-directory", "test-native"])
    # Hunts wait for their targets now and then: the other Pythons use the time that the workers
    # leave.
    main = tests("main", sys.executable, "-n", "auto", "-m", "not alone", is_live=True)
    core = [
        tests(Path(one).name, str(REPOSITORY / one / "bin" / "python"), "-m", "core")
        for one in others
    ]
    alone = tests("alone", sys.executable, "-m", "alone")
    at_once([main], [lint, native, *core])
    lane([alone])
    return [lint, native, main, *core, alone]


def main() -> int:
    """Run the suite, say what failed."""
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    os.environ.pop("MAKEFLAGS", None)  # the calls of make below have jobs of their own
    begin = time.monotonic()
    parts = run_all(sys.argv[1:])
    failed = [part for part in parts if part.code != 0]
    print("\n".join(line for part in failed for line in part.summary()))
    for part in parts:
        print(f"{'FAILED' if part in failed else 'passed'}  {part.name}  {part.seconds:.0f} s")
    print(f"suite: {len(failed)} of {len(parts)} parts failed, {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
