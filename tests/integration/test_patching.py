# SPDX-License-Identifier: Apache-2.0
"""A hunt shows a patch; `fix --apply` writes it; the next hunt finds nothing."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from tests.integration.in_process import called

from unsnarl.execution import target
from unsnarl.execution.engine import Engine
from unsnarl.model.plan import Plan
from unsnarl.patches.trying import WAITS

STOCK = '''
import sys
import threading


class Stock:
    """How much is left."""

    def __init__(self, left):
        self.left = left

    def take(self, count):
        if self.left >= count:  # enough?
            print("taken", file=sys.stderr)
            self.left -= count


'''
MAIN = """
def main():
    stock = Stock(3)
    buyers = [threading.Thread(target=stock.take, args=(2,)) for _ in range(2)]
    for buyer in buyers:
        buyer.start()
    for buyer in buyers:
        buyer.join()
    assert stock.left >= 0, "sold what was not there"
"""
SCRIPT = f"{STOCK}{MAIN}\n\nmain()\n"
TEST = f"{STOCK}{MAIN.replace('main', 'test_stock')}"
PYTEST = (sys.executable, "-m", "pytest", "-q")
COMMANDS = {"shop.py": (sys.executable, "shop.py"), "test_shop.py": (*PYTEST, "test_shop.py")}


WANTED = ("--seed", "1", "--fail", "10", "--pass", "10", "--confirm", "1")


@pytest.mark.parametrize(("name", "text"), [("shop.py", SCRIPT), ("test_shop.py", TEST)])
def test_from_the_hunt_to_a_green_hunt(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    command = COMMANDS[name]
    hunted = called(tmp_path, "hunt", *WANTED, "--json", "report.json", "--", *command)
    assert hunted.returncode == 1, hunted.stderr
    # What a hunt has no time for, `fix` makes.
    shown = called(tmp_path, "fix", "-o", "a.patch", "--json", "fix.json")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert file.read_text() == text
    report = json.loads((tmp_path / "fix.json").read_text())
    patch = report["failures"][0]["findings"][0]["patch"]
    assert patch["works"]
    assert patch["checks"]["runs"] >= 200
    assert patch["checks"]["fail"] == patch["checks"]["deadlocks"] == 0
    assert patch["diff"] == (tmp_path / "a.patch").read_text()
    assert (
        "+        with self._lock:\n+            if self.left >= count:  # enough?\n"
        in patch["diff"]
    )
    refuses_other_code(tmp_path, file)
    applied = called(tmp_path, "fix", "--apply")
    assert applied.returncode == 0
    assert "self._lock = threading.Lock()" in file.read_text()
    # Of fresh runs the patch's checks have made 200.
    assert called(tmp_path, "verify", "--max-runs", "30").returncode == 0
    assert called(tmp_path, "hunt", "--max-runs", "30", "--", *command).returncode == 0


def refuses_other_code(folder: Path, file: Path) -> None:
    """A patch is not applied to code that was edited since."""
    text = file.read_text()
    edited = text.replace("enough?", "is that enough?")
    file.write_text(edited)
    refused = called(folder, "fix", "--apply")
    assert refused.returncode == 2
    assert "[code-changed]" in refused.stderr
    assert file.read_text() == edited
    file.write_text(text)


CLIENT = """
import threading


class Client:
    def __init__(self):
        self.lines = []

    def send(self, line):
        if self.lines is not None:
            line = self.clean(line)
            self.lines.append(line)

    def clean(self, line):
        return line.strip()

    def close(self):
        self.lines = None


client = Client()
closer = threading.Thread(target=client.close)
closer.start()
client.send("hello")
closer.join()
"""


def test_what_is_read_twice_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(CLIENT)
    command = (sys.executable, "client.py")
    runs = ("--seed", "1", "--no-confirm", "--max-runs", "60")
    assert called(tmp_path, "hunt", *runs, "--", *command).returncode == 1
    shown = called(tmp_path, "fix", "-v", "--apply")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    text = (tmp_path / "client.py").read_text()
    assert "        lines = self.lines\n        if lines is not None:\n" in text
    assert "            lines.append(line)\n" in text
    assert "read self.lines once, before client.py:10: 0 of " in shown.stdout
    assert called(tmp_path, "hunt", *runs, "--", *command).returncode == 0


CACHE = """
import threading
import time


class Cache:
    def __init__(self):
        self.pages = {}
        self.loads = 0

    def load(self, name):
        time.sleep(0.01)
        self.loads += 1
        return name

    def page(self, name):
        if name not in self.pages:
            self.pages[name] = self.load(name)


cache = Cache()
readers = [threading.Thread(target=cache.page, args=("x",)) for _ in range(2)]
for reader in readers:
    reader.start()
for reader in readers:
    reader.join()
assert cache.loads == 1
"""


def test_no_lock_is_held_while_its_thread_waits_not_even_in_a_function_that_it_calls(
    tmp_path: Path,
) -> None:
    (tmp_path / "cache.py").write_text(CACHE)
    runs = ("--seed", "1", "--no-confirm", "--max-runs", "60")
    assert called(tmp_path, "hunt", *runs, "--", sys.executable, "cache.py").returncode == 1
    shown = called(tmp_path, "fix", "-v")
    assert shown.returncode == 4, shown.stdout
    assert "hold Cache._lock" in shown.stdout and WAITS in " ".join(shown.stdout.split())


REPEATS = """
import queue
import threading


class Box:
    def __init__(self):
        self.queue = queue.Queue()
        self.last = None

    def put(self, item):
        if item != self.last:
            self.queue.put(item)
            self.last = item


box = Box()
writers = [threading.Thread(target=box.put, args=("x",)) for _ in range(2)]
for writer in writers:
    writer.start()
for writer in writers:
    writer.join()
assert box.queue.qsize() == 1
"""


def test_a_lock_may_be_held_around_a_signal_to_others(tmp_path: Path) -> None:
    """A condition asks whether its own lock is held before it notifies: that is no wait."""
    (tmp_path / "repeats.py").write_text(REPEATS)
    runs = ("--seed", "1", "--no-confirm", "--max-runs", "60")
    assert called(tmp_path, "hunt", *runs, "--", sys.executable, "repeats.py").returncode == 1
    shown = called(tmp_path, "fix", "-v")
    assert shown.returncode == 0, shown.stdout
    assert "+            if item != self.last:\n" in shown.stdout


HOUSE = "import sys\n\nVALUE = 1\n\n\ndef enter():\n    return VALUE\n"
CALLER = "import threading\nimport house\n\nassert house.enter() == 2, house.enter()\n"


@pytest.mark.parametrize("kind", ["script", "module", "pytest"])
def test_an_overlay_runs_in_the_stead_of_a_file(tmp_path: Path, kind: str) -> None:
    (tmp_path / "house.py").write_text(HOUSE)
    body = "def test_enter():\n    import house\n    assert house.enter() + OWN == 3\n"
    (tmp_path / "test_house.py").write_text(f"OWN = 0\n\n\n{body}")
    (tmp_path / "main.py").write_text(CALLER)
    house, test = tmp_path / "patched" / "0.py", tmp_path / "patched" / "1.py"
    house.parent.mkdir()
    house.write_text(HOUSE.replace("VALUE = 1", "VALUE = 2"))
    test.write_text(f"OWN = 1\n\n\n{body}")
    words = {
        "script": (sys.executable, "main.py"),
        "module": (sys.executable, "-m", "main"),
        "pytest": (*PYTEST, "test_house.py"),
    }[kind]
    found = target.parse(words, tmp_path)
    pairs = ((str(tmp_path / "house.py"), str(house)), (str(tmp_path / "test_house.py"), str(test)))
    assert status(found, tmp_path, ()) != 0
    assert status(found, tmp_path, pairs) == 0


def status(found: target.Target, folder: Path, overlay: tuple[tuple[str, str], ...]) -> int:
    """The exit status of one run."""
    scratch = folder / f"runs-{len(overlay)}"
    scratch.mkdir()
    files = {"file": str(scratch / "1.run"), "output": str(scratch / "1.out")}
    with Engine(dataclasses.replace(found, overlay=overlay), scratch, 1) as engine:
        engine.submit(Plan(number=1, seed=1, timeout=20.0, switch="gil", strategy="walk", **files))
        done = []
        while not done:
            done = engine.wait(1.0)
    return done[0].status
