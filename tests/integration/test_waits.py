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
# The signal comes; who waits for it takes a time limit that runs out for a failure, or does not.
SIGNAL = """
class Box:
    full = False

signal = threading.Event()

def fill():
    pause()
    Box.full = True
    signal.set()

thread = threading.Thread(target=fill)
thread.start()
WAIT
thread.join()
"""
PATIENT = ("assert signal.wait(0.05)", "found = signal.wait(0.05)\nassert found")
SLEEPS = ("signal.wait(0.05)\nassert Box.full",)
# The session is over when its timer says so; the main thread looks at once.
LOOP = """
import asyncio

class Link:
    is_open = True

begun = threading.Event()

async def session():
    begun.set()
    await asyncio.sleep(LIMIT)
    Link.is_open = False

thread = threading.Thread(target=lambda: asyncio.run(session()))
thread.start()
begun.wait()
for _ in range(3):
    pause()
assert Link.is_open
thread.join()
"""
# Nobody gives it any work; the process ends without it.
IDLE = """
import queue
work = queue.Queue()

def serve():
    while True:
        try:
            work.get(timeout=LIMIT)
        except queue.Empty:
            pass

threading.Thread(target=serve, daemon=True).start()
raise SystemExit(1)
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


@pytest.mark.parametrize(("limit", "fails"), [("0.001", True), ("0.05", True), ("3", False)])
def test_only_a_short_limit_runs_out_while_others_can_run(tmp_path, limit, fails):
    assert (failures(tmp_path, FLUSHES.replace("LIMIT", limit), 30) > 0) is fails


@pytest.mark.parametrize("wait", PATIENT)
def test_a_limit_whose_end_the_program_looks_at_is_patience(tmp_path, wait):
    assert failures(tmp_path, SIGNAL.replace("WAIT", wait), 30) == 0


@pytest.mark.parametrize("wait", SLEEPS)
def test_a_wait_whose_outcome_nobody_looks_at_is_a_sleep(tmp_path, wait):
    assert failures(tmp_path, SIGNAL.replace("WAIT", wait), 30) > 0


@pytest.mark.parametrize(("limit", "fails"), [("0.05", True), ("3", False)])
def test_the_timers_of_an_event_loop_are_sleeps(tmp_path, limit, fails):
    assert (failures(tmp_path, LOOP.replace("LIMIT", limit), 30) > 0) is fails


@pytest.mark.parametrize(("limit", "waits"), [("None", 1), ("0.5", 0)])
def test_who_polls_at_the_end_of_a_run_does_not_wait_for_ever(tmp_path, limit, waits):
    program = Program(tmp_path, IDLE.replace("LIMIT", limit), "gil")
    try:
        # The thread has not come to its wait in every run.
        found = [len(program.run(strategy="walk")[1].waits) for _ in range(12)]
    finally:
        program.client.close()
    assert max(found) == waits


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
