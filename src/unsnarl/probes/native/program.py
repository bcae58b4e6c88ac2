# SPDX-License-Identifier: Apache-2.0
"""A program built with `unsnarl cc` as a target: each run is a new process of it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from unsnarl import _core
from unsnarl.probes.native import sites

PLAN = "UNSNARL_PLAN"
# From sys/personality.h: addresses are the same in every run, so cells and heap blocks are, too.
_ADDR_NO_RANDOMIZE = 0x0040000


class Native:
    """The program, its sites, and how a run of it begins."""

    def __init__(self, args: list[str], cwd: str) -> None:
        self._args = args
        self._path = Path(cwd, args[0])
        self._program = sites.Program(self._path)

    def codes(self) -> dict[str, Any]:
        """The content of codes.json; the runs count by its places."""
        dump = self._program.codes()
        _core.set_places(self._program.places(dump))
        return dump

    @property
    def command(self) -> list[str]:
        """The program and its arguments."""
        return [str(self._path), *self._args[1:]]

    def prepare(self, plan: dict[str, Any]) -> dict[str, str]:
        """Write the plan of a run; gives what its environment must say."""
        path = f"{plan['file']}.plan"
        _core.store_plan({**plan, "switch": "free", "site_limit": self._program.limit}, path)
        return {PLAN: path}

    def begin(self, plan: dict[str, Any]) -> NoReturn:
        """Become the run."""
        environment = os.environ | self.prepare(plan)
        ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE)
        sys.stdout.flush()
        os.execve(self._path, self._args, environment)
