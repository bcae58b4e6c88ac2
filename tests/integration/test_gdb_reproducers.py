# SPDX-License-Identifier: Apache-2.0
"""The proof of a C program's bug as a script for gdb, tried on a build without unsnarl."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.in_process import called, proved

pytestmark = [
    pytest.mark.skipif(not shutil.which("gdb"), reason="there is no gdb"),
    pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc"),
    pytest.mark.slow,
]
# Its functions are inlined at -O1: they have lines there, and no symbols.
SOURCE = Path(__file__).parents[2] / "zoo" / "c" / "queuesize" / "queuesize.c"
FLAGS = ("-O1", "-g", "-pthread", "queue.c", "-o", "queue")


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script, in the project that it was made of."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "setup.cfg").touch()
    shutil.copy(SOURCE, folder / "queue.c")
    subprocess.run([sys.executable, "-m", "unsnarl", "cc", *FLAGS], cwd=folder, check=True)
    hunt = ("hunt", "--seed", "1", "--confirm", "1", "--fail", "5", "--pass", "5")
    assert proved(folder, *hunt, "--", "./queue").returncode == 1
    done = called(folder, "export", "1", "--reproducer", "repro.gdb")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "repro.gdb"


def forced(folder: Path, script: Path, source: str) -> subprocess.CompletedProcess[str]:
    (folder / "queue.c").write_text(source)
    subprocess.run(["gcc", *FLAGS], cwd=folder, check=True)
    return subprocess.run(
        ["gdb", "-nx", "-batch", "-x", script, "--args", "./queue"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_plain_build_fails_under_the_orders(script, tmp_path):
    done = forced(tmp_path, script, SOURCE.read_text())
    assert (done.returncode, "BUG: " in done.stdout) == (1, True), done.stdout + done.stderr


def test_a_fixed_one_passes_under_the_orders(script, tmp_path):
    fixed = SOURCE.read_text().replace("assert(used < ROOM);", "if (used == ROOM) used--;")
    done = forced(tmp_path, script, fixed)
    assert (done.returncode, "FIXED: " in done.stdout) == (0, True), done.stdout + done.stderr


def test_a_rewritten_one_is_not_taken_for_a_fix(script, tmp_path):
    other = SOURCE.read_text().replace("int full = used == ROOM;", "int full = ROOM - used < 1;")
    done = forced(tmp_path, script, other)
    assert (done.returncode, "NOT ESTABLISHED: " in done.stdout) == (2, True), done.stdout
