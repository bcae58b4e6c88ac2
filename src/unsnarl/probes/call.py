# SPDX-License-Identifier: Apache-2.0
"""`python -m unsnarl.probes.call MODULE:FUNCTION`: call a function, as a hunt of it does.

The command of a campaign whose target is a function. MODULE may be a file. In the process that
asked for the hunt the function itself is used (`give`); elsewhere it is imported by its name.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from unsnarl.probes.errors import TargetError

Function = Callable[[], object]
_given: list[Function] = []


def give(function: Function) -> None:
    """In a process that was forked for it: this is the function, whatever it is called."""
    _given[:] = [function]


def given() -> Function | None:
    """The function that this process was forked for."""
    return _given[0] if _given else None


def named(spec: str) -> Function:
    """The function of this name; raises TargetError if it can only be had where it was made."""
    module_name, _, path = spec.rpartition(":")
    found: Any = _file(module_name) if module_name.endswith(".py") else _module(module_name)
    for name in path.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise TargetError(
            "target-not-found",
            f"{spec} cannot be imported: repeat it in the process that has the function, "
            "with unsnarl.replay(function=...)",
        )
    return found  # type: ignore[no-any-return]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if name.startswith(error.name or "?"):
            raise TargetError("target-not-found", f"there is no module {name}") from None
        raise


def _file(path: str) -> Any:
    """A script, loaded under another name than `__main__`: only what it defines is wanted."""
    spec = importlib.util.spec_from_file_location("__mp_main__", path)
    if spec is None or spec.loader is None:
        raise TargetError("target-not-found", f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules["__mp_main__"] = module
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError as error:
        raise TargetError("target-not-found", f"cannot open {path!r}: {error.strerror}") from None
    return module


if __name__ == "__main__":
    named(sys.argv[1])()
