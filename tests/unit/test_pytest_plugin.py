# SPDX-License-Identifier: Apache-2.0
"""What the pytest plugin hands on to a hunted test, and how it reads times."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from unsnarl.pytest_plugin.command import kept
from unsnarl.pytest_plugin.session import seconds_of
from unsnarl.pytest_plugin.threads import counting_threads


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (["tests", "-x", "-k", "pool or cache", "--runslow"], ["--runslow"]),
        (["-n", "2", "--dist=loadfile", "-p", "my_plugin"], ["-p", "my_plugin"]),
        (["-n2", "-qq", "--cov", "--cov-report", "html", "--strict"], ["--strict"]),
        (["--maxfail=1", "-m", "slow", "-o", "xfail_strict=1"], ["-o", "xfail_strict=1"]),
        (["-p", "no:cacheprovider", "--unsnarl", "--unsnarl-budget", "5m"], []),
        (["-W", "error", "-x"], ["-W", "error"]),
        (["--import-mode=importlib", "-vv"], ["--import-mode=importlib"]),
    ],
)
def test_only_what_bears_on_the_test_is_handed_on(given, left):
    assert kept(given, ["tests"]) == left


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1.5 h", 5400), (" 2m ", 120)]
)
def test_a_budget_has_a_unit(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5s", "0", "5 days"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(pytest.UsageError, match="5m"):
        seconds_of(text)


def test_threads_are_counted_and_threading_is_left_as_it_was():
    before = threading.Thread.start
    with counting_threads() as started:
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    assert started.count == 1 and threading.Thread.start is before


def test_a_session_that_does_not_use_it_loads_nothing_of_it():
    code = (
        "import sys, pytest\n"
        "class Check:\n"
        "    def pytest_sessionfinish(self):\n"
        "        print(sorted(n for n in sys.modules if n.startswith('unsnarl')))\n"
        "pytest.main(['-q', '--co', '-p', 'no:cacheprovider', '/nowhere'], plugins=[Check()])\n"
    )
    # The suite's own targets load no plugins; this session does, as those of users do.
    shell = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env=shell,
    )
    assert "['unsnarl', 'unsnarl.pytest_plugin']" in done.stdout
