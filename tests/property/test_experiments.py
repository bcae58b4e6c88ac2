# SPDX-License-Identifier: Apache-2.0
"""Random small programs, hunted, ranked, proved, fixed and replayed: nothing of that may break.

A few examples run with the suite; more by hand:
    UNSNARL_FUZZ=200 python -m pytest --timeout 0 tests/property/test_experiments.py
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.in_process import called

EXAMPLES = int(os.environ.get("UNSNARL_FUZZ", "2"))
# Of an answer: what is cut off is no matter here. How many runs there are is not left to time.
SECONDS = "12" if "UNSNARL_FUZZ" in os.environ else "4"
FEW = settings(
    max_examples=EXAMPLES,
    derandomize="UNSNARL_FUZZ" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
HEAD = """
import queue
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

class Box:
    def __init__(self):
        self.a = self.b = 0
        self.items = []
        self.table = {}

box = Box()
one, two = threading.Lock(), threading.Lock()
ready = threading.Event()
jobs = queue.Queue()
changed = threading.Condition()
slots = threading.Semaphore(1)
again = threading.RLock()
pool = ThreadPoolExecutor(2)
here, there = socket.socketpair()
here.settimeout(2)

def count():
    for number in range(3):
        box.b = number
        yield number

def add():
    box.a += 1
    return box.a

numbers = count()
"""
# What a thread may do, one line or a few; all of it can be repeated.
PLAIN = (
    "box.a += 1",
    "box.b = box.a",
    "box.items.append(box.a)",
    "box.table[box.b] = box.a",
    "box.items and box.items.pop()",
    "seen = box.a\nbox.a = seen + 1",
    "if box.b == 0:\n    box.b = 1\n    box.a += 1",
    "for item in list(box.items):\n    box.b += item",
)
WAITING = (
    "ready.set()",
    "ready.wait(0.01)",
    "ready.wait(5)",
    "jobs.put(box.a)",
    "try:\n    box.b += jobs.get(timeout=0.01)\nexcept queue.Empty:\n    box.b = -1",
    "with one:\n    box.a += 1",
    "with one:\n    with two:\n        box.b += 1",
    "with two:\n    with one:\n        box.b += 1",
    "try:\n    box.table[7]\nexcept KeyError:\n    pass",
    "with changed:\n    box.b += 1\n    changed.notify_all()",
    "with changed:\n    changed.wait_for(lambda: box.b, timeout=0.01)",
    "with changed:\n    changed.wait(3)",
    "if one.acquire(timeout=0.01):\n    box.a += 1\n    one.release()\nelse:\n    box.b = 3",
    "with slots:\n    box.items.append(1)",
    "with again, again:\n    box.a += 1",
    "box.b = next(numbers, 0)",
    "box.b += sum(item for item in box.items)",
    "box.b = pool.submit(add).result(timeout=5)",
    "box.items.extend(pool.map(str, [1]))",
    "there.send(b'x')",
    "try:\n    here.recv(1)\nexcept TimeoutError:\n    box.a = 0",
    "time.sleep(0.005)\nbox.a += 1",
    "threading.Timer(0.01, add).start()",
    "try:\n    1 / box.b\nexcept ZeroDivisionError:\n    box.items.append(0)",
    "raise KeyError(box.a)",
)
CHECKS = ("assert box.a == box.b", "assert box.a <= 2", "assert len(box.items) < 2", "pass")
JOINS = ("thread.join()", "thread.join(30)", "thread.join(0.01)")


def indented(text: str, depth: int = 1) -> str:
    return "\n".join("    " * depth + line for line in text.splitlines())


def program(bodies: list[list[str]], check: str, join: str) -> str:
    functions = "\n".join(
        f"def work{at}():\n" + "\n".join(indented(step) for step in body)
        for at, body in enumerate(bodies)
    )
    names = ", ".join(f"work{at}" for at in range(len(bodies)))
    return (
        f"{HEAD}\n{functions}\n"
        f"threads = [threading.Thread(target=work, daemon=True) for work in ({names},)]\n"
        f"for thread in threads:\n    thread.start()\nfor thread in threads:\n    {join}\n{check}\n"
    )


def bodies_of(steps: tuple[str, ...]) -> st.SearchStrategy[list[list[str]]]:
    body = st.lists(st.sampled_from(steps), min_size=1, max_size=3)
    return st.lists(body, min_size=2, max_size=3)


def answer_of(folder: Path, text: str) -> tuple[int, dict, str]:
    (folder / "program.py").write_text(text)
    limits = ("--fail", "6", "--pass", "6", "--max-runs", "40", "--timeout", "10")
    answer = folder / "answer.json"
    with mock.patch.dict(os.environ, UNSNARL_ANSWER=SECONDS):
        done = called(folder, "hunt", *limits, "--json", answer, "--", sys.executable, "program.py")
    assert done.returncode in (0, 1, 4), done.stderr
    return done.returncode, json.loads(answer.read_text()), done.stderr


@FEW
@given(bodies_of((*PLAIN, *WAITING)), st.sampled_from(CHECKS), st.sampled_from(JOINS))
def test_nothing_breaks_whatever_the_program_does(bodies, check, join):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code, report, errors = answer_of(folder, program(bodies, check, join))
        broken = [one for one in report["unfinished"] if one["why"] == "error"]
        texts = [(folder / one["file"]).read_text() for one in broken if one["file"]]
        assert not broken, "\n".join(texts) or broken
        assert "internal-error" not in errors
        failed = bool(report["runs"]["fail"] or report["runs"]["hang"])
        assert failed == (code == 1) or code == 4
        for failure in report["failures"]:
            if failure["kind"] != "hang" and failure["findings"][:1]:
                replay_fails(folder, failure)


def replay_fails(folder: Path, failure: dict) -> None:
    """What was confirmed comes back, in a new process, and an unchanged program is not accepted."""
    if failure["findings"][0]["status"] != "confirmed":
        return
    done = called(folder, "replay", failure["run"])
    assert done.returncode == 1, (failure["signature"], done.stdout, done.stderr)
    if "UNSNARL_FUZZ" in os.environ:
        done = called(folder, "verify", "--time", "20", "--max-runs", "40")
        assert done.returncode == 1, (failure["signature"], done.stdout, done.stderr)


@FEW
@given(bodies_of(PLAIN), st.sampled_from(JOINS[:2]))
def test_no_alarm_where_every_access_holds_one_lock(bodies, join):
    locked = [[f"with one:\n{indented(step)}" for step in body] for body in bodies]
    with tempfile.TemporaryDirectory() as name:
        code, report, _ = answer_of(Path(name), program(locked, "pass", join))
        assert (code, report["failures"]) == (0, []), report["failures"]
