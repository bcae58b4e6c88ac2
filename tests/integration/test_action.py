# SPDX-License-Identifier: Apache-2.0
"""The shell lines of the composite action, run as GitHub runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ACTION = Path(__file__).parents[2] / "action" / "action.yml"
# As documented for `shell: bash`.
SHELL = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c")
PROGRAM = """
import threading

total = 0

def add():
    global total
    seen = total
    total = seen + 1

threads = [threading.Thread(target=add) for _ in range(2)]
for thread in threads:
    thread.start()
{join}for thread in threads:
    thread.join()
assert total == 2, "an addition is lost"
"""


def step(name: str) -> str:
    """The lines that a step of the action runs."""
    text = ACTION.read_text().partition(f"- name: {name}\n")[2]
    found = re.search(r"^( +)run: \|\n((?:\1  .*\n)+)", text, re.M)
    assert found is not None
    return textwrap.dedent(found[2])


@pytest.fixture
def hunt(tmp_path):
    def run(source: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "sum.py").write_text(source)
        folder = str(Path(sys.executable).parent)
        given = {
            "COMMAND": "python sum.py",
            "OPTIONS": "--switch free --no-confirm --fail 2 --pass 2 --max-runs 60",
            "SECONDS_LIMIT": "60",
            "SARIF": "unsnarl.sarif",
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "PATH": f"{folder}:{os.environ['PATH']}",
        }
        return subprocess.run(
            [*SHELL, step("Hunt")], cwd=tmp_path, capture_output=True, text=True, check=False,
            env=os.environ | given,
        )  # fmt: skip

    return run


def test_a_failure_is_annotated_and_summed_up(hunt, tmp_path):
    done = hunt(PROGRAM.format(join=""))
    assert done.returncode == 1, done.stdout + done.stderr
    assert (tmp_path / "output").read_text() == "status=1\n"
    assert re.search(r"^::(error|warning) file=sum\.py,line=\d+", done.stdout, re.M)
    assert "an addition is lost" in (tmp_path / "summary.md").read_text()
    assert json.loads((tmp_path / "unsnarl.sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / ".unsnarl").is_dir()


def test_where_nothing_fails_nothing_is_written(hunt, tmp_path):
    done = hunt(PROGRAM.format(join="    thread.join()\n"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "output").read_text() == "status=0\n"
    assert not (tmp_path / "summary.md").exists()
    assert "::" not in done.stdout
