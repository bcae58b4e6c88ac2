# SPDX-License-Identifier: Apache-2.0
"""A bug with a folder in which it was hunted, and how its fixed twin takes its place there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from evaluation.draws import IGNORED, environment
from evaluation.real_cases import RealCase
from evaluation.real_environments import install, put
from evaluation.real_measure import Workplace
from evaluation.truth import Bug

TWIN = "twin"


class Subject(ABC):
    """A bug whose campaign is kept in a folder.

    Attributes:
        base: All that belongs to it.
        folder: Where it is hunted.
    """

    def __init__(self, name: str, zoo: str, campaigns: Path) -> None:
        self.name = name
        self.zoo = zoo
        self.base = campaigns / zoo / name
        self.folder = self.base / name

    @property
    def is_hunted(self) -> bool:
        """Whether its campaign is there, whole."""
        return (self.base / "done").exists()

    @property
    @abstractmethod
    def command(self) -> tuple[str, ...]:
        """What is run."""

    @property
    @abstractmethod
    def options(self) -> tuple[str, ...]:
        """Of the hunt."""

    @abstractmethod
    def variables(self) -> dict[str, str]:
        """The environment of all commands, in the folder."""

    @abstractmethod
    def make(self) -> None:
        """Make the folder anew, with the bug."""

    @abstractmethod
    def make_twin(self) -> Path:
        """A copy of the folder, without the campaign, in which the bug is fixed."""

    def hunt(self, seconds: int) -> None:
        """Hunt it, if that was not done before."""
        if self.is_hunted:
            return
        shutil.rmtree(self.base, ignore_errors=True)
        self.make()
        words = ["hunt", "--time", str(seconds), "--seed", "1", *self.options, "--", *self.command]
        done = self.unsnarl(words, self.folder)
        (self.base / "log").write_text(done.stdout, encoding="utf-8")
        (self.base / "done").write_text(str(done.returncode))

    def unsnarl(self, words: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a command of ours."""
        return self.run([sys.executable, "-m", "unsnarl", *words], cwd)

    def run(self, command: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run any command as a user would."""
        return subprocess.run(
            command,
            cwd=cwd,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )

    def copy(self) -> Path:
        """A copy of the folder without its campaigns."""
        twin = self.base / TWIN / self.name
        shutil.rmtree(twin, ignore_errors=True)
        shutil.copytree(self.folder, twin, ignore=shutil.ignore_patterns(*IGNORED))
        return twin


class PythonSubject(Subject):
    """A bug of zoo/python: its twin is another file."""

    def __init__(self, bug: Bug, campaigns: Path) -> None:
        super().__init__(bug.name, "python", campaigns)
        self._bug = bug

    @property
    def command(self) -> tuple[str, ...]:
        """What is run."""
        return tuple(self._bug.command)

    @property
    def options(self) -> tuple[str, ...]:
        """Of the hunt."""
        return ("--switch", self._bug.switch)

    def variables(self) -> dict[str, str]:
        """The environment of all commands."""
        return environment()

    def make(self) -> None:
        """Make the folder anew, with the bug."""
        shutil.copytree(self._bug.folder, self.folder, ignore=shutil.ignore_patterns(*IGNORED))

    def make_twin(self) -> Path:
        """The twin's file in the stead of the program's."""
        twin = self.copy()
        pairs = zip(self._bug.command, self._bug.fixed, strict=True)
        for old, new in {(old, new) for old, new in pairs if old != new}:
            shutil.copy(twin / new.partition("::")[0], twin / old.partition("::")[0])
        return twin


class RealSubject(Subject):
    """A bug of zoo/real or zoo/users, in an environment of its own."""

    def __init__(self, case: RealCase, zoo: str, campaigns: Path) -> None:
        super().__init__(case.name, zoo, campaigns)
        self._case = case

    @property
    def command(self) -> tuple[str, ...]:
        """What is run."""
        return self._case.command

    @property
    def options(self) -> tuple[str, ...]:
        """Of the hunt."""
        return tuple(word for module in self._case.include for word in ("--include", module))

    def variables(self) -> dict[str, str]:
        """An activated environment."""
        here = Workplace(self._case, self.folder, self.base / "environment", self.base)
        return here.variables()

    def make(self) -> None:
        """The case without its twin, and the release with the bug."""
        shutil.copytree(self._case.folder, self.folder, ignore=shutil.ignore_patterns(*IGNORED))
        if self._case.twin:
            shutil.rmtree(self.folder / self._case.twin)
        self.use(fixed=False)

    def use(self, *, fixed: bool) -> None:
        """Put one of the releases into the environment."""
        put(install(self._case)[fixed], self.base / "environment")

    def make_twin(self) -> Path:
        """The corrected files, and the fixed release in the environment."""
        twin = self.copy()
        if self._case.twin:
            shutil.copytree(self._case.folder / self._case.twin, twin, dirs_exist_ok=True)
        self.use(fixed=True)
        return twin


def processor_seconds() -> float:
    """Of all ended child processes."""
    times = os.times()
    return times.children_user + times.children_system
