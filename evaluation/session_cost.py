# SPDX-License-Identifier: Apache-2.0
"""What the pytest plugin adds to a session that does not use it, part by part.

The difference of two sessions drowns in the noise of a busy machine, so each part is measured by
itself, in processor time, as the least of several: pytest reads the list of a plugin's files to
mark them for its assertions, imports the plugin, and asks it for options and settings.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "src"
PLUGIN = "unsnarl.pytest_plugin"
TIMES = 15
MOST_MILLISECONDS = 15.0


class SessionCost(NamedTuple):
    """Milliseconds of processor time; `start` is that of an interpreter that does nothing."""

    files: int
    listing: float
    importing: float
    asking: float
    start: float

    @property
    def total(self) -> float:
        """All that is added."""
        return self.listing + self.importing + self.asking

    @property
    def sentence(self) -> str:
        """For the page."""
        return (
            f"A session that does not use the plugin: +{self.total:.1f} ms of processor time (the "
            f"bar is {MOST_MILLISECONDS:.0f} ms): {self.listing:.1f} for the list of its "
            f"{self.files} installed files, which pytest reads of every plugin, "
            f"{self.importing:.1f} for its import, {self.asking:.1f} for options. A bare "
            f"interpreter took {self.start:.0f} ms then; it takes 12 to 20 on a quiet machine."
        )


def session_cost() -> SessionCost:
    """Measure the parts here, and the interpreter beside."""
    with tempfile.TemporaryDirectory() as folder:
        installed, count = _installed(Path(folder))
        return SessionCost(
            files=count,
            listing=_least(lambda: [str(one) for one in installed.files or ()]),
            importing=_least(_import),
            asking=_least(_ask),
            start=_started(),
        )


def _installed(folder: Path) -> tuple[importlib.metadata.Distribution, int]:
    """A distribution with the files of our wheel, compiled as pip does it."""
    found = (one for one in (PACKAGE / "unsnarl").rglob("*") if one.is_file())
    files = [one.relative_to(PACKAGE) for one in found if "__pycache__" not in one.parts]
    tag = sys.implementation.cache_tag
    compiled = [
        one.parent / "__pycache__" / f"{one.stem}.{tag}.pyc" for one in files if one.suffix == ".py"
    ]
    for one in (*files, *compiled):
        (folder / one).parent.mkdir(parents=True, exist_ok=True)
        (folder / one).touch()
    about = folder / "unsnarl-0.dist-info"
    about.mkdir()
    rows = (f"{one},sha256={'0' * 43},1234\n" for one in (*files, *compiled))
    (about / "RECORD").write_text("".join(rows))
    return importlib.metadata.PathDistribution(about), len(files) + len(compiled)


def _import() -> None:
    for name in [one for one in sys.modules if one == PLUGIN]:
        del sys.modules[name]
    importlib.import_module(PLUGIN)


def _ask() -> None:
    importlib.import_module(PLUGIN).pytest_addoption(pytest.Parser(_ispytest=True))


def _least(action: Callable[[], object]) -> float:
    times = []
    for _ in range(TIMES):
        begin = time.process_time()
        action()
        times.append(1000 * (time.process_time() - begin))
    return min(times)


def _started() -> float:
    code = "import time; print(time.process_time())"
    command = [sys.executable, "-c", code]
    said = (subprocess.run(command, capture_output=True, check=True) for _ in range(5))
    return 1000 * min(float(one.stdout) for one in said)


if __name__ == "__main__":
    print(session_cost().sentence)
