# SPDX-License-Identifier: Apache-2.0
"""Does a reproducer reproduce? It is run a few times where its reader would run it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

# Longer than the reproducer's own limit for a test.
SECONDS = 150.0
BUG = 1


class TriedReproducer(msgspec.Struct, frozen=True):
    """What came of it.

    Attributes:
        codes: The exit statuses, in order; -1 if it did not end.
        says: The last line that the last try printed.
    """

    codes: tuple[int, ...]
    says: str

    @property
    def failed(self) -> int:
        """How often the bug was there."""
        return self.codes.count(BUG)

    @property
    def is_certain(self) -> bool:
        """Whether the bug was there every time."""
        return self.failed == len(self.codes) > 0


def try_reproducer(
    text: str,
    command: Sequence[str],
    cwd: Path,
    times: int,
    *,
    after: Sequence[str] = (),
    suffix: str = ".py",
) -> TriedReproducer:
    """Run a reproducer so many times; no more once it did not show the bug.

    `command` comes before its file and `after` behind it. gdb goes by the suffix of a script.
    """
    codes: list[int] = []
    says = ""
    with tempfile.TemporaryDirectory(prefix="unsnarl-reproducer-") as folder:
        file = Path(folder) / f"reproducer{suffix}"
        file.write_text(text, encoding="utf-8")
        while len(codes) < times and set(codes) <= {BUG}:
            code, says = _run([*command, str(file), *after], cwd)
            codes.append(code)
    return TriedReproducer(tuple(codes), says)


def _run(command: Sequence[str], cwd: Path) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=_variables(os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, "it did not end"
    lines = (done.stdout or done.stderr).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def _variables(ours: Mapping[str, str]) -> dict[str, str]:
    """A reader's environment knows nothing of unsnarl."""
    return {name: value for name, value in ours.items() if not name.startswith("UNSNARL_")}
