# SPDX-License-Identifier: Apache-2.0
"""An importer reads the dates of several files in parallel, all with the same settings; exit 1 if one fails."""

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import dateparser
from dateparser.conf import Settings

LINES = ["3 March 2021", "14 July 2020"]
EXPECTED = [datetime(2021, 3, 3), datetime(2020, 7, 14)]


def read(line):
    return dateparser.parse(line, languages=["en"], settings={"DATE_ORDER": "DMY"})


def main():
    Settings.__dict__.get("__registry_dict", {}).clear()  # as after a start of the program
    with ThreadPoolExecutor(max_workers=2) as readers:
        jobs = [readers.submit(read, line) for line in LINES]
    failures = []
    for job, line, expected in zip(jobs, LINES, EXPECTED):
        try:
            if job.result(timeout=10) != expected:
                failures.append("%s: %s" % (line, job.result()))
        except Exception as error:
            failures.append("%s: %r" % (line, error))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
