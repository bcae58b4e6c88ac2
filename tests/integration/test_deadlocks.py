# SPDX-License-Identifier: Apache-2.0
"""Deadlocks that a time limit turns into an error, from the command to the proof, with twins."""

import json

import pytest
from tests.integration.test_proving import HUNT, unsnarl

# A lock is held while a thread is joined that wants it.
JOIN = """
import threading

class Importer:
    def __init__(self):
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.run, name="importer", daemon=True)
    def run(self):
        with self.lock:
            pass
    def stop(self):
        with self.lock:
            self.thread.join(timeout=5)
            return not self.thread.is_alive()

importer = Importer()
importer.thread.start()
assert importer.stop()
"""
JOIN_TWIN = JOIN.replace(
    """        with self.lock:
            self.thread.join(timeout=5)
            return not self.thread.is_alive()
""",
    """        self.thread.join(timeout=5)
        with self.lock:
            return not self.thread.is_alive()
""",
)
# Two locks in opposite orders; one thread gives up after a while.
ABBA = """
import threading
left, right = threading.Lock(), threading.Lock()

def one():
    with left:
        if not right.acquire(timeout=2):
            raise TimeoutError("right")
        right.release()

def other():
    with right:
        with left:
            pass

threads = [threading.Thread(target=f) for f in (one, other)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
ABBA_TWIN = ABBA.replace("with right:\n        with left:", "with left:\n        with right:")
# A worker polls its queue; what fails is the count, which two threads change.
POLLING = """
import queue, threading

class Counter:
    done = 0

jobs, stopping = queue.Queue(), threading.Event()

def work():
    while not stopping.is_set():
        try:
            jobs.get(timeout=0.1)
        except queue.Empty:
            continue
        Counter.done = Counter.done + 1

workers = [threading.Thread(target=work) for _ in range(2)]
for worker in workers:
    worker.start()
jobs.put(1)
jobs.put(2)
stopping.wait(timeout=0.5)
stopping.set()
for worker in workers:
    worker.join(timeout=5)
assert Counter.done == 2, Counter.done
"""


def hunted(folder, source, *more):
    (folder / "program.py").write_text(source)
    done = unsnarl(folder, *HUNT[:-1], *more, "--", "python", "program.py")
    return done, json.loads((folder / "answer.json").read_text())


@pytest.mark.parametrize(
    ("source", "ops", "shape"),
    [
        (JOIN, ["acquire", "wait", "wait", "timeout", "fail"], "lock held while waiting"),
        (ABBA, ["acquire", "acquire", "wait", "wait", "timeout", "fail"], "lock-order deadlock"),
    ],
    ids=["join", "abba"],
)
def test_a_deadlock_with_a_time_limit_is_proved_as_that(tmp_path, source, ops, shape):
    done, report = hunted(tmp_path, source)
    assert done.returncode == 1, done.stderr
    (failure,) = report["failures"]
    finding = failure["findings"][0]
    assert failure["kind"] != "deadlock"
    assert (finding["kind"], finding["shape"]) == ("deadlock", shape)
    assert finding["status"] == "confirmed", finding["why"]
    assert [point["op"] for point in finding["explanation"]] == ops
    waits = [point for point in finding["explanation"] if point["op"] == "wait"]
    assert all(point["why"] for point in waits), waits
    assert "ran out" in done.stdout and "held by" in done.stdout
    assert finding.get("fix") is None or shape == "lock-order deadlock"


@pytest.mark.parametrize("source", [JOIN_TWIN, ABBA_TWIN], ids=["join", "abba"])
def test_the_repaired_program_passes(tmp_path, source):
    done, report = hunted(tmp_path, source, "--max-runs", "100")
    assert done.returncode == 0 and not report["failures"], done.stdout


def test_a_loop_that_polls_is_no_deadlock(tmp_path):
    _, report = hunted(tmp_path, POLLING, "--max-runs", "300", "--no-confirm")
    found = [one for failure in report["failures"] for one in failure["findings"]]
    assert found and all(one["kind"] != "deadlock" for one in found)
