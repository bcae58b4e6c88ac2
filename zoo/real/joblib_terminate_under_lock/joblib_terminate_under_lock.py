# SPDX-License-Identifier: Apache-2.0
"""Files are checked by two workers; the first bad file ends the whole check."""

import os
import sys
import threading

from joblib import Parallel, delayed

FILES = ["a.csv", "b.csv", "bad.csv", "c.csv", "d.csv", "e.csv", "f.csv"]


def check(name):
    if name.startswith("bad"):
        raise ValueError(name)
    return len(name)


class Check(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.outcome = None

    def run(self):
        try:
            self.outcome = Parallel(n_jobs=2, backend="threading", pre_dispatch=3)(
                delayed(check)(name) for name in FILES
            )
        except Exception as exc:
            self.outcome = exc


def main():
    job = Check()
    job.start()
    job.join(timeout=3)
    if job.is_alive():
        print("the check does not end")
        return 1
    if not isinstance(job.outcome, ValueError):
        print("unexpected:", job.outcome)
        return 2
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
