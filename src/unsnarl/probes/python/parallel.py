# SPDX-License-Identifier: Apache-2.0
"""The guard of free-threaded builds: an extension may switch the interpreter's lock on again.

All that follows would be the run of another interpreter, so nothing is run then, and the module's
name is said.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import sysconfig
from types import ModuleType
from typing import Any

from unsnarl import _core
from unsnarl.probes import statuses
from unsnarl.probes.errors import TargetError

_BY_HAND = "PYTHON_GIL or -X gil"


class _Guard:
    """Who has switched the lock on."""

    def __init__(self) -> None:
        self.culprit = ""
        self.in_run = False


_guard = _Guard()


def is_lock_on() -> bool:
    """Whether a free-threaded build runs with the lock."""
    ask = getattr(sys, "_is_gil_enabled", None)
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and ask is not None and bool(ask())


def install() -> None:
    """In the server, before the target is loaded: watch what is imported."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return
    loader: Any = importlib.machinery.ExtensionFileLoader
    original = loader.create_module

    def create_module(self: Any, spec: Any) -> ModuleType:
        before = is_lock_on()
        module: ModuleType = original(self, spec)
        if not before and is_lock_on():
            _switched_on(spec.name)
        return module

    loader.create_module = create_module


def _switched_on(name: str) -> None:
    _guard.culprit = _guard.culprit or f"module {name}"
    if _guard.in_run:
        _core.abandon_run()
        os.write(2, f"unsnarl: {_message()}\n".encode())
        os._exit(statuses.REFUSED)


def _message() -> str:
    return statuses.GIL_ENABLED + (_guard.culprit or _BY_HAND)


def check() -> None:
    """When the target is loaded: refuse it, if its threads would not run in parallel."""
    if is_lock_on():
        raise TargetError("gil-enabled", _message())


def begin() -> None:
    """In a run: from now on it ends where the lock is switched on."""
    _guard.in_run = True
