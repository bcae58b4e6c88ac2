# SPDX-License-Identifier: Apache-2.0
"""Runs share nothing: temporary folders, standard input, output; and `python -m unittest`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.in_process import called, proved

PYTHON = sys.executable
# pytest numbers its folders by what is there: whoever is first gets 0, in a folder of his own.
FILES = """
import threading

def test_files(tmp_path, {fixture}):
    assert tmp_path.parent.name == {name!r}, tmp_path
    (tmp_path / "a").write_text("")
    thread = threading.Thread(target=(tmp_path / "b").write_text, args=("",))
    thread.start()
    thread.join()
    assert len([*tmp_path.iterdir()]) == 2
"""
BOX = """
import threading

class Box:
    def __init__(self):
        self.count = 0

    def add(self):
        value = self.count
        self.count = value + 1

"""
SCRIPT = f"""{BOX}
box = Box()
threads = [threading.Thread(target=box.add) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert box.count == 2
"""
UNITTEST = f"""import unittest
{BOX}
class BoxTest(unittest.TestCase):
    def setUp(self):
        self.box = Box()

    def test_both_are_counted(self):
        threads = [threading.Thread(target=self.box.add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with self.subTest("count"):
            self.assertEqual(self.box.count, 2)

if __name__ == "__main__":
    unittest.main()
"""
ADDING = """
import sys
import threading

numbers = [int(word) for word in sys.stdin.read().split()]
total = []
threads = [threading.Thread(target=total.append, args=(number,)) for number in numbers]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert sum(total) == 6, total
"""
LOUD = """
import sys
import threading

box = []

def work():
    print("x" * 1000 * 1000)
    if not box:
        box.append(1)

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(f"{len(box)} boxes" if len(box) != 1 else 0)
"""


@pytest.mark.parametrize(("options", "name"), [((), "pytest-0"), (("--basetemp", "mine"), "mine")])
def test_tests_that_use_temporary_folders_pass_in_every_run(tmp_path, options, name):
    (tmp_path / "test_files.py").write_text(FILES.format(fixture="capsys", name=name))
    command = (PYTHON, "-m", "pytest", "-q", *options, "test_files.py")
    answer = called(tmp_path, "hunt", "--jobs", "2", "--max-runs", "30", "--", *command)
    assert "30 runs · 0 failing" in answer.stdout, answer.stdout
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("command", [("-m", "unittest", "test_box"), ("test_box.py",)])
def test_unittest_is_hunted_like_pytest(tmp_path, command):
    (tmp_path / "test_box.py").write_text(UNITTEST)
    wanted = ("--fail", "10", "--pass", "10", "--confirm", "1")
    answer = proved(tmp_path, "hunt", *wanted, "--json", "out.json", "--", PYTHON, *command)
    assert answer.returncode == 1, answer.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    (failure,) = report["failures"]
    assert "AssertionError in test_box.py:BoxTest.test_both_are_counted" in failure["signature"]
    assert failure["findings"][0]["status"] == "confirmed"
    assert report["instrumented"]["modules"] >= 1


@pytest.mark.parametrize(
    ("words", "slug"),
    [(("nosuch",), "collection-failed"), (("-k", "none", "test_box"), "no-tests")],
)
def test_unittest_without_tests_to_run_is_wrong_usage(tmp_path, words, slug):
    (tmp_path / "test_box.py").write_text(UNITTEST)
    answer = called(tmp_path, "hunt", "--", PYTHON, "-m", "unittest", *words)
    assert answer.returncode == 2
    assert f"[{slug}]" in answer.stderr


def test_every_run_reads_all_of_standard_input_and_so_does_a_replay(tmp_path):
    (tmp_path / "adding.py").write_text(ADDING)
    command = [PYTHON, "-m", "unsnarl", "hunt", "--max-runs", "20", "--", PYTHON, "adding.py"]
    answer = subprocess.run(
        command, cwd=tmp_path, input="1 2 3", capture_output=True, text=True, check=False
    )
    assert "20 runs · 0 failing" in answer.stdout, answer.stdout + answer.stderr
    (folder,) = (tmp_path / ".unsnarl").glob("2*")
    assert (folder / "stdin").read_text() == "1 2 3"


def test_long_outputs_are_not_kept_whole(tmp_path):
    (tmp_path / "loud.py").write_text(LOUD)
    wanted = ("--fail", "3", "--pass", "3", "--no-confirm")
    answer = called(tmp_path, "hunt", *wanted, "--", PYTHON, "loud.py")
    assert answer.returncode == 1
    outputs = [*(tmp_path / ".unsnarl").glob("*/runs/*.out")]
    assert outputs and all(path.stat().st_size < 300_000 for path in outputs)


def test_a_copied_checkout_is_verified_itself(tmp_path):
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    (before / "box.py").write_text(SCRIPT)
    wanted = ("--fail", "5", "--pass", "5", "--no-confirm")
    hunted = called(before, "hunt", *wanted, "--", PYTHON, str(before / "box.py"))
    assert hunted.returncode == 1
    shutil.copytree(before, after)
    _make_atomic(after / "box.py")
    assert called(after, "verify", "--max-runs", "60").returncode == 0
    assert called(before, "verify", "--max-runs", "60").returncode == 1


def _make_atomic(path: Path) -> None:
    text = path.read_text().replace(
        "self.count = 0", "self.count = 0; self.lock = threading.Lock()"
    )
    text = text.replace(
        "        value = self.count\n", "        with self.lock:\n            value = self.count\n"
    )
    path.write_text(text.replace("        self.count = value", "            self.count = value"))
