# SPDX-License-Identifier: Apache-2.0
"""Paths as a person reads them: below the project, or below what is installed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

INSTALLED = ("site-packages", "dist-packages")


def shown_path(file: str) -> str:
    """`boltons/cacheutils.py` for a file of an installed package; others as they are.

    Whatever stands behind the path stays: `…/site-packages/x.py:7 in f` becomes `x.py:7 in f`.
    """
    parts = PurePath(file).parts
    for at in reversed(range(len(parts) - 1)):
        if parts[at] in INSTALLED or _is_library(parts[at - 1 : at + 1]):
            return "/".join(parts[at + 1 :])
    return file


def short_files(files: Iterable[str]) -> dict[str, str]:
    """What to call files in a sentence: by their last name, unless two of them have it."""
    different = list(dict.fromkeys(files))
    last = [PurePath(file).name for file in different]
    return {
        file: name if last.count(name) == 1 else shown_path(file)
        for file, name in zip(different, last, strict=True)
    }


def _is_library(parts: tuple[str, ...]) -> bool:
    """Whether this is the folder of an interpreter's own modules: `lib/python3.11`."""
    return len(parts) == 2 and parts[0] in ("lib", "lib64") and parts[1].startswith("python3")
