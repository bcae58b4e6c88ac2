# SPDX-License-Identifier: Apache-2.0
"""`pytest --unsnarl` in a project of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

TESTS = """
    import threading
    import pytest

    class Counter:
        def __init__(self):
            self.n = 0

        def add(self):
            n = self.n
            self.n = n + 1

    def count(threads):
        counter = Counter()
        workers = [threading.Thread(target=counter.add) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return counter.n

    @pytest.fixture
    def wanted(request, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        return 2

    @pytest.mark.parametrize("threads", [2])
    def test_count(threads, wanted, capsys):
        assert count(threads) == wanted

    def test_alone():
        assert count(1) == 1

    def test_plain():
        assert True

    @pytest.mark.unsnarl(skip=True)
    def test_left_out():
        assert count(2) == 2
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "test_counter.py").write_text("\n".join(line[4:] for line in TESTS.splitlines()))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")

    # The suite's own targets load no plugins; this session does, as those of users do.
    shell = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, env=shell
        )

    return run


@pytest.fixture(scope="module")
def hunted(session):
    return session("--unsnarl")


def test_the_test_that_can_fail_fails_with_its_explanation(hunted):
    assert "1 failed, 3 passed" in hunted.stdout
    assert re.search(r"(CONFIRMED|SUSPECTED|INCONCLUSIVE) .* on Counter\.n", hunted.stdout)
    assert "repeat it: unsnarl replay " in hunted.stdout


def test_the_summary_counts_what_was_hunted(hunted):
    (line,) = [one for one in hunted.stdout.splitlines() if "unsnarl: " in one]
    assert "2 hunted, 1 failed" in line
    assert "1 not hunted" in line and "1 without threads" in line


def test_without_the_option_nothing_is_hunted(session):
    done = session()
    assert done.returncode == 0 and "unsnarl:" not in done.stdout
