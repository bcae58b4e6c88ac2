# SPDX-License-Identifier: Apache-2.0
"""Doctor: is everything in place for a hunt?"""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple

from unsnarl.errors import UnsnarlError
from unsnarl.execution import interpreter
from unsnarl.probes.native import compiler

MACHINES = ("x86_64", "aarch64")
LIBRARIES = ("click", "rich", "numpy", "msgspec")
PYTHONS = ("python", "python3", *(f"python{a}.{b}" for a, b in interpreter.SUPPORTED))
# Next to the native core, for programs in C and C++ (CMakeLists.txt).
Folder = Literal["cmake", "pkgconfig"]
FOLDERS: tuple[Folder, ...] = ("cmake", "pkgconfig")


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    hint: str = ""  # what to do about it, if it is not


HINTS = {
    "platform": "use Linux on x86-64 or aarch64; elsewhere, a container or a virtual machine",
    "python": "make an environment of CPython 3.11, 3.12 or 3.13 and install unsnarl there",
    "core": "pip install --force-reinstall unsnarl, with the interpreter that is named above",
    "processors": "give the process a processor: taskset, the container's limits",
    "pinning": "hunts work without, but slower; allow sched_setaffinity in the sandbox",
    "here": "go to a folder that can be written to: campaigns are kept in its .unsnarl",
} | dict.fromkeys(("cmake", "pkgconfig"), "pip install --force-reinstall unsnarl")
PYTHON_HINT = "to hunt programs of this one: {} -m pip install unsnarl"


@dataclass(frozen=True)
class Diagnosis:
    """All checks, and which Pythons on PATH can be used."""

    checks: list[Check]
    pythons: list[Check]

    @property
    def healthy(self) -> bool:
        """Whether a hunt can work."""
        return all(check.ok for check in self.checks)


def doctor() -> Diagnosis:
    """Check the installation."""
    return Diagnosis([_with_hint(one) for one in _checks()], [*_pythons()])


def _with_hint(check: Check) -> Check:
    default = f"pip install {check.name}"
    return check if check.ok else check._replace(hint=HINTS.get(check.name, default))


def folder(name: Folder) -> Path:
    """Where the CMake package or the pkg-config files are."""
    return compiler.folder().parent / name


def _checks() -> Iterator[Check]:
    yield Check("unsnarl", True, _version("unsnarl"))
    system, machine = platform.system(), platform.machine()
    yield Check("platform", system == "Linux" and machine in MACHINES, f"{system} {machine}")
    yield Check("python", *_this_python())
    yield Check("core", *_core())
    for name in FOLDERS:
        found = folder(name)
        yield Check(name, found.is_dir(), str(found))
    for library in LIBRARIES:
        version = _version(library)
        yield Check(library, bool(version), version or "not installed")
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    yield Check("processors", bool(cores), f"{len(cores)} usable of {os.cpu_count()}")
    yield Check("pinning", *_pinning())
    writable = os.access(Path.cwd(), os.W_OK)
    yield Check("here", writable, f"{Path.cwd()} is where .unsnarl is written")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _this_python() -> tuple[bool, str]:
    good = sys.version_info[:2] in interpreter.SUPPORTED
    return good, f"{platform.python_version()} at {sys.executable}"


def _core() -> tuple[bool, str]:
    try:
        core = importlib.import_module("unsnarl._core")
    except ImportError as error:
        return False, f"cannot be imported: {error}"
    return True, str(core.__file__)


def _pinning() -> tuple[bool, str]:
    """Gated threads share one core: switching between cores would cost more than the switch."""
    try:
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, mine)
    except (AttributeError, OSError) as error:
        return False, f"threads cannot be pinned to a core: {error}"
    return True, "threads can be pinned to a core"


def _pythons() -> Iterator[Check]:
    for name in PYTHONS:
        found = shutil.which(name)
        if found is None:
            continue
        try:
            python = interpreter.resolve(Path(found))
        except UnsnarlError as error:
            hint = error.hint or PYTHON_HINT.format(found)
            yield Check(name, False, f"{error.message} [{error.slug}]", hint)
        else:
            yield Check(name, True, f"{python.version} at {python.executable}")
