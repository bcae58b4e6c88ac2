# SPDX-License-Identifier: Apache-2.0
"""fcntl.flock between threads of a run: who waits for whom is known, as with other locks."""

import pytest
from tests.integration.rule_programs import Program

from unsnarl.model.event import Op, op_of
from unsnarl.model.run import in_cycle

pytestmark = pytest.mark.core

START = """
import fcntl, os, tempfile
folder = tempfile.mkdtemp()

def opened(name):
    return os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT)
"""
# However it is given back, the next one gets it: by name, by closing, by the end of a file object.
COUNTED = """
class Box:
    inside = most = 0

def use(give_back):
    fd = opened("a")
    fcntl.flock(fd, fcntl.LOCK_EX)
    Box.inside += 1
    Box.most = max(Box.most, Box.inside)
    Box.inside -= 1
    give_back(fd)

def by_name(fd):
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)

def by_object(fd):
    with os.fdopen(fd, "w"):
        pass

go(lambda: use(by_name), lambda: use(os.close), lambda: use(by_object))
assert Box.most == 1
"""
CROSSED = """
def both(first, second):
    files = [opened(name) for name in (first, second)]
    for fd in files:
        fcntl.flock(fd, fcntl.LOCK_EX)
    for fd in files:
        os.close(fd)

go(lambda: both("a", "b"), lambda: both("b", "a"))
"""
# Its number is closed and used again while the thread waits: it waits for what was open.
CLOSED = """
held = opened("a")
fcntl.flock(held, fcntl.LOCK_EX)
waiting = opened("a")

def wait():
    try:
        fcntl.flock(waiting, fcntl.LOCK_EX)
    except OSError:
        pass  # it was closed before that

def close():
    os.close(waiting)
    assert opened("b") == waiting
    os.close(held)

go(wait, close)
"""
REFUSED = """
one, other = opened("a"), opened("a")
fcntl.flock(one, fcntl.LOCK_EX)

def try_it():
    try:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    raise AssertionError("got it")

go(try_it, lambda: None)
try:
    fcntl.flock(-1, fcntl.LOCK_EX)
except ValueError:
    pass
"""


@pytest.fixture
def runs(tmp_path):
    made = []

    def run(text, seeds=8):
        made.append(Program(tmp_path, START + text, "gil"))
        plans = ({"seed": seed, "strategy": ("walk", "pos")[seed % 2]} for seed in range(seeds))
        return [made[-1].run_calmly(**plan) for plan in plans]

    yield run
    for one in made:
        one.client.close()


@pytest.mark.parametrize("text", [COUNTED, CLOSED, REFUSED])
def test_a_file_that_is_free_is_had(runs, text):
    for done, run in runs(text):
        assert done["status"] == 0 and not run.failures
        assert run.counters["stalls"] == 0


def test_threads_that_wait_for_each_others_files_are_a_deadlock(runs):
    found = [run for _, run in runs(CROSSED, 12) if run.failures]
    assert found
    for run in found:
        assert [one.kind for one in run.failures] == ["deadlock"]
        cycle = in_cycle(run.waits)
        assert len(cycle) == 2
        assert {op_of(wait.point) for wait in cycle} == {Op.WAIT}
