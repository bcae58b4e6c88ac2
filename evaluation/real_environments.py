# SPDX-License-Identifier: Apache-2.0
"""Environments of real bugs: one per release, with its pins and pytest, made once and cached.

    python -m evaluation.real_environments [CASE...]      # without names: those of the tests

A hunt works in a copy (of links, so that it costs nothing), to which this checkout's unsnarl is
added. To upgrade to the fixed release, the copy is replaced in its folder, as pip would do it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import unsnarl
from evaluation.draws import REPOSITORY
from evaluation.real_cases import FOLDERS, RealCase, load_cases

BUILT = REPOSITORY / ".venv" / "real"  # made by `make build`
# What `make test` hunts, and what else it needs an environment for.
SMALL = ("eliot_lists_out_of_step", "inject_created_flag", "lazy_loader_two_modules")
TWIN = "config_invariant"
# The package may be spread over two folders (its sources, its libraries), so that no path will do.
FINDER = """\
import importlib.util
import sys


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "unsnarl":
            return importlib.util.spec_from_file_location(
                name, {init!r}, submodule_search_locations={folders!r}
            )


sys.meta_path.append(Finder)
"""


class NotInstalledError(Exception):
    """An environment could not be made."""


def cache() -> Path:
    """The user's cache, as the XDG base directory specification has it."""
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = chosen if chosen.is_absolute() else Path.home() / ".cache"
    return base / "unsnarl" / "real"


def key(pins: Sequence[str]) -> str:
    """The name of the folder for these pins, for this Python and its pytest."""
    wanted = [*pins, f"pytest=={version('pytest')}", sys.version]
    first = (pins[0] if pins else "plain").replace("==", "-")
    return f"{first}-{hashlib.sha256(' '.join(wanted).encode()).hexdigest()[:12]}"


def environment(pins: Sequence[str], folders: Sequence[Path] | None = None) -> Path:
    """The environment with these pins; made in the last of the folders if none of them has it."""
    folders = (BUILT, cache()) if folders is None else folders
    name = key(pins)
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    return _make(folders[-1] / name, pins)


def _make(target: Path, pins: Sequence[str]) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all: a break must leave nothing that looks like an environment.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".making-") as folder:
        made = Path(folder) / target.name
        python = made / "bin" / "python"
        _run(sys.executable, "-m", "venv", "--without-pip", str(made))
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python))
        _run(*pip, "install", "--quiet", *pins, f"pytest=={version('pytest')}")
        try:
            made.rename(target)
        except OSError:
            if not target.exists():  # else another process was faster
                raise
    return target


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalledError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def put(source: Path, target: Path) -> Path:
    """Puts an environment into a folder, with unsnarl; gives the folder of its packages."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, symlinks=True, copy_function=_link)
    (packages,) = target.glob("lib/python3*/site-packages")
    finder = FINDER.format(init=unsnarl.__file__, folders=list(unsnarl.__path__))
    (packages / "unsnarl_of_checkout.py").write_text(finder)
    (packages / "unsnarl_of_checkout.pth").write_text("import unsnarl_of_checkout\n")
    return packages


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def install(case: RealCase, folders: Sequence[Path] | None = None) -> tuple[Path, Path]:
    """The environments of a case's release with the bug and of the fixed one."""
    return environment(case.pins(False), folders), environment(case.pins(True), folders)


if __name__ == "__main__":
    for one in load_cases(FOLDERS):
        if one.name in (sys.argv[1:] or (*SMALL, TWIN)):
            install(one, [BUILT])
