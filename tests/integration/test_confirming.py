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
