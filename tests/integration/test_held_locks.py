# SPDX-License-Identifier: Apache-2.0
"""Which locks a report says are held."""

import json
import sys

from tests.integration.in_process import called

BUCKET = """
import threading


class Bucket:
    def __init__(self):
        self.tokens = 1

    def take(self):
        if self.tokens:
            abs(1)
            self.tokens -= 1


def client():
    barrier.wait(5)
    bucket.take()


bucket, barrier = Bucket(), threading.Barrier(2)
threads = [threading.Thread(target=client) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert bucket.tokens == 0
"""


def test_what_a_wait_leaves_behind_is_no_lock_that_is_held(tmp_path):
    """Condition.wait takes a lock of its own and never gives it back."""
    (tmp_path / "bucket.py").write_text(BUCKET)
    options = ("--seed", "1", "--no-confirm", "--max-runs", "80", "--json", "report.json")
    assert called(tmp_path, "hunt", *options, "--", sys.executable, "bucket.py").returncode == 1
    (failure,) = json.loads((tmp_path / "report.json").read_text())["failures"]
    points = [one for finding in failure["findings"] for one in finding["points"]]
    about = [one for one in points if one["variable"] == "Bucket.tokens"]
    assert about and {tuple(one["locks"]) for one in about} == {()}
