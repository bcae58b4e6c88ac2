# SPDX-License-Identifier: Apache-2.0
"""What was measured is kept per start of the machine: counters begin anew with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import msgspec

from unsnarl.recording.clocks.machine import Machine
from unsnarl.recording.clocks.ranges import Clocks

SAME_SLEEP = 1.0  # seconds: the two clocks of _suspended are not read at once


def folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's cache, as the XDG base directory specification has it."""
    chosen = Path(environ.get("XDG_CACHE_HOME", ""))
    base = chosen if chosen.is_absolute() else Path(environ.get("HOME", "/")) / ".cache"
    return base / "unsnarl" / "clocks"


def path_for(machine: Machine, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file of this start of the machine; None if the kernel does not name it."""
    # It becomes the name of a file.
    if not re.fullmatch(r"[0-9a-f-]{8,64}", machine.boot):
        return None
    return folder(environ) / f"{machine.boot}.json"


def load(machine: Machine, environ: Mapping[str, str] = os.environ) -> Clocks | None:
    """What is kept and still holds, for all cores that may be used now.

    Raises:
        ValueError: The file is there and cannot be read.
    """
    path = path_for(machine, environ)
    if path is None:
        return None
    try:
        clocks = msgspec.json.decode(path.read_bytes(), type=Clocks)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ValueError(f"{path}: {error}") from None
    return clocks if holds(clocks, machine) else None


def holds(clocks: Clocks, machine: Machine) -> bool:
    """Has nothing happened since that could have changed the clocks?"""
    return (
        clocks.version == 1
        and clocks.boot == machine.boot
        and abs(clocks.suspended - machine.suspended) < SAME_SLEEP
        and clocks.source == ("kernel" if machine.refusal() else "counter")
        and _pairs(clocks).issuperset(map(frozenset, combinations(machine.cores, 2)))
    )


def _pairs(clocks: Clocks) -> set[frozenset[int]]:
    return {frozenset((found.first, found.second)) for found in clocks.ranges}


def keep(clocks: Clocks, machine: Machine, environ: Mapping[str, str] = os.environ) -> Path | None:
    """Write them where `load` looks.

    Raises:
        OSError: It cannot be written.
    """
    path = path_for(machine, environ)
    if path is None:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written elsewhere and then renamed: another process may be reading it.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(clocks)) + b"\n")
    temporary.replace(path)
    return path
