# SPDX-License-Identifier: Apache-2.0
"""`unsnarl stress`: planted races are found and written down, fixed twins are silent."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from msgspec import structs
from tests.integration.in_process import called
from tests.unit.test_reports_output import detailed, finding

from unsnarl.model.report import Patch, PatchChecks
from unsnarl.workflows import stress as workflow
from unsnarl.workflows.hunt import HuntResult

CLASSES = Path(__file__).parents[2] / "zoo" / "classes"
TOKENS = """
import uuid

class Tokens:
    def token(self) -> str:
        return uuid.uuid4().hex
"""
STAMPS = """
import time

class Stamps:
    def __init__(self):
        self._count = 0
    def stamp(self) -> float:
        return time.time()
    def add(self) -> int:
        before = self.count()
        self._count = before + 1
        return self._count
    def count(self) -> int:
        return self._count
"""
SUMS = """
import random

class Sums:
    def __init__(self):
        self._left = self._right = 0
    def move(self):
        step = random.random()
        self._left -= step
        left = self._left
        self._right = -left
        return step
"""
SUMS_SETUP = """
from sums import Sums

def make():
    return Sums()

def check(sums):
    return abs(sums._left + sums._right) < 1e-9
"""


@pytest.fixture(autouse=True)
def own_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The class is imported by the command, which is called in this process."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in set(sys.modules) - before:
        if "." not in name:
            del sys.modules[name]


def stress(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return called(folder, "stress", "--json", "--no-confirm", *words)


def searched(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Without the hunt of the program that was found."""

    def hunted(one: workflow._Stressing, *_: object) -> HuntResult:
        return replace(one.nothing_found(""), exit_code=1)

    with mock.patch.object(workflow._Stressing, "hunted", hunted):
        return stress(folder, *words)


def of_zoo(folder: Path, name: str, twin: str = "") -> None:
    shutil.copy(CLASSES / f"{name}{twin}.py", folder / f"{name}.py")


@pytest.mark.parametrize(
    ("name", "subject", "part"),
    [
        ("counter", "Counter", "AssertionError: no serial order gives"),
        ("ledger", "Ledger", "deadlock"),
    ],
)
def test_a_planted_race_is_found(name: str, subject: str, part: str, tmp_path: Path) -> None:
    of_zoo(tmp_path, name)
    done = stress(tmp_path, f"{name}:{subject}")
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert part in report["failures"][0]["message"] + report["failures"][0]["signature"]
    text = (tmp_path / report["stress"]["file"]).read_text()
    assert f"from {name} import {subject}" in text
    assert text.count("    def ") == 2  # two threads are enough


@pytest.mark.parametrize("works", [True, False])
def test_a_patch_is_only_as_wide_as_the_program(works: bool, tmp_path: Path) -> None:
    of_zoo(tmp_path, "counter")
    patch = Patch("", (), "lock", "hold a lock", PatchChecks(runs=260), works=works)
    failures = detailed(structs.replace(finding(), patch=patch)).failures

    def hunted(one: workflow._Stressing, *_: object) -> HuntResult:
        report = structs.replace(one.nothing_found("").report, failures=failures)
        return HuntResult(report, 1)

    with mock.patch.object(workflow._Stressing, "hunted", hunted):
        done = stress(tmp_path, "counter:Counter")
    report = json.loads(done.stdout)
    notes = {one["slug"]: one["message"] for one in report["warnings"]}
    assert ("stress-narrow-patch" in notes) == works
    if works:
        assert "the calls of stress_counter.py" in notes["stress-narrow-patch"]
        assert notes["stress-narrow-patch"].endswith("unsnarl stress counter:Counter")


def test_objects_are_distinguished_in_what_is_written(tmp_path: Path) -> None:
    of_zoo(tmp_path, "connection_pool")
    assert searched(tmp_path, "connection_pool:ConnectionPool").returncode == 1
    text = (tmp_path / "stress_connection_pool.py").read_text()
    assert "'first: acquire()': '<Connection 1>'" in text
    assert "attempt(lambda: connection_pool.acquire(), 'PoolEmpty')" in text
    command = [sys.executable, "stress_connection_pool.py"]
    plain = subprocess.run(command, cwd=tmp_path, check=False)
    assert plain.returncode in (0, 1)  # an ordinary program, which fails now and then


@pytest.mark.parametrize("name", ["counter", "ledger"])
def test_its_fixed_twin_is_silent(name: str, tmp_path: Path) -> None:
    of_zoo(tmp_path, name, "_fixed")
    done = stress(tmp_path, "--max-runs", "60", f"{name}:{name.capitalize()}")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["failures"] == []
    assert report["stress"]["runs"] >= 60
    assert report["instrumented"]["threads_controlled"] >= 3
    assert not list(tmp_path.glob("stress_*"))


def test_the_same_seed_makes_the_same_program(tmp_path: Path) -> None:
    of_zoo(tmp_path, "counter")
    texts = set()
    for _ in range(2):
        searched(tmp_path, "--seed", "3", "counter:Counter")
        texts.add((tmp_path / "stress_counter.py").read_text())
    assert len(texts) == 1


def test_a_class_of_random_results_cannot_be_judged(tmp_path: Path) -> None:
    (tmp_path / "tokens.py").write_text(TOKENS)
    done = stress(tmp_path, "--max-runs", "40", "tokens:Tokens")
    assert done.returncode == 4
    assert "stress-unrepeatable" in done.stderr
    assert "token" in done.stderr


def test_one_random_method_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "stamps.py").write_text(STAMPS)
    done = searched(tmp_path, "--switch", "free", "stamps:Stamps")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    text = (tmp_path / "stress_stamps.py").read_text()
    assert "add()" in text
    notes = {one["slug"]: one["message"] for one in report["warnings"]}
    assert "stamp" in notes["stress-not-compared"]


def test_an_invariant_judges_where_results_cannot(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(SUMS)
    (tmp_path / "sums_setup.py").write_text(SUMS_SETUP)
    words = ("--setup", "sums_setup.py", "--switch", "free", "sums:Sums")
    done = searched(tmp_path, *words)
    assert done.returncode == 1, done.stderr
    assert "setup.check(sums)" in (tmp_path / "stress_sums.py").read_text()


def test_somebody_elses_file_is_not_overwritten(tmp_path: Path) -> None:
    of_zoo(tmp_path, "counter")
    (tmp_path / "stress_counter.py").write_text("mine = 1\n")
    done = stress(tmp_path, "counter:Counter")
    assert done.returncode == 2
    assert "is not ours" in done.stderr


def test_a_class_without_python_code_is_refused(tmp_path: Path) -> None:
    done = stress(tmp_path, "_thread:RLock")
    assert done.returncode == 3
    assert "nothing-instrumented" in done.stderr


def test_hypothesis_is_an_extra(tmp_path: Path) -> None:
    of_zoo(tmp_path, "counter")
    with mock.patch.dict(sys.modules, {"hypothesis": None}):
        done = stress(tmp_path, "counter:Counter")
    assert done.returncode == 3
    assert "pip install 'unsnarl[stress]'" in done.stderr
