# SPDX-License-Identifier: Apache-2.0
"""The parent's side of the fork server's socket, as plainly as can be."""

import json
import os
import socket
import subprocess
import tempfile
from pathlib import Path

from tests.integration.interpreters import PYTHON

from unsnarl.runfile.reader import read_run

PLAN = {
    "seed": 5,
    "strategy": "walk",
    "switch": "gil",
    "timeout": 100.0,
    "depth": 3,
    "length": 400,
    "sites": None,
    "interest": None,
    "counts": None,
    "schedule": None,
    "capture": None,
    "trace": False,
}


def environment():
    """A plain run and the server's must decide about buffering alike."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}


class Client:
    """The parent's side."""

    def __init__(self, folder, kind, *args):
        ours, theirs = socket.socketpair()
        ours.settimeout(240)
        command = [PYTHON, "-m", "unsnarl.probes.server", str(theirs.fileno())]
        with theirs:
            self.process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], cwd=folder, env=environment()
            )
        self.folder = folder
        # Else runs of tests at the same time would meet in the system's.
        self._temporary = tempfile.TemporaryDirectory(prefix="unsnarl-", ignore_cleanup_errors=True)
        self.socket = ours
        self._reader = ours.makefile("rb")
        setup = {
            "command": {"kind": kind, "args": list(args)},
            "root": str(folder),
            "include": [],
            "codes": str(folder / "codes.json"),
            "cwd": str(folder),
            "temporary": self._temporary.name,
        }
        self.send({"setup": setup})
        try:
            self.first = self.receive()
        except OSError:
            self.process.kill()
            raise

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        line = self._reader.readline()
        return json.loads(line) if line else None

    def ask(self, number, **changes):
        files = {"file": self.path(number, "run"), "output": self.path(number, "out")}
        plan = {**PLAN, "number": number, **files, **changes}
        self.send({"run": plan})

    def run(self, number=1, **changes):
        self.ask(number, **changes)
        return self.receive()["done"]

    def path(self, number, kind):
        return str(self.folder / f"{number}.{kind}")

    def output(self, number=1):
        return Path(self.path(number, "out")).read_text()

    def failures(self, number=1):
        return read_run(self.path(number, "run")).failures

    def close(self):
        self._reader.close()
        self.socket.close()
        status = self.process.wait(30)
        self._temporary.cleanup()
        return status
