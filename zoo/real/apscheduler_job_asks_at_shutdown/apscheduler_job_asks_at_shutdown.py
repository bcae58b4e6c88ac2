# SPDX-License-Identifier: Apache-2.0
"""A nightly report looks up when the next backup is due; the program ends, and waits for its jobs."""

import collections
import collections.abc
import logging
import os
import sys
import threading
import time

for _name in ("Iterable", "Mapping", "MutableMapping"):  # this release is older than Python 3.10
    setattr(collections, _name, getattr(collections.abc, _name))

import pytz  # noqa: E402
from apscheduler.schedulers.background import BackgroundScheduler  # noqa: E402

REPORT = []


def back_up():
    pass


def report(scheduler):
    backup = scheduler.get_job("backup")
    REPORT.append(f"next backup: {backup.next_run_time:%H:%M}" if backup else "no backup")


def main():
    logging.disable(logging.CRITICAL)
    scheduler = BackgroundScheduler(timezone=pytz.utc)
    scheduler.add_job(back_up, "interval", id="backup", hours=24)
    scheduler.add_job(report, args=(scheduler,))
    scheduler.start()
    time.sleep(0.1)

    ending = threading.Thread(target=scheduler.shutdown, daemon=True)
    ending.start()
    ending.join(timeout=5)
    if ending.is_alive():
        print("the scheduler does not end; report:", REPORT, flush=True)
        os._exit(1)  # Python would wait for the job, too
    return 0 if len(REPORT) == 1 else 2


if __name__ == "__main__":
    sys.exit(main())
