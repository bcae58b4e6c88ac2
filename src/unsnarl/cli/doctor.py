# SPDX-License-Identifier: Apache-2.0
"""`unsnarl doctor`: is everything in place?"""

from __future__ import annotations

import importlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import EXIT_OK, EXIT_TOOL, UnsnarlError

MACHINES = ("x86_64", "aarch64")
LIBRARIES = ("click", "rich", "numpy", "msgspec")
# Beside the native core, for programs in C and C++ (CMakeLists.txt).
FOLDERS = ("cmake", "pkgconfig")
PYTHONS = ("python", "python3", "python3.11", "python3.12", "python3.13")

Check = tuple[str, bool, str]


@click.command()
@click.option(
    "--folder",
    type=click.Choice(FOLDERS),
    help="Print only the folder of the CMake package (unsnarl_DIR) or of the pkg-config files.",
)
@json_option()
def doctor(json_file: str | None, folder: str | None) -> int:
    """Check the installation: versions, the native core, processors, and which Pythons can be used.

    Exits with 3 if a hunt could not work.
    """
    if folder is not None:
        print(_folder(folder))
        return EXIT_OK
    check_json_file(json_file)
    checks = [*_checks()]
    pythons = [*_pythons()]
    healthy = all(good for _, good, _ in checks)
    if json_file is not None:
        import msgspec  # noqa: PLC0415  heavy; not for --help

        document = {
            "version": 1,
            "healthy": healthy,
            "checks": [{"name": n, "ok": good, "detail": d} for n, good, d in checks],
            "pythons": [{"python": n, "ok": good, "detail": d} for n, good, d in pythons],
        }
        write_json(json_file, msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    else:
        _print(checks, pythons)
    return EXIT_OK if healthy else EXIT_TOOL


def _print(checks: list[Check], pythons: list[Check]) -> None:
    for name, good, detail in checks:
        print(f"{'ok ' if good else 'BAD'}  {name:<12} {detail}")
    print("\nPythons on PATH:")
    for name, good, detail in pythons:
        print(f"{'ok ' if good else 'no '}  {name:<12} {detail}")


def _checks() -> Iterator[Check]:
    yield "unsnarl", True, _version("unsnarl")
    system, machine = platform.system(), platform.machine()
    yield "platform", system == "Linux" and machine in MACHINES, f"{system} {machine}"
    yield "python", *_this_python()
    yield "core", *_core()
    for name in FOLDERS:
        found = _folder(name)
        yield name, found.is_dir(), str(found)
    for name in LIBRARIES:
        version = _version(name)
        yield name, bool(version), version or "not installed"
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    yield "processors", bool(cores), f"{len(cores)} usable of {os.cpu_count()}"
    yield "pinning", *_pinning()
    yield "here", os.access(Path.cwd(), os.W_OK), f"{Path.cwd()} is where .unsnarl is written"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _this_python() -> tuple[bool, str]:
    good = (3, 11) <= sys.version_info[:2] <= (3, 13)
    return good, f"{platform.python_version()} at {sys.executable}"


def _core() -> tuple[bool, str]:
    try:
        core = importlib.import_module("unsnarl._core")
    except ImportError as error:
        return False, f"cannot be imported: {error}"
    return True, str(core.__file__)


def _folder(name: str) -> Path:
    from unsnarl.probes.native import compiler  # noqa: PLC0415  not for --help

    return compiler.folder().parent / name


def _pinning() -> tuple[bool, str]:
    """Gated threads share one core: switching between cores would cost more than the switch."""
    try:
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, mine)
    except (AttributeError, OSError) as error:
        return False, f"threads cannot be pinned to a core: {error}"
    return True, "threads can be pinned to a core"


def _pythons() -> Iterator[Check]:
    from unsnarl.campaigns import interpreter  # noqa: PLC0415  not for --help

    for name in PYTHONS:
        found = shutil.which(name)
        if found is None:
            continue
        try:
            python = interpreter.resolve(Path(found))
        except UnsnarlError as error:
            yield name, False, f"{error.message} [{error.slug}]"
        else:
            yield name, True, f"{python.version} at {python.executable}"
