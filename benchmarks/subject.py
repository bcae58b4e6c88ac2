# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison, seen from the process that compares them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
KERNELS = REPOSITORY / "benchmarks" / "kernels"


class SubjectError(Exception):
    """A kernel did not come to its end, or its two sides disagree."""


class Subject:
    """A worker process (worker.py)."""

    def __init__(self, mode: str, root: Path, python: str = sys.executable) -> None:
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", mode, str(root)],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONHASHSEED": "0"},
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The worker's answer to one request."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the worker died"}
        if "error" in answer:
            raise SubjectError(answer["error"])
        return answer

    def close(self) -> None:
        """End the worker."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Pair:
    """A plain and a probed worker, asked in turn."""

    def __init__(self, root: Path, folder: Path, python: str = sys.executable) -> None:
        self.plain = Subject("plain", root, python)
        self.probed = Subject("probed", root, python)
        self.run_file = folder / "benchmark.run"

    def run_plain(self, kernel: str, size: int, threads: int) -> dict[str, Any]:
        """One run of the kernel as it is."""
        return self.plain.ask(
            {"load": [kernel], "kernel": kernel, "size": size, "threads": threads}
        )

    def run_probed(
        self, kernel: str, size: int, threads: int, plan: dict[str, Any]
    ) -> dict[str, Any]:
        """One run of the kernel under a plan; its file is `run_file`."""
        whole = {"number": 0, "seed": 1, "switch": "gil", "timeout": 300.0}
        whole |= {"file": str(self.run_file)} | plan
        request = {"load": [kernel], "kernel": kernel, "size": size, "threads": threads}
        return self.probed.ask(request | {"plan": whole})

    def close(self) -> None:
        """End both workers."""
        self.plain.close()
        self.probed.close()


@contextmanager
def pair(root: Path = KERNELS, python: str = sys.executable) -> Iterator[Pair]:
    """Both workers, for the time of a comparison."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-bench-") as folder:
        both = Pair(root, Path(folder), python)
        try:
            yield both
        finally:
            both.close()
