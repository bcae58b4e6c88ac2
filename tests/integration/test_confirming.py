# SPDX-License-Identifier: Apache-2.0
"""Right findings that are hard to confirm: the last access is repeated, or few runs failed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

USED_AFTER_CLOSE = """\
import threading


class Connection:
    def __init__(self):
        self.socket = None

    def open(self):
        self.socket = "socket"

    def ask(self):
        return self.socket.upper()

    def close(self):
        self.socket = None


def use(connection, opened):
    connection.open()
    opened.set()
    for _ in range(3):
        connection.ask()


connection, opened = Connection(), threading.Event()
user = threading.Thread(target=use, args=(connection, opened))
user.start()
opened.wait()
connection.close()
user.join()
"""


# The refresher comes back for the lock until it is asked to leave, which nobody does who is made to
# wait until it has left.
HELD_WHILE_JOINING = """\
import sys
import threading


class View:
    def __init__(self):
        self.lock = threading.RLock()
        self.left = threading.Event()
        self.frames = 0
        self.refresher = threading.Thread(target=self.refresh, daemon=True)

    def refresh(self):
        while not self.left.wait(0.001):
            with self.lock:
                self.frames += 1

    def stop(self):
        with self.lock:
            self.left.set()
            self.refresher.join()


def show(ended):
    view = View()
    view.refresher.start()
    view.stop()
    ended.set()


ended = threading.Event()
threading.Thread(target=show, args=(ended,), daemon=True).start()
sys.exit(0 if ended.wait(timeout=5) else 1)
"""

# It looks whether to go on two lines before it asks for the lock, and sleeps between its turns: in
# the time that the main thread waits for, it comes back many times.
CHECKED_LONG_BEFORE = """\
import sys
import threading
import time


class Poller:
    def __init__(self):
        self.lock = threading.Lock()
        self.polling = True
        self.names = ["position"]
        self.polls = 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while self.polling:
            count = self.polls + 1
            self.poll(count)
            time.sleep(0.01)

    def poll(self, count):
        with self.lock:
            self.polls = count

    def remove(self, name):
        with self.lock:
            self.names.remove(name)
            self.polling = False
            self.thread.join()


poller = Poller()
poller.thread.start()
closing = threading.Thread(target=poller.remove, args=("position",), daemon=True)
closing.start()
closing.join(timeout=5)
sys.exit(1 if closing.is_alive() else 0)
"""

# All that a scan knows is kept in the scanner, which two threads share: any of five attributes may
# be what shows it, and without one of them runs fail by the others.
SHARED_STATE = """\
import threading


class Scanner:
    def __init__(self):
        self.start("")

    def start(self, text):
        self.text = text
        self.size = len(text)
        self.position = 0
        self.word = ""
        self.words = []

    def scan(self, text):
        self.start(text)
        while self.position < self.size:
            self.step()
        self.words.append(self.word)
        return self.words

    def step(self):
        char = self.text[self.position : self.position + 1]
        if char == " ":
            self.words.append(self.word)
            self.word = ""
        else:
            self.word = self.word + char
        self.position = self.position + 1


TEXTS = {"colours": "red blue", "numbers": "one two"}
scanner = Scanner()
found = {}


def scan(name):
    found[name] = scanner.scan(TEXTS[name])


threads = [threading.Thread(target=scan, args=(name,)) for name in TEXTS]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == {name: text.split() for name, text in TEXTS.items()}
"""


def unsnarl(folder, *arguments):
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        [sys.executable, "-m", "unsnarl", *arguments],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1, 4), done.stderr


def first_finding(folder, fails):
    """The first finding of a hunt with so many failing runs, tested on its own."""
    (folder / "closed.py").write_text(USED_AFTER_CLOSE)
    wanted = ("--fail", str(fails), "--pass", "10", "--seed", "5", "--jobs", "1", "--no-confirm")
    unsnarl(folder, "hunt", *wanted, "--", "python", "closed.py")
    unsnarl(folder, "confirm", "--json=answer.json", "1")
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    return failure["findings"][0]


@pytest.mark.parametrize("fails", [15, 2])
def test_a_use_that_is_repeated_is_kept_apart_from_the_close(tmp_path, fails):
    finding = first_finding(tmp_path, fails)
    accesses = [one for one in finding["points"] if one["op"] in ("read", "write")]
    assert [(one["line"], one["op"]) for one in accesses] == [
        (9, "write"),
        (15, "write"),
        (12, "read"),
    ]
    assert finding["status"] == "confirmed", finding["why"]
    assert finding["forced"]["fail"] > 0 == finding["forbidden"]["fail"]
    # Two recorded failures never exclude chance: what forcing brought about is added to them.
    assert finding["forbidden"]["runs"] >= 10


def confirmed_alone(folder, program, seed="0"):
    """The first finding of a hunt of a program, tested on its own."""
    (folder / "program.py").write_text(program)
    wanted = ("--fail", "12", "--pass", "5", "--seed", seed, "--jobs", "1", "--no-confirm")
    unsnarl(folder, "hunt", *wanted, "--", "python", "program.py")
    unsnarl(folder, "confirm", "--json=answer.json", "1")
    (failure,) = json.loads((folder / "answer.json").read_text())["failures"]
    return failure["findings"][0]


def test_a_lock_held_while_joining_who_comes_back_for_it(tmp_path):
    finding = confirmed_alone(tmp_path, HELD_WHILE_JOINING)
    assert [one["line"] for one in finding["points"]][:3] == [18, 20, 14]
    assert finding["status"] == "confirmed", finding["why"]
    # What was found out is there for `show`, `rank` and `fix`, too.
    (stored,) = (tmp_path / ".unsnarl").glob("*/report.json")
    (kept,) = json.loads(stored.read_text())["failures"]
    first = kept["findings"][0]
    assert [first[name] for name in ("id", "status", "forbidden")] == [
        finding[name] for name in ("id", "status", "forbidden")
    ]


def test_a_lock_held_while_joining_who_checked_long_before_it_comes_for_it(tmp_path):
    finding = confirmed_alone(tmp_path, CHECKED_LONG_BEFORE)
    assert [one["line"] for one in finding["points"]][:3] == [25, 28, 21]
    assert finding["status"] == "confirmed", finding["why"]


def test_state_of_a_call_in_a_shared_object_is_confirmed_by_keeping_the_calls_apart(tmp_path):
    (tmp_path / "program.py").write_text(SHARED_STATE)
    wanted = ("--fail", "12", "--pass", "5", "--seed", "0", "--jobs", "1", "--no-confirm")
    unsnarl(tmp_path, "hunt", *wanted, "--json=hunt.json", "--", "python", "program.py")
    (failure,) = json.loads((tmp_path / "hunt.json").read_text())["failures"]
    ops = {one["id"]: [point["op"] for point in one["points"]] for one in failure["findings"]}
    kept = next(name for name, found in ops.items() if found[:3] == ["write", "write", "read"])
    unsnarl(tmp_path, "confirm", "--json=answer.json", kept)
    (failure,) = json.loads((tmp_path / "answer.json").read_text())["failures"]
    (finding,) = failure["findings"]
    assert finding["status"] == "confirmed", finding["why"]
    # Which of the attributes does the harm is open: the report says what was confirmed.
    assert finding["calls"] == "Scanner.scan" and finding["windows"]
