# SPDX-License-Identifier: Apache-2.0
"""Runs per second of a hunt on a small program, compared with forks that do nothing else."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.hunting import hunt
from benchmarks.subject import REPOSITORY

SCRIPT = '''\
"""Three threads count together, correctly."""

import threading

lock = threading.Lock()
count = 0


def work():
    global count
    for _ in range(5):
        with lock:
            count += 1


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert count == 15
'''
# Two threads that talk: each waits 30 times for what the other sends, where the gate cannot see it.
TALKING = """\
import socket
import threading

here, there = socket.socketpair()


def answer():
    for _ in range(30):
        there.recv(1)
        there.sendall(b"x")


thread = threading.Thread(target=answer)
thread.start()
for _ in range(30):
    here.sendall(b"x")
    here.recv(1)
thread.join()
"""
FEW = 40


def figures(quick: bool) -> Iterator[Figure]:
    """Runs per second, with and without a hunt around them."""
    many, rounds = (240, 2) if quick else (640, 5)
    hunted, bare = [], []
    with tempfile.TemporaryDirectory(prefix="unsnarl-bench-") as folder:
        script = Path(folder) / "counting.py"
        script.write_text(SCRIPT)
        for _ in range(rounds):
            bare.append(_bare_forks(many))
            hunted.append((many - FEW) / (_seconds(script, many) - _seconds(script, FEW)))
    yield median("runs: hunted, 3 threads", hunted, unit="/s", bar=150, at_least=True)
    yield median("runs: bare fork, 3 threads", bare, unit="/s")
    yield Figure(
        "runs: hunted against bare",
        statistics.median(hunted) / statistics.median(bare),
        min(hunted) / max(bare),
        max(hunted) / min(bare),
    )
    yield from _talking(2 if quick else 5)


def _talking(rounds: int) -> Iterator[Figure]:
    """Milliseconds of a run that waits for sockets: most of it is until the gate notices a wait."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-bench-") as folder:
        script = Path(folder) / "talking.py"
        script.write_text(TALKING)
        each = [
            (_seconds(script, 3 * FEW) - _seconds(script, FEW)) / (2 * FEW) for _ in range(rounds)
        ]
    yield median("runs: two threads that talk by sockets", [1000 * one for one in each], unit="ms")


def _seconds(script: Path, runs: int) -> float:
    """The time of a hunt of so many runs; the difference of two is free of start and end."""
    report = hunt(script.parent, ["python", script.name], "--max-runs", str(runs), "--time", "120")
    counts = report.json["runs"]
    if counts["total"] != runs or counts["pass"] != runs:
        raise RuntimeError(f"a program without a bug gave {counts}")
    return report.wall


def _bare_forks(count: int) -> float:
    """Forks per second of a process that does nothing else (forks.py)."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.forks", str(count)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout)
