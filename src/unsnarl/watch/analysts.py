# SPDX-License-Identifier: Apache-2.0
"""Starts the analyst: a process of its own that reads the spool, so that the program need not.

It belongs to nobody: a shell starts it and ends, so that the program has no child that it did not
make, and the analyst survives a crash of the program.
"""

from __future__ import annotations

import contextlib
import os
import sys

VARIABLE = "UNSNARL_WATCH"  # what the bootstrap of a watched process reads
FOLDER = os.path.join(os.path.dirname(__file__), "bootstrap")  # noqa: PTH118, PTH120
_MODULE = "unsnarl.anomalies"


def start_analyst(spool: str) -> None:
    """Returns when the shell has ended, which takes about a millisecond."""
    command = [sys.executable, "-m", _MODULE, os.path.abspath(spool)]  # noqa: PTH100
    argv = ["sh", "-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", *command]
    pid = os.posix_spawn("/bin/sh", argv, without_watch(dict(os.environ)), setpgroup=0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def without_watch(environment: dict[str, str]) -> dict[str, str]:
    """An environment whose processes are not watched."""
    environment.pop(VARIABLE, None)
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    kept = os.pathsep.join(one for one in paths if one and one != FOLDER)
    environment.pop("PYTHONPATH", None)
    return {**environment, "PYTHONPATH": kept} if kept else environment


def with_watch(environment: dict[str, str], settings: str) -> dict[str, str]:
    """An environment whose Python processes are watched, with these settings as JSON."""
    paths = [FOLDER, *filter(None, [environment.get("PYTHONPATH", "")])]
    return {**environment, VARIABLE: settings, "PYTHONPATH": os.pathsep.join(paths)}
