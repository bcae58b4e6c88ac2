# SPDX-License-Identifier: Apache-2.0
"""Runs on a cluster of this machine, compared with the local engine; what killed workers cost.

The same plans are made both ways. What it takes to start and to end is taken off: the difference of
many runs and few. CPU time is that of all processes.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.runs import SCRIPT
from unsnarl.config import Settings
from unsnarl.execution import target
from unsnarl.execution.runner import Runner, started
from unsnarl.model.plan import Plan

WORKERS = 2
RUNS, FEW = 500, 20
KILLS = 20


def figures(quick: bool) -> Iterator[Figure]:
    """Time of 500 runs on two workers; runs that 20 kills of workers cost."""
    with tempfile.TemporaryDirectory(prefix="unsnarl-bench-") as name:
        folder = Path(name)
        (folder / "counting.py").write_text(SCRIPT)
        wall, cpu, per_run, central = [], [], [], []
        for _ in range(1 if quick else 3):
            here, there = (cost(folder, RUNS, cluster) for cluster in ("", "local"))
            wall.append(there[0] / here[0])
            cpu.append(there[1] / here[1])
            per_run.append(1000 * (there[1] - here[1]) / (RUNS - FEW))
            central.append(1000 * there[2] / (RUNS - FEW))
        yield median("cluster: 500 runs on 2 workers, wall", wall, bar=1.2)
        yield median("cluster: the same, CPU time", cpu, bar=1.2)
        yield median("cluster: what a run costs more", per_run, unit="ms CPU")
        yield median("cluster: of a run, here and in the scheduler", central, unit="ms CPU")
        one = cost(folder, RUNS, "local", workers=1)[0]
        two = cost(folder, RUNS, "local")[0]
        yield Figure("cluster: 1 worker against 2, wall", one / two, one / two, one / two)
        kills = 5 if quick else KILLS
        lost = lost_by_kills(folder, kills)
        yield Figure(f"cluster: runs lost by {kills} kills", lost, lost, lost, unit="", bar=0)


Cost = tuple[float, float, float]


def cost(folder: Path, runs: int, cluster: str, workers: int = WORKERS) -> Cost:
    """Seconds of so many runs, without what few take anyway: wall, CPU, CPU of this process."""
    few, many = (_spent(folder, count, cluster, workers) for count in (FEW, runs))
    return many[0] - few[0], many[1] - few[1], many[2] - few[2]


def _spent(folder: Path, runs: int, cluster: str, workers: int) -> Cost:
    before, own = _cpu(), time.process_time()
    with running(folder, cluster, workers) as runner:
        start = time.monotonic()
        results = list(runner.run(plans(folder, runs)))
        seconds = time.monotonic() - start
    assert len(results) == runs
    # All processes have ended by now: only then is their time known.
    return seconds, _cpu() - before, time.process_time() - own


def plans(folder: Path, runs: int) -> list[Plan]:
    """The same each time."""
    return [
        Plan(
            strategy="walk",
            seed=number,
            number=number,
            switch="gil",
            timeout=60.0,
            file=str(folder / f"{number}.run"),
            output=str(folder / f"{number}.out"),
        )
        for number in range(1, runs + 1)
    ]


@contextmanager
def running(folder: Path, cluster: str, workers: int = WORKERS) -> Iterator[Runner]:
    """What makes runs of the script, here or on a cluster."""
    found = target.parse(("python", "counting.py"), folder)
    with started(found, folder, Settings(), jobs=workers, cluster=cluster) as runner:
        yield runner


def lost_by_kills(folder: Path, kills: int, least: int = RUNS) -> int:
    """How many of 500 runs, or of those made until all kills are done, had no result of theirs."""
    with running(folder, "local") as runner:
        done = threading.Event()
        killer = threading.Thread(target=kill_workers, args=(runner, kills, done.set))
        killer.start()
        made, lost = 0, 0
        while made < least or not done.is_set():
            some = plans(folder, made + 50)[made:]
            seen = {one.plan.number: one for one in runner.run(some)}
            lost += sum(
                one.number not in seen or seen[one.number].judgement.label != "pass" for one in some
            )
            made += len(some)
        killer.join()
    return lost


def kill_workers(runner: Runner, kills: int, done: Callable[[], None]) -> None:
    """Kill workers at random times, each while others or a successor are there."""
    draw = random.Random(1)
    client = runner.engine._client  # type: ignore[attr-defined]
    killed: set[int] = set()
    while len(killed) < kills:
        time.sleep(draw.uniform(0.2, 1.0))
        pids = list(client.run(os.getpid, on_error="ignore").values())
        alive = [pid for pid in pids if isinstance(pid, int) and pid not in killed]
        if alive:
            victim = draw.choice(alive)
            killed.add(victim)
            os.kill(victim, signal.SIGKILL)
    done()


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
