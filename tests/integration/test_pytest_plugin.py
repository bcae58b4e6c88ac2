# SPDX-License-Identifier: Apache-2.0
"""`pytest --unsnarl` in a project of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
    return session("--unsnarl", "--unsnarl-html=pages")


def test_the_test_that_can_fail_fails_with_its_explanation(hunted):
    assert "1 failed, 3 passed" in hunted.stdout
    assert re.search(r"(CONFIRMED|SUSPECTED|INCONCLUSIVE) .* on Counter\.n", hunted.stdout)
    assert "repeat it: unsnarl replay " in hunted.stdout


def test_the_test_that_fails_has_a_page(hunted):
    (file,) = re.findall(r"page: (.*\.html)", hunted.stdout)
    assert Path(file).name == "test_counter.py-test_count-2-.html"
    assert "Counter.n" in Path(file).read_text()


def test_the_summary_counts_what_was_hunted(hunted):
    (line,) = [one for one in hunted.stdout.splitlines() if "unsnarl: " in one]
    assert "2 hunted, 1 failed" in line
    assert "1 not hunted" in line and "1 without threads" in line


def test_without_the_option_nothing_is_hunted(session):
    done = session()
    assert done.returncode == 0 and "unsnarl:" not in done.stdout


# What tests may use; every one has a thread, and none a bug.
KINDS = """
    import logging
    import threading
    import unittest

    import pytest

    pytestmark = pytest.mark.unsnarl(runs=3)
    made = []

    def in_thread(function, *arguments):
        thread = threading.Thread(target=function, args=arguments)
        thread.start()
        thread.join()

    @pytest.fixture(scope="session")
    def city(tmp_path_factory):
        return tmp_path_factory.mktemp("city")

    @pytest.fixture(scope="module")
    def street(city):
        made.append("street")
        return city / "street"

    @pytest.mark.parametrize("number", [1, 2])
    def test_parametrised(number, street):
        in_thread(made.append, number)
        assert made == ["street", number] or made[0] == "street"

    class TestClass:
        @pytest.fixture(autouse=True)
        def house(self, tmp_path, monkeypatch):
            monkeypatch.chdir(tmp_path)
            self.file = tmp_path / "house"

        def test_files(self, street):
            in_thread(self.file.write_text, "house")
            assert self.file.read_text() == "house"

    class Case(unittest.TestCase):
        def setUp(self):
            self.seen = []

        def test_unittest(self):
            in_thread(self.seen.append, 1)
            self.assertEqual(self.seen, [1])

    def test_captured(capsys, caplog):
        in_thread(print, "hello")
        in_thread(logging.getLogger("x").warning, "careful")
        assert capsys.readouterr().out == "hello\\n" and "careful" in caplog.text

    def test_left_alone():
        assert True

    @pytest.mark.xfail(strict=True)
    def test_expected_to_fail():
        in_thread(int)
        assert False

    def test_not_selected():
        assert False
"""
PLUGINS = Path(sys.prefix) / "plugins"


@pytest.mark.slow
def test_all_kinds_of_tests_and_plugins_are_left_as_they_are(tmp_path):
    (tmp_path / "test_kinds.py").write_text("\n".join(line[4:] for line in KINDS.splitlines()))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    shell = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    beside = ["-n", "2", "--cov=.", "--cov-report=", "--reruns=1", "--timeout=300", "-x", "--lf"]

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-k", "not selected", *beside, *options]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, check=False,
            env=shell | {"PYTHONPATH": str(PLUGINS)},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return re.findall(r"\d+ (?:passed|failed|xfailed|rerun)", done.stdout), done.stdout

    plain, _ = run("-p", "no:unsnarl")
    hunted, text = run("--unsnarl")
    assert plain == hunted == ["6 passed", "1 xfailed"]
    assert "using --randomly-seed" in text.replace("Using", "using")
    # One has no thread, and one that is expected to fail does so.
    assert "unsnarl: 5 hunted" in text and "1 without threads" in text, text
