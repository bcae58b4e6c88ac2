# SPDX-License-Identifier: Apache-2.0
"""Threads that are asked to stop before their work is done: the order alone is in every run."""

import json

import pytest
from tests.integration.in_process import proved
from tests.integration.interpreters import PYTHON

QUEUED = """
import queue, threading

class Writer:
    def __init__(self, sink):
        self.sink = sink
        self.queue = queue.Queue()
        self.stopping = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopping:
            try:
                line = self.queue.get(timeout=0.05)
            except queue.Empty:
                continue
            self.sink.append(line)

    def close(self):
        self.stopping = True
        self.thread.join()

sink = []
writer = Writer(sink)
for number in range(3):
    writer.queue.put(number)
writer.close()
assert len(sink) == 3, sink
"""
LISTED = """
import threading, time

class Sender:
    def __init__(self, jobs):
        self.jobs, self.sent = jobs, 0
        self.running = True
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while self.running:
            if self.sent < len(self.jobs):
                self.sent += 1
            time.sleep(0.01)

    def end(self):
        self.running = False
        self.thread.join()

sender = Sender(["a", "b"])
time.sleep(0.03)
sender.end()
assert sender.sent == 2, sender.sent
"""


@pytest.mark.parametrize(
    ("program", "stop", "work"),
    [
        (QUEUED, "self.stopping = True", "self.sink.append(line)"),
        (LISTED, "self.running = False", "self.sent += 1"),
    ],
)
def test_how_much_was_left_undone_is_what_sets_the_runs_apart(tmp_path, program, stop, work):
    (tmp_path / "work.py").write_text(program)
    words = ("--time", "60", "--seed", "1", "--json=-")
    done = proved(tmp_path, "hunt", *words, "--", PYTHON, "work.py")
    assert done.returncode == 1, done.stderr
    first = json.loads(done.stdout)["failures"][0]["findings"][0]
    assert (first["status"], first["shape"]) == ("confirmed", "stopped too early"), first["why"]
    asked, looks = (first["explanation"][at - 1] for at in first["orders"][0])
    assert asked["text"] == stop and looks["text"].startswith("while ")
    undone = first["undone"]
    assert undone["line"]["text"] == work
    assert undone["times"] < undone["usual"]
