# SPDX-License-Identifier: Apache-2.0
"""Where threads may switch: `gil` keeps whole what the interpreter's lock does, `free` nothing."""

import json

import pytest
from tests.integration.in_process import called

pytestmark = pytest.mark.core

COUNTER = """
import threading

class Counter:
    def __init__(self):
        self.n = 0

def step():
    return 1

def work(c):
    for _ in range(3):
        INCREMENT

c = Counter()
threads = [threading.Thread(target=work, args=(c,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert c.n == 6, c.n
"""
PLAIN = "c.n += 1"
WITH_CALL = "c.n += step()"
OTHERS = {
    "item": "c.__dict__['n'] += 1",
    "two statements": "n = c.n; n = n + 1; c.n = n",
    "branch": "c.n = c.n + 1 if c.n >= 0 else 0",
}
# A backward jump or a call of a Python function lies between the read and the write.
BREAKABLE = {
    "call": WITH_CALL,
    "loop": "n = c.n\n        for _ in range(2): pass\n        c.n = n + 1",
    "lambda": "c.n = (lambda n: n + 1)(c.n)",
    "builtin": "c.n = max(c.n + 1, 0)",
    "print": "n = c.n\n        print()\n        c.n = n + 1",
    "lock": "n = c.n\n        with threading.Lock(): pass\n        c.n = n + 1",
}


def hunt(folder, increment, *options):
    (folder / "counter.py").write_text(COUNTER.replace("INCREMENT", increment))
    done = called(folder, "hunt", "--no-confirm", "--json", *options, "--", "counter.py")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_an_increment_loses_updates_in_free_mode(tmp_path):
    report = hunt(tmp_path, PLAIN, "--switch", "free", "--max-runs", "50")
    assert report["runs"]["fail"] > 0
    (failure,) = report["failures"]
    assert failure["kind"] == "assertion" and failure["switch"] == "free"


@pytest.mark.parametrize("increment", [PLAIN, *OTHERS.values()], ids=["plain", *OTHERS])
def test_an_increment_loses_nothing_under_the_lock(tmp_path, increment):
    report = hunt(tmp_path, increment, "--switch", "gil", "--max-runs", "200")
    assert report["runs"] == {"total": 200, "pass": 200, "fail": 0, "hang": 0}


@pytest.mark.parametrize("increment", BREAKABLE.values(), ids=list(BREAKABLE))
def test_what_the_interpreter_may_interrupt_fails_under_the_lock(tmp_path, increment):
    limits = ("--max-runs", "60", "--fail", "1", "--pass", "1")
    report = hunt(tmp_path, increment, "--switch", "gil", *limits)
    assert report["runs"]["fail"] > 0
    assert report["failures"][0]["switch"] == "gil"


def test_auto_calls_a_failure_of_free_mode_latent(tmp_path):
    report = hunt(tmp_path, PLAIN, "--max-runs", "200")
    (failure,) = report["failures"]
    assert failure["latent"] and failure["switch"] == "free"
    assert "latent" in {warning["slug"] for warning in report["warnings"]}


def test_auto_takes_the_lock_where_it_fails_too(tmp_path):
    report = hunt(tmp_path, WITH_CALL, "--max-runs", "200")
    (failure,) = report["failures"]
    assert not failure["latent"] and failure["switch"] == "gil"


SHRINKING = """
import threading

class Pool:
    def __init__(self):
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        self.ready.set()

pool = Pool()
pool.thread.start()
pool.ready.wait()
assert pool.thread.is_alive() is EXPECTED
pool.thread.join()
"""


@pytest.mark.parametrize("expected", [True, False])
def test_a_thread_with_nothing_left_to_do_may_still_be_alive(tmp_path, expected):
    """Both are seen: its end is a switch point."""
    (tmp_path / "shrinking.py").write_text(SHRINKING.replace("EXPECTED", str(expected)))
    done = called(tmp_path, "hunt", "--no-confirm", "--max-runs", "50", "--", "shrinking.py")
    assert done.returncode == 1, done.stdout
