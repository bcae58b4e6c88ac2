# SPDX-License-Identifier: Apache-2.0
"""Bugs of the zoo, recorded by `unsnarl record`, for the tests of `unsnarl reproduce`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.integration.in_process import called
from tests.integration.native_programs import build

ZOO = Path(__file__).parents[2] / "zoo"


def unsnarl(folder, *words):
    command = [sys.executable, "-m", "unsnarl", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def record(folder, command, *options, fails=True):
    """Record until it fails, or once; gives how RECORD is called.

    The runs are not controlled, so that when one fails is luck. Of a bug that fails in 1 % of the
    runs, none of 5000 fails in 1 of 10^21 cases.
    """
    often = ["--noise", "--until-fail", "5000"] if fails else []
    done = called(folder, "record", *often, "--json", *options, "--", *command)
    assert done.returncode == (1 if fails else 0), done.stdout + done.stderr
    answer = json.loads(done.stdout)
    return f"{answer['campaign']}/{answer['record']['run']}"


def c_bug(folder, name):
    return [str(build(folder, str(ZOO / "c" / name / f"{name}.c"), "--loops"))]


def python_bug(folder, name):
    shutil.copy(ZOO / "python" / name / f"{name}.py", folder)
    return [sys.executable, f"{name}.py"]
