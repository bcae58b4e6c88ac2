# SPDX-License-Identifier: Apache-2.0
"""Anchored schedules, the replayer, verify.

The package has the name of a function of the API: `unsnarl.replay(...)` calls that one.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """What `unsnarl.replay` is once the package was imported."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return import_module("unsnarl.api").replay(*arguments, **named)


sys.modules[__name__].__class__ = _CallablePackage
