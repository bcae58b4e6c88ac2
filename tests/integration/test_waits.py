# SPDX-License-Identifier: Apache-2.0
"""Short time limits run out now and then; threads that nobody joins run before the process ends."""

import pytest
from tests.integration.native_programs import build, run
from tests.integration.rule_programs import Program

pytestmark = pytest.mark.core

# What is added between the two lines of flush() is lost.
FLUSHES = """
class Metrics:
    def __init__(self):
        self.pending, self.sent, self.stop = [], [], threading.Event()
    def add(self, value):
        self.pending.append(value)
    def flush(self):
        self.sent.extend(self.pending)
        pause()
        self.pending = []
    def loop(self):
        while not self.stop.wait(LIMIT):
            self.flush()

metrics = Metrics()
thread = threading.Thread(target=metrics.loop)
thread.start()
for value in range(5):
    metrics.add(value)
metrics.stop.set()
thread.join(5)
metrics.flush()
assert sorted(metrics.sent) == list(range(5)), metrics.sent
"""
DAEMON = """
class Box:
    ready = False

def work():
    assert Box.ready

threading.Thread(target=work, daemon=True).start()
Box.ready = True
END
"""


def failures(tmp_path, source, times):
    program = Program(tmp_path, source, "gil")
    try:
        return program.failures(times)[0]
    finally:
        program.client.close()


@pytest.mark.parametrize(("limit", "fails"), [("0.001", True), ("3", False)])
def test_only_a_short_limit_runs_out_while_others_can_run(tmp_path, limit, fails):
    assert (failures(tmp_path, FLUSHES.replace("LIMIT", limit), 30) > 0) is fails


@pytest.mark.parametrize("end", ["", "__import__('os')._exit(0)"])
def test_a_daemon_thread_may_run_before_the_process_ends(tmp_path, end):
    ended_early = DAEMON.replace("Box.ready = True\n", "").replace("END", end)
    assert failures(tmp_path, ended_early, 20) > 0
    assert 0 < failures(tmp_path, DAEMON.replace("END", end), 20) < 20


def test_a_thread_of_c_that_nobody_joins_may_run(tmp_path):
    made = build(tmp_path, "unjoined.c")
    statuses = [run(made, "walk", seed).status for seed in range(12)]
    assert 0 in statuses
    assert any(statuses)
