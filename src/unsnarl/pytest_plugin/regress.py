# SPDX-License-Identifier: Apache-2.0
"""Kept interleavings as tests: each file of tests/interleavings is one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from unsnarl.errors import UnsnarlError
from unsnarl.reports.replay_text import kept_statement
from unsnarl.workflows.regress import Regressions

FOLDER = "interleavings"


class RegressSession:
    """Hooks of a session with `--unsnarl-regress`."""

    def __init__(self, config: pytest.Config) -> None:
        self._regressions = Regressions(config.rootpath, sys.executable)

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """What `unsnarl keep` has written."""
        if file_path.suffix != ".toml" or file_path.parent.name != FOLDER:
            return None
        found = InterleavingFile.from_parent(parent, path=file_path)
        found.regressions = self._regressions
        return found

    def pytest_unconfigure(self) -> None:
        """The processes of the commands end with the session."""
        self._regressions.__exit__()


class InterleavingFile(pytest.File):
    """A file of tests/interleavings."""

    regressions: Regressions

    def collect(self) -> Iterator[pytest.Item]:
        """The one interleaving that it has."""
        item = KeptItem.from_parent(self, name=self.path.stem)
        item.regressions = self.regressions
        yield item


class InterleavingFailedError(Exception):
    """The bug is there; the message says how."""


class KeptItem(pytest.Item):
    """A kept interleaving: fails while the bug is there."""

    regressions: Regressions

    def runtest(self) -> None:
        """Replay it."""
        found = self.regressions.check(self.path)
        if found.is_bad:
            raise InterleavingFailedError(f"{found.shows}\n{kept_statement(found)}")
        if found.state != "passes":
            pytest.skip(kept_statement(found))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> str:
        """No traceback of ours: what goes wrong, in words."""
        if isinstance(excinfo.value, InterleavingFailedError):
            return str(excinfo.value)
        if isinstance(excinfo.value, UnsnarlError):
            return f"not replayed: {excinfo.value.message} [{excinfo.value.slug}]"
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is, for reports."""
        return self.path, 0, f"interleaving {self.name}"
