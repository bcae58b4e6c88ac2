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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unsnarl.errors import ToolError, UsageError
from unsnarl.probes.python.rewriter import opcodes

SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14), (3, 15))
# Builds without the GIL that the suite has run on.
FREE_THREADED = ((3, 13),)
QUESTION = """
import json, platform, sys, sysconfig
answer = {"prefix": sys.prefix, "version": list(sys.version_info[:3]),
          "implementation": platform.python_implementation(), "executable": sys.executable,
          "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED"))}
try:
    import unsnarl._core
    from unsnarl.probes.python.rewriter import opcodes
    answer["core"] = ""
    answer["unclassified"] = opcodes.unclassified()
except Exception as error:
    answer["core"] = f"{type(error).__name__}: {error}"
print(json.dumps(answer))
"""
QUESTION_SECONDS = 30
MOST_NAMES = 5


@dataclasses.dataclass(frozen=True)
class Interpreter:
    """A Python that can run the target under probes.

    Attributes:
        unknown: What is not known of it, where the user said to go on all the same.
    """

    executable: str
    version: str
    prefix: str
    is_free_threaded: bool = False
    unknown: str = ""


def ours(*, force: bool = False) -> Interpreter:
    """The interpreter that runs this process, checked for the native core.

    `force`: Whatever its version is.
    """
    build = _Build(
        sys.executable,
        sys.version_info[:3],
        sys.implementation.name,
        bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    )
    build.check(force)
    try:
        importlib.import_module("unsnarl._core")
    except ImportError as error:
        raise ToolError(
            "build-missing",
            f"the native core is not built for {sys.executable}: {error}",
            f"{sys.executable} -m pip install --force-reinstall unsnarl",
        ) from None
    return build.interpreter(sys.prefix, opcodes.unclassified())


def resolve(found: Path, *, force: bool = False) -> Interpreter:
    """The interpreter at `found`, which may be ours under another name."""
    if _is_ours(found):
        return ours(force=force)
    answer = _ask(found)
    build = _Build(
        answer["executable"] or str(found),
        tuple(answer["version"]),
        answer["implementation"].lower(),
        answer["free_threaded"],
    )
    build.check(force)
    if Path(answer["prefix"]).resolve() == Path(sys.prefix).resolve():
        return ours(force=force)
    if answer["core"]:
        raise ToolError(
            "python-without-unsnarl",
            f"the command runs in {build.executable} ({answer['prefix']}), "
            f"where unsnarl cannot be imported ({answer['core']})",
            f"install it there: {build.executable} -m pip install unsnarl",
        )
    return build.interpreter(answer["prefix"], answer.get("unclassified", []))


@dataclasses.dataclass(frozen=True)
class _Build:
    """What an interpreter says it is."""

    executable: str
    version: tuple[int, ...]
    implementation: str
    is_free_threaded: bool

    @property
    def is_supported(self) -> bool:
        versions = FREE_THREADED if self.is_free_threaded else SUPPORTED
        return self.implementation == "cpython" and self.version[:2] in versions

    @property
    def name(self) -> str:
        names = {"cpython": "Python", "pypy": "PyPy"}
        return f"{names.get(self.implementation, self.implementation)} {self.text}"

    @property
    def text(self) -> str:
        """The version, with a `t` where threads run in parallel, as the interpreters are called."""
        return ".".join(map(str, self.version[:3])) + "t" * self.is_free_threaded

    def check(self, force: bool) -> None:
        """Refuse what nobody has tried; with `force` only what cannot work."""
        is_newer = self.implementation == "cpython" and self.version[:2] >= SUPPORTED[0]
        if self.is_supported or (force and is_newer):
            return
        needs = "CPython 3.11 to 3.15, or a free-threaded 3.13"
        hint = "run the command with a supported interpreter that has unsnarl installed"
        raise ToolError(
            "python-unsupported",
            f"{self.executable} is {self.name}; unsnarl needs {needs}",
            hint + "; --force-python tries this one" * is_newer,
        )

    def interpreter(self, prefix: str, unclassified: Sequence[str]) -> Interpreter:
        unknown = "" if self.is_supported else self._unknown(unclassified)
        return Interpreter(self.executable, self.text, prefix, self.is_free_threaded, unknown)

    def _unknown(self, unclassified: Sequence[str]) -> str:
        names = ", ".join(unclassified[:MOST_NAMES])
        more = f" and {len(unclassified) - MOST_NAMES} more" * (len(unclassified) > MOST_NAMES)
        instructions = (
            f"what its instructions {names}{more} do"
            if unclassified
            else "whether its instructions still do what those of the same names did"
        )
        return (
            f"{self.name} was never tried. Not known: {instructions}; where it can switch threads; "
            "how its frames, locks and containers are built inside. Accesses may be missed, and a "
            "run may crash that would not by itself"
        )


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
