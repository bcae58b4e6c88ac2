# SPDX-License-Identifier: Apache-2.0
"""The interpreter that the target runs in: ours, or another one that must have unsnarl too.

The probes are loaded into the target's own interpreter. Another environment is asked, once, which
version it is and whether it can import the native core.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from unsnarl.errors import ToolError, UsageError

SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
QUESTION = """
import json, platform, sys, sysconfig
answer = {"prefix": sys.prefix, "version": list(sys.version_info[:3]),
          "implementation": platform.python_implementation(), "executable": sys.executable,
          "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED"))}
try:
    import unsnarl._core
    answer["core"] = ""
except Exception as error:
    answer["core"] = f"{type(error).__name__}: {error}"
print(json.dumps(answer))
"""
QUESTION_SECONDS = 30


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """A Python that can run the target under probes."""

    executable: str
    version: str
    prefix: str


def ours() -> Interpreter:
    """The interpreter that runs this process, checked for the native core."""
    version = sys.version_info[:3]
    _check_version(sys.executable, version, sys.implementation.name)
    _check_build(sys.executable, is_free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")))
    try:
        importlib.import_module("unsnarl._core")
    except ImportError as error:
        raise ToolError(
            "build-missing",
            f"the native core is not built for {sys.executable}: {error}",
            f"{sys.executable} -m pip install --force-reinstall unsnarl",
        ) from None
    return Interpreter(sys.executable, ".".join(map(str, version)), sys.prefix)


def resolve(found: Path) -> Interpreter:
    """The interpreter at `found`, which may be ours under another name."""
    if _is_ours(found):
        return ours()
    answer = _ask(found)
    version = tuple(answer["version"])
    executable = answer["executable"] or str(found)
    _check_version(executable, version, answer["implementation"].lower())
    _check_build(executable, is_free_threaded=answer["free_threaded"])
    if Path(answer["prefix"]).resolve() == Path(sys.prefix).resolve():
        return ours()
    if answer["core"]:
        raise ToolError(
            "python-without-unsnarl",
            f"the command runs in {executable} ({answer['prefix']}), "
            f"where unsnarl cannot be imported ({answer['core']})",
            f"install it there: {executable} -m pip install unsnarl",
        )
    return Interpreter(executable, ".".join(map(str, version)), answer["prefix"])


def _is_ours(found: Path) -> bool:
    # The same file in the same folder; a venv's python is a link to a base that is not the venv.
    here = Path(sys.executable)
    try:
        return found.parent.resolve() == here.parent.resolve() and found.samefile(here)
    except OSError:
        return False


def _ask(found: Path) -> dict[str, Any]:
    try:
        answer = subprocess.run(
            [str(found), "-c", QUESTION],
            capture_output=True,
            text=True,
            timeout=QUESTION_SECONDS,
            check=False,
        )
        # The environment's own start-up code may print something before the answer.
        last = answer.stdout.strip().splitlines()[-1]
        fields: dict[str, Any] = json.loads(last)
        return fields
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError):
        raise UsageError(
            "command-not-python",
            f"{found} did not answer as a Python interpreter",
            "name the interpreter itself, for example: unsnarl hunt -- python script.py",
        ) from None


def _check_version(executable: str, version: tuple[int, ...], implementation: str) -> None:
    if implementation == "cpython" and version[:2] in SUPPORTED:
        return
    name = {"cpython": "Python", "pypy": "PyPy"}.get(implementation, implementation)
    raise ToolError(
        "python-unsupported",
        f"{executable} is {name} {'.'.join(map(str, version[:3]))}; "
        "unsnarl needs CPython 3.11 to 3.15",
        "run the command with a supported interpreter that has unsnarl installed",
    )


def _check_build(executable: str, *, is_free_threaded: bool) -> None:
    if is_free_threaded:
        raise ToolError(
            "python-unsupported",
            f"{executable} is a free-threaded build, on which the probes are not yet safe",
            "run the command with a build of the same version that has the GIL",
        )
