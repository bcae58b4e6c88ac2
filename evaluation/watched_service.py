# SPDX-License-Identifier: Apache-2.0
"""A busy process that calls a program of the zoo over and over, watched.

`python -m evaluation.watched_service FILE RUNS BUDGET SPOOL BASELINE`. The interpreter switches
threads every 100 microseconds, and another thread computes: programs that take a fifth of a
millisecond hardly overlap otherwise. Prints how it went as JSON.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
import threading
import time
from pathlib import Path

import unsnarl.watch

INTERVAL = 1e-4
OTHERS = 1
UP_SINCE = 3.0  # seconds of the processor: a deployed process has been up for a while


def main(file: str, runs: int, budget: float, spool: str, baseline: str) -> None:
    """Run the program, print."""
    sys.setswitchinterval(INTERVAL)
    threading.excepthook = lambda _: None
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(Path.cwd()))
    spec.loader.exec_module(module)
    options = {"budget": budget, "spool": spool, "baseline": baseline, "short_lived": True}
    unsnarl.watch.start(program=file, analyst=False, **options)
    for _ in range(OTHERS):
        threading.Thread(target=_compute, daemon=True).start()
    while time.process_time() < UP_SINCE:
        time.sleep(0.1)
    failing = 0
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(runs):
            failing += _fails(module.main)
    (watcher,) = unsnarl.watch._watcher
    unsnarl.watch.stop()
    ledger, own = watcher.ledger, watcher.ledger.left_to_program
    share = (ledger.spent - ledger.set_up) / own
    print(json.dumps({"failing": failing, "bursts": watcher.bursts, "overhead": share}))


def _compute() -> None:
    while True:
        sum(number for number in range(1000))


def _fails(run: object) -> bool:
    try:
        run()  # type: ignore[operator]
    except SystemExit as error:
        return bool(error.code)
    except BaseException:
        return True
    return False


if __name__ == "__main__":
    name, count, share, folder, known = sys.argv[1:]
    main(name, int(count), float(share), folder, known)
