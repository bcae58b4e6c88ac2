# SPDX-License-Identifier: Apache-2.0
"""A proof leaves its campaign: as a reproducer, and as a kept interleaving."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.in_process import called, proved

from unsnarl.errors import UsageError
from unsnarl.replay.regress import start_kept
from unsnarl.workflows import regress

# The check and the removal are not one step: who comes between takes the last item.
PROGRAM = """
import threading

class Shelf:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = ["last"]

    def is_empty(self):
        with self.lock:
            return not self.items

    def take(self):
        with self.lock:
            return self.items.pop()

shelf = Shelf()

def customer():
    if not shelf.is_empty():
        shelf.take()

def test_two_customers():
    threads = [threading.Thread(target=customer) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not shelf.items
"""
FIXED = PROGRAM.replace(
    "return self.items.pop()", "return self.items.pop() if self.items else None"
)
FILE = "test_shelf.py"


@pytest.fixture(scope="module")
def hunted(tmp_path_factory):
    """A project with a confirmed finding."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "setup.cfg").touch()
    (folder / FILE).write_text(PROGRAM)
    command = (sys.executable, "-m", "pytest", "-q", FILE)
    assert proved(folder, "hunt", "--confirm", "1", "--", *command).returncode == 1
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def edited(hunted, tmp_path):
    """The same project, fixed, without the campaign."""
    folder = tmp_path / "project"
    shutil.copytree(hunted, folder, ignore=shutil.ignore_patterns(".unsnarl"))
    (folder / FILE).write_text(FIXED)
    return folder


@pytest.fixture(scope="module")
def reproducer(hunted):
    done = called(hunted, "export", "1", "--reproducer", "repro.py", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0, answer
    assert answer["failed"] == answer["tries"] > 0
    return hunted / answer["file"]


def test_a_reproducer_names_no_path_of_this_machine(hunted, reproducer):
    text = reproducer.read_text()
    assert str(hunted) not in text
    assert sys.prefix not in text


def test_a_reproducer_fails_while_the_bug_is_there(hunted, reproducer, edited):
    done = run(hunted, str(reproducer))
    assert (done.returncode, "BUG: " in done.stdout) == (1, True), done.stdout
    done = run(edited, str(reproducer))
    assert (done.returncode, "FIXED: " in done.stdout) == (0, True), done.stdout


def test_a_reproducer_does_not_take_a_broken_test_for_the_bug(reproducer, edited):
    (edited / FILE).write_text("import a_module_that_is_not_there\n")
    assert run(edited, str(reproducer)).returncode == 2


def test_a_renamed_function_is_not_taken_for_a_fix(reproducer, edited):
    renamed = PROGRAM.replace("is_empty", "has_nothing").replace("take", "remove_one")
    (edited / FILE).write_text(renamed)
    assert run(edited, str(reproducer)).returncode != 0


@pytest.fixture(scope="module")
def kept(hunted):
    done = called(hunted, "keep", "1", "--name", "taken-twice")
    assert done.returncode == 0, done.stdout
    return hunted / "tests" / "interleavings" / "taken-twice.toml"


def test_a_kept_interleaving_fails_until_the_bug_is_fixed(hunted, kept, edited):
    assert called(hunted, "verify", "--kept").returncode == 1
    (edited / kept.relative_to(hunted)).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(kept, edited / kept.relative_to(hunted))
    done = called(edited, "verify", "--json")
    assert done.returncode == 0, done.stdout
    assert [one["state"] for one in json.loads(done.stdout)["kept"]] == ["passes"]


@pytest.fixture
def several(hunted, kept, tmp_path):
    """The project with more tests, and the interleaving kept of each of these."""
    folder = tmp_path / "project"
    shutil.copytree(hunted, folder, ignore=shutil.ignore_patterns(".unsnarl", "interleavings"))
    tests = "def test_one_customer():\n    shelf.items = ['last']\n    customer()\n"
    (folder / FILE).write_text(f"{PROGRAM}\n{tests}")
    (folder / "tests" / "interleavings").mkdir(parents=True)
    for name in ("one_customer", "two_customers", "no_customer"):
        text = kept.read_text().replace(f'"{FILE}"]', f'"{FILE}::test_{name}"]', 1)
        (folder / "tests" / "interleavings" / f"{name}.toml").write_text(text)
    return folder


def test_the_tests_of_a_file_share_a_process(several, monkeypatch):
    monkeypatch.chdir(several)
    started = []
    monkeypatch.setattr(
        regress, "start_kept", lambda *given: started.append(given) or start_kept(*given)
    )
    folder = several / "tests" / "interleavings"
    with regress.Regressions(several, sys.executable) as regressions:
        for _ in range(2):
            assert regressions.check(folder / "two_customers.toml").state == "fails"
            # Alone it is no bug: whoever ran both tests would see it fail.
            assert regressions.check(folder / "one_customer.toml").state != "fails"
        with pytest.raises(UsageError, match="collects no test"):
            regressions.check(folder / "no_customer.toml")
    assert len(started) == 1


def test_pytest_replays_what_is_kept(hunted, kept):
    plugins = ("-p", "unsnarl.pytest_plugin", "-p", "no:cacheprovider")
    words = ("-m", "pytest", "-q", *plugins, "--unsnarl-regress", str(kept))
    done = run(hunted, *words)
    assert done.returncode == 1, done.stdout
    assert "1 failed" in done.stdout
    assert "minimised constraint" in done.stdout
