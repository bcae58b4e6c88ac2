# SPDX-License-Identifier: Apache-2.0
"""The shipped program with a bug, to be hunted."""

from __future__ import annotations

from pathlib import Path

import unsnarl
from unsnarl.campaigns.store import FOLDER
from unsnarl.execution.disk import storing

PROGRAM = "spider.py"


def demo_program() -> Path:
    """A copy of the program in the current directory.

    A copy, because installed packages are not instrumented, and unsnarl itself never is.
    """
    # An editable install has several folders, of which one has the sources.
    shipped = [Path(folder) / "demo" / PROGRAM for folder in unsnarl.__path__]
    text = next(path for path in shipped if path.exists()).read_bytes()
    copy = Path(FOLDER) / "demo" / PROGRAM
    with storing(copy.parent):
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(text)
    return copy
