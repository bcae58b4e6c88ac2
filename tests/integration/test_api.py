# SPDX-License-Identifier: Apache-2.0
"""`unsnarl.hunt(function)` and what belongs to it, in the process of the caller."""

from __future__ import annotations

import doctest
import importlib
import linecache
import subprocess
import sys
import types

import pytest

import unsnarl
from unsnarl import api

# The lock is there before the hunt, and `Thread` was imported by name.
SHOP = """
from threading import Lock, Thread

class Till:
    def __init__(self):
        self.total = 0
        self.lock = Lock()

    def sell(self):
        total = self.total
        self.total = total + 1

    def sell_safely(self):
        with self.lock:
            total = self.total
            self.total = total + 1

till = Till()

def both(sell):
    threads = [Thread(target=sell) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print("sold", till.total)
    assert till.total == 2, till.total

def bad_sale():
    both(till.sell)

def good_sale():
    both(till.sell_safely)
"""


RUN = """
def run():
    threads = [threading.Thread(target=add) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert n == 2
"""
ADD = """
import threading
n = 0
def add():
    global n
    n = n + 1
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module(name)
    del sys.modules[name]


def test_a_function_is_hunted_in_forks_of_its_process(shop, capfd):
    report = unsnarl.hunt(shop.bad_sale, confirm=0, fail=3, passed=3, switch="free")
    (failure,) = report.failures
    assert "total" in {point.variable.rpartition(".")[2] for point in failure.findings[0].points}
    assert report.instrumented.threads_seen == report.instrumented.threads_controlled == 3
    assert shop.till.total == 0 and type(shop.till.lock).__module__ == "_thread"
    assert capfd.readouterr() == ("", "")
    assert "lost update" in unsnarl.text(report) or "Till.total" in unsnarl.text(report)
    assert unsnarl.replay(times=2).replayed.failed == 2
    # Elsewhere the function goes by its name.
    command = [sys.executable, "-m", "unsnarl", "replay", str(failure.run)]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_locks_that_were_there_before_are_controlled(shop):
    report = unsnarl.hunt(shop.good_sale, max_runs=40, confirm=0)
    assert not report.failures and report.runs.passed == 40
    assert "not-controlled" not in {one.slug for one in report.warnings}


def test_check_is_one_line_of_a_test(shop):
    with pytest.raises(unsnarl.InterleavingError, match=r"Till\.total"):
        unsnarl.check(shop.bad_sale, confirm=0, fail=3, passed=3, switch="free")


def test_an_edit_of_what_is_loaded_is_verified(shop, monkeypatch):
    unsnarl.hunt(shop.bad_sale, confirm=0, fail=3, passed=3, switch="free")
    assert unsnarl.verify(max_runs=30).exit_code == 1


def test_cells_of_a_notebook_have_sources_although_they_have_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = types.ModuleType("notebook")
    cells = {"<ipython-input-1-ab>": ADD, "<ipython-input-2-cd>": RUN}
    for name, source in cells.items():
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), notebook.__dict__)
    report = unsnarl.hunt(notebook.run, confirm=0, fail=3, passed=3, switch="free")
    points = report.failures[0].findings[0].points
    assert any("n = n + 1" in point.text for point in points)
    assert all(point.file.endswith(".py") for point in points)


MADE = "box = []\ndef fill():\n    box.append(1)\ndef main():\n    fill()\n"


def made(tmp_path, *, source):
    """`main` of a module whose functions have this source now, or none."""
    file = tmp_path / "made_up.py"
    if source is not None:
        file.write_text(source)
    module = types.ModuleType("made_up")
    exec(compile(MADE, str(file), "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("source", [None, MADE.replace("fill()\n", "fill(); fill()\n")])
def test_a_function_that_cannot_be_rewritten_is_refused(tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(unsnarl.UnsnarlError) as caught:
        unsnarl.hunt(made(tmp_path, source=source).main, max_runs=2, confirm=0)
    assert caught.value.slug == "function-without-source"


def test_other_functions_that_cannot_be_rewritten_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = made(tmp_path, source=MADE.replace("box.append(1)", "box.append(2)"))
    report = unsnarl.hunt(module.main, max_runs=2, confirm=0)
    assert [one.message for one in report.warnings if one.slug == "accesses-not-seen"] == [
        "not seen: accesses in fill()"
    ]


def test_the_examples_of_the_documentation_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(api) == (0, 6)


@pytest.mark.parametrize("call", [lambda: unsnarl.hunt(print, run=1), lambda: unsnarl.hunt([])])
def test_what_cannot_be_hunted_is_refused(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, unsnarl.UnsnarlError)):
        call()
