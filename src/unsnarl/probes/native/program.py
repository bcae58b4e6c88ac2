# SPDX-License-Identifier: Apache-2.0
"""A program built with `unsnarl cc` as a target: each run is a new process of it."""

from __future__ import annotations

import ctypes
import os
import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from unsnarl import _core
from unsnarl.probes import statuses
from unsnarl.probes.binaries import finding, libraries, sites
from unsnarl.probes.protocol import CodesDump, Setup

PLAN = "UNSNARL_PLAN"
# From sys/personality.h: addresses are the same in every run, so cells and heap blocks are, too.
_ADDR_NO_RANDOMIZE = 0x0040000


def store_plan(program: sites.Program, plan: dict[str, Any], path: Path) -> None:
    """Write the plan of a run in which the program is looked at, and none of its libraries."""
    _core.set_modules([program.module])
    _core.store_plan({"switch": "free", "site_limit": program.limit, **plan}, str(path))


class NativeProgram:
    """The program, its sites and those of its libraries, and how a run begins; see ProbedTarget."""

    private_scratch = False

    def __init__(self, args: list[str], setup: Setup) -> None:
        self._args = args
        self._path = Path(setup["cwd"], args[0])
        self._build = self._stamp()
        self._program = sites.Program(self._path)
        found = libraries.needed_by(self._path)
        found += finding.in_project(setup["root"], setup["include"])
        self._libraries = libraries.Libraries(found, self._program.limit, self._program.image)

    def _stamp(self) -> tuple[int, ...]:
        """What changes when a program is linked anew."""
        found = self._path.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def imports(self) -> Iterator[Callable[[], object]]:
        """See ProbedTarget; a program is loaded anew for each run."""
        return iter(())

    def codes(self) -> CodesDump:
        """See ProbedTarget."""
        dump = self._program.codes()
        self._libraries.add_to(dump)
        limit = self._program.limit
        lines = array("I", range(self._libraries.limit))
        sites.add_lines(lines, 0, limit, dump["codes"])
        self._libraries.add_lines(lines, dump)
        _core.set_first_sites(lines)
        _core.set_modules([self._program.module, *self._libraries.modules])
        return dump

    def before_fork(self) -> None:
        """See ProbedTarget; runs of a program leave nothing for others."""

    def run(self, fork_point: Callable[[], dict[str, Any]]) -> NoReturn:
        """See ProbedTarget."""
        self._begin(fork_point())

    @property
    def command(self) -> list[str]:
        """The program and its arguments."""
        return [str(self._path), *self._args[1:]]

    def prepare(self, plan: dict[str, Any]) -> dict[str, str]:
        """Write the plan of a run; gives what its environment must say."""
        path = f"{plan['file']}.plan"
        # No interpreter's lock limits where C code can switch.
        _core.store_plan({**plan, "switch": "free", "site_limit": self._libraries.limit}, path)
        return {PLAN: path}

    def _begin(self, plan: dict[str, Any]) -> NoReturn:
        """Become the run."""
        environment = os.environ | self.prepare(plan)
        ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)
        # What is in its buffer would be lost with this process image.
        sys.stdout.flush()
        try:
            # In another build the same address is another site.
            if self._stamp() == self._build:
                os.execve(self._path, self._args, environment)
            why = "was built again since its sites were listed"
        except OSError as error:
            why = f"cannot be started: {error.strerror}"
        os.write(2, f"unsnarl: {self._path} {why}\n".encode())
        os._exit(statuses.REFUSED)
