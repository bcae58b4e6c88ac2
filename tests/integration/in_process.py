# SPDX-License-Identifier: Apache-2.0
"""Commands in the process of the tests, for those that come by the dozen.

In a process of its own each would load numpy and all of unsnarl first. That a command works as a
process is tested for each command, but not with every program and every damaged file.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from unsnarl.cli.main import run
from unsnarl.workflows import hunt


def called(folder: Path, *words: object) -> CompletedProcess[str]:
    """A command in a folder: its exit code and what it printed."""
    out, errors = text_stream(), text_stream()
    redirected = contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)
    with contextlib.chdir(folder), redirected[0], redirected[1]:
        code = run([str(word) for word in words])
    return CompletedProcess(words, code, *(text(stream) for stream in (out, errors)))


def proved(folder: Path, *words: object) -> CompletedProcess[str]:
    """A hunt with its experiments, without a patch: half of an answer's runs are made for it."""
    with mock.patch.object(hunt.Hunter, "_repaired", lambda _, report, *__: report):
        return called(folder, *words)


def text_stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
