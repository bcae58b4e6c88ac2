# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.watched_kernel KERNEL SIZE THREADS BUDGET`: one side, plain if BUDGET is 0.

Repeats a kernel for a while whenever it is given a line, and answers with the CPU seconds of the
repetitions. The parent asks both sides in turns.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import unsnarl.watch

KERNELS = Path(__file__).parent / "kernels"
TURN = 2.0  # seconds of the processor


def main(kernel: str, size: int, threads: int, budget: float) -> None:
    """Serve until standard input ends."""
    sys.path.insert(0, str(KERNELS))
    run = importlib.import_module(kernel).run
    with tempfile.TemporaryDirectory() as spool:
        if budget:
            options = {"budget": budget, "spool": spool, "root": str(KERNELS), "analyst": False}
            unsnarl.watch.start(short_lived=True, **options)
        _turn(run, size, threads)  # with the set-up, which is measured elsewhere
        for _ in sys.stdin:
            samples = _turn(run, size, threads)
            found = [(one.bursts, one.ledger.overhead) for one in unsnarl.watch._watcher]
            print(json.dumps({"samples": samples, "watched": found}), flush=True)
        unsnarl.watch.stop()


def _turn(run: Callable[[int, int], object], size: int, threads: int) -> list[float]:
    samples: list[float] = []
    while sum(samples) < TURN:
        before = time.process_time()
        run(size, threads)
        samples.append(time.process_time() - before)
    return samples


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    main(name, int(numbers[0]), int(numbers[1]), float(numbers[2]))
