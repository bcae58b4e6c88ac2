# SPDX-License-Identifier: Apache-2.0
"""`hunt --baseline FILE`: findings that are in it are quiet, over seeds and unrelated edits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.in_process import called

STOCK = """
import threading

class Stock:
    def __init__(self):
        self.count = 0

    def add(self):
        before = self.count
        self.count = before + 1

    def take(self):
        if self.left():
            self.count -= 1
            self.check()

    def left(self):
        return self.count > 0

    def check(self):
        if self.count < 0:
            raise ValueError(self.count)

def both(work):
    threads = [threading.Thread(target=work) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

def main():
    stock = Stock()
    both(stock.add)
    assert stock.count == 2
"""
CALL = "\nmain()\n"
SECOND = """
def sell():
    stock = Stock()
    stock.count = 1
    both(stock.take)

sell()
"""
# An import above, another comment, another function: nothing that the finding is about.
EDITED = "import os\n# stock\n\ndef other():\n    return os.sep\n" + STOCK
FIXED = STOCK.replace("before = self.count\n        self.count = before + 1", "pass").replace(
    "self.count = 0", "self.count = 2"
)


def hunt(folder: Path, text: str, *words: str) -> tuple[int, dict[str, object]]:
    (folder / "stock.py").write_text(text)
    options = (
        "--json",
        "--no-confirm",
        "--switch",
        "free",
        "--fail",
        "8",
        "--pass",
        "8",
        "--max-runs",
        "80",
        *words,
    )
    done = called(folder, "hunt", *options, "--", sys.executable, "stock.py")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def notices(report: dict[str, object]) -> dict[str, str]:
    rows = report["warnings"]
    assert isinstance(rows, list)
    return {one["slug"]: one["message"] for one in rows}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a baseline of the first bug."""
    made = tmp_path_factory.mktemp("baseline")
    code, report = hunt(made, STOCK + CALL, "--baseline", "known.json", "--update-baseline")
    assert code == 0
    assert report["failures"] == []
    assert report["quiet"]
    return made


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_finding_is_quiet_with_other_seeds(folder: Path, seed: str) -> None:
    code, report = hunt(folder, STOCK + CALL, "--baseline", "known.json", "--seed", seed)
    assert code == 0
    assert notices(report)["baseline-quiet"].startswith(
        "1 known finding is kept quiet by known.json: count-"
    )
    assert "baseline-gone" not in notices(report)


def test_and_after_unrelated_edits(folder: Path) -> None:
    code, report = hunt(folder, EDITED + CALL, "--baseline", "known.json")
    assert code == 0
    assert "baseline-quiet" in notices(report)


def test_a_new_failure_is_not(folder: Path) -> None:
    code, report = hunt(folder, FIXED + CALL + SECOND, "--baseline", "known.json")
    assert code == 1
    failures = report["failures"]
    assert isinstance(failures, list)
    assert {one["signature"].partition(" ")[0] for one in failures} == {"ValueError"}


def test_what_no_longer_occurs_is_said_and_removed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "known.json").write_bytes((folder / "known.json").read_bytes())
    code, report = hunt(tmp_path, FIXED + CALL, "--baseline", "known.json")
    assert code == 0
    assert "did not occur" in notices(report)["baseline-gone"]
    hunt(tmp_path, FIXED + CALL, "--baseline", "known.json", "--update-baseline")
    assert json.loads((tmp_path / "known.json").read_text())["hunts"] == []


def test_a_report_for_people_says_it_in_one_line(folder: Path) -> None:
    (folder / "stock.py").write_text(STOCK + CALL)
    words = ("--no-confirm", "--switch", "free", "--max-runs", "50", "--baseline", "known.json")
    done = called(folder, "hunt", *words, "--", sys.executable, "stock.py")
    assert "no new failure" in done.stdout
    assert " ".join(done.stdout.split()).count("kept quiet by known.json") == 1


def test_a_missing_or_broken_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stock.py").write_text(STOCK + CALL)
    command = ("--", sys.executable, "stock.py")
    done = called(tmp_path, "hunt", "--baseline", "none.json", *command)
    assert (done.returncode, "bad-baseline" in done.stderr) == (2, True)
    (tmp_path / "broken.json").write_text('{"version": 1, "hunts": 3}')
    done = called(tmp_path, "hunt", "--baseline", "broken.json", *command)
    assert (done.returncode, "bad-baseline" in done.stderr) == (2, True)
    done = called(tmp_path, "hunt", "--update-baseline", *command)
    assert done.returncode == 2


def pytest_session(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "unsnarl.pytest_plugin",
        "-rA",
        "--unsnarl",
    ]
    return subprocess.run(
        [*command, "--unsnarl-baseline", "known.json", *words, "test_stock.py"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_plugin_keeps_known_findings_quiet_as_well(tmp_path: Path) -> None:
    test = (
        "import pytest\n\n@pytest.mark.unsnarl(runs=80, switch='free', confirm=0)\n"
        "def test_stock():\n    main()\n"
    )
    (tmp_path / "test_stock.py").write_text(STOCK + test)
    assert pytest_session(tmp_path).returncode == 4  # there is no such file
    done = pytest_session(tmp_path, "--unsnarl-update-baseline")
    assert done.returncode == 0, done.stdout
    assert json.loads((tmp_path / "known.json").read_text())["hunts"][0]["command"] == (
        "test_stock.py::test_stock"
    )
    done = pytest_session(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "kept quiet by known.json" in done.stdout
    (tmp_path / "known.json").write_text('{"version": 1, "hunts": []}')
    assert pytest_session(tmp_path).returncode == 1
