# SPDX-License-Identifier: Apache-2.0
"""A status table is on the screen while the work goes on, and is taken down when it is done."""

import io
import sys
import threading

from rich.console import Console
from rich.live import Live
from rich.table import Table


def report(rows):
    table = Table("job", "state")
    for job, state in rows:
        table.add_row(job, state)
    return table


def work(done):
    console = Console(file=io.StringIO(), force_terminal=True, width=40)
    table = report([("index", "running")])
    options = {"refresh_per_second": 1000, "redirect_stdout": False, "redirect_stderr": False}
    with Live(table, console=console, **options) as live:
        live.update(report([("index", "running"), ("upload", "waiting")]))
        live.update(report([("index", "ready"), ("upload", "ready")]))
    done.set()


def main():
    done = threading.Event()
    worker = threading.Thread(target=work, args=(done,), daemon=True)
    worker.start()
    if not done.wait(timeout=5):
        print("the table is never taken down")
        return 1
    worker.join()
    return 0


if __name__ == "__main__":
    sys.exit(main())
