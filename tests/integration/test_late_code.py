# SPDX-License-Identifier: Apache-2.0
"""Bugs in code that is loaded after the fork are proved like others (docs/adr/0026)."""

from __future__ import annotations

import json
import sys

import pytest
from tests.integration.in_process import called, proved

COUNTER = """
class Counter:
    def __init__(self):
        self.n = 0

    def add(self):
        seen = self.n
        self.n = seen + 1
"""
SCRIPT = """
import threading

def main():
    from counter import Counter  # late: only when the program runs

    counter = Counter()
    threads = [threading.Thread(target=counter.add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.n == 2

main()
"""
TESTS = """
import threading
import unittest

from counter import Counter

class TestCounter(unittest.TestCase):
    def test_add(self):
        counter = Counter()
        threads = [threading.Thread(target=counter.add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counter.n, 2)
"""


@pytest.mark.parametrize("command", [("script.py",), ("-m", "unittest", "test_counter")])
def test_a_bug_in_late_code_is_confirmed(tmp_path, command):
    (tmp_path / "counter.py").write_text(COUNTER)
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "test_counter.py").write_text(TESTS)
    limits = ("--fail", "10", "--pass", "10", "--confirm", "1", "--switch", "free")
    done = called(
        tmp_path, "hunt", *limits, "--json", tmp_path / "a.json", "--", sys.executable, *command
    )
    assert done.returncode == 1, done.stderr
    report = json.loads((tmp_path / "a.json").read_text())
    finding = report["failures"][0]["findings"][0]
    assert finding["status"] == "confirmed"
    lines = {(one["file"], one["line"]) for one in finding["points"]}
    assert lines >= {("counter.py", 7), ("counter.py", 8)}
    assert finding["fix"]["fail"] == 0


def test_a_bug_behind_a_large_package_that_is_loaded_late_is_confirmed(tmp_path):
    """A script imports all of its packages when it runs: they take the room for late code."""
    functions = [
        f"def step_{at}(box):\n" + "    box.left, box.right = box.right, box.left\n" * 50
        for at in range(50)
    ]
    (tmp_path / "package.py").write_text("\n".join(functions))
    (tmp_path / "counter.py").write_text(COUNTER)
    (tmp_path / "script.py").write_text(
        SCRIPT.replace("    from", "    import package\n    from", 1)
    )
    limits = ("--fail", "10", "--pass", "10", "--confirm", "1", "--switch", "free")
    words = ("--json", tmp_path / "a.json", "--", sys.executable, "script.py")
    proved(tmp_path, "hunt", *limits, *words)
    (failure,) = json.loads((tmp_path / "a.json").read_text())["failures"]
    assert failure["findings"][0]["status"] == "confirmed"


BACKEND = """
def connect():
    return "connected"


class Backend:
    def use(self):
        return connect()


backend_class = Backend
"""
LOADER = """
import importlib
import sys
import threading


def backend():
    try:
        module = sys.modules["backend"]
    except KeyError:
        module = importlib.import_module("backend")
    return getattr(module, "backend_class")()


used = []


def work():
    used.append(backend().use())


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(used) == 2, used
"""


def test_a_module_that_is_used_while_another_thread_imports_it(tmp_path):
    (tmp_path / "backend.py").write_text(BACKEND)
    (tmp_path / "loader.py").write_text(LOADER)
    limits = ("--fail", "15", "--pass", "15", "--confirm", "1", "--seed", "2")
    done = proved(
        tmp_path, "hunt", *limits, "--json", tmp_path / "a.json", "--", sys.executable, "loader.py"
    )
    assert done.returncode == 1, done.stderr
    report = json.loads((tmp_path / "a.json").read_text())
    finding = report["failures"][0]["findings"][0]
    assert finding["status"] == "confirmed"
    assert finding["variables"] == ["backend.backend_class"]
    lines = {(one["file"], one["line"]) for one in finding["points"]}
    # Where it got the half-imported module, what it used of it, and what came too late.
    assert lines == {("loader.py", 9), ("loader.py", 12), ("backend.py", 11)}
