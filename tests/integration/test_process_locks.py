# SPDX-License-Identifier: Apache-2.0
"""Locks of multiprocessing between threads of a run, and memory that runs would have in common."""

import textwrap

import pytest
from tests.integration.rule_programs import START
from tests.integration.server_client import Client

from unsnarl.model.event import Op, op_of
from unsnarl.model.run import in_cycle
from unsnarl.runfile.reader import read_run

pytestmark = pytest.mark.core

# Imported before the runs are forked: they would have all of this in common.
MADE = f"""
import multiprocessing
{START}
processes = multiprocessing.get_context("fork")
lock, again, other = processes.Lock(), processes.RLock(), threading.Lock()
count = processes.Value("i", 0)
"""
COUNTED = """
class Box:
    inside = most = 0

def use():
    with again, again:
        Box.inside += 1
        Box.most = max(Box.most, Box.inside)
        Box.inside -= 1

go(use, use, use)
assert Box.most == 1
"""
CROSSED = """
def save():
    with lock:
        with other:
            pass

def load():
    with other:
        with lock:
            pass

go(save, load)
"""
REFUSED = """
def raises(call, kind):
    try:
        call()
    except kind:
        return True
    return False

assert lock.acquire() and not lock.acquire(False) and not lock.acquire(timeout=0.01)
lock.release()
assert raises(lock.release, ValueError) and raises(again.release, AssertionError)
assert repr(lock) == "<Lock(owner=None)>"
"""
# A process that the run forks and the run keep each other out, as without us.
FORKED = """
def add():
    for _ in range(3):
        with lock:
            count.value += 1

child = processes.Process(target=add)
child.start()
go(add, add)
child.join()
assert child.exitcode == 0 and count.value == 9, count.value
"""
# Each run ends while it holds the lock and has counted.
HELD_AT_THE_END = """
import os
assert lock.acquire(timeout=1), "another run has it"
count.value += 1
assert count.value == 1, "another run has counted"
go(lambda: None)
os._exit(0)
"""


@pytest.fixture
def runs(tmp_path):
    clients = []

    def make(text, seeds):
        (tmp_path / "made.py").write_text(MADE)
        (tmp_path / "a.py").write_text("from made import *\n" + textwrap.dedent(text))
        clients.append(Client(tmp_path, "script", "a.py"))
        for seed in range(1, seeds + 1):
            done = clients[0].run(seed, seed=seed, strategy=("walk", "pos")[seed % 2])
            yield done, read_run(clients[0].path(seed, "run"))

    yield make
    for client in clients:
        client.close()


@pytest.mark.parametrize("text", [COUNTED, REFUSED, FORKED, HELD_AT_THE_END])
def test_a_run_ends_as_without_us(runs, text):
    for done, run in runs(text, 8):
        assert done["status"] == 0 and not run.failures


def test_who_waits_for_whom_is_known(runs):
    found = [run for _, run in runs(CROSSED, 30) if run.failures]
    assert found
    for run in found:
        assert [one.kind for one in run.failures] == ["deadlock"]
        cycle = in_cycle(run.waits)
        assert {op_of(wait.point) for wait in cycle} == {Op.WAIT}
