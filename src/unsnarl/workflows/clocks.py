# SPDX-License-Identifier: Apache-2.0
"""Clocks: how far the clocks of the cores are apart, measured and kept until the next boot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from unsnarl.recording.clocks import Clocks, machine, stored
from unsnarl.recording.clocks.machine import Machine
from unsnarl.recording.clocks.measure import PATIENCE, RUNS, How, measure
from unsnarl.workflows.progress import OnWarning, ignore


class ClocksResult(NamedTuple):
    """The clocks, and whether they were measured before."""

    clocks: Clocks
    stored: bool


def clocks(
    *,
    runs: int = RUNS,
    patience: float = PATIENCE,
    pin: bool = True,
    all_pairs: bool = False,
    renew: bool = False,
    root: Path = Path("/"),
    on_waiting: Callable[[float], None] = ignore,
    on_warning: OnWarning = ignore,
) -> ClocksResult:
    """What is stored of this boot's clocks, else what is measured now.

    Args:
        runs: Of every test in every window.
        patience: How many seconds to wait for a virtual machine's cores to come closer.
        pin: Bind the measuring threads to cores.
        all_pairs: Measure every pair of cores even if there are many.
        renew: Measure even if this boot's clocks are stored.
        root: Where the kernel's files are.
        on_waiting: Called with `patience` if there is a wait.
        on_warning: Called with slug, message and hint.
    """
    here = machine.read(root)
    before = _stored(here, on_warning)
    found = before if not renew else None
    if found is None:
        how = How(runs=runs, patience=patience, pinned=pin, all_pairs=all_pairs)
        # Ranges of the same boot still hold when all is measured anew, and narrow the new ones.
        found = measure(here, how, before, lambda number: _waits(number, how, on_waiting))
        _keep(found, here, on_warning)
        result = ClocksResult(found, False)
    else:
        result = ClocksResult(found, True)
    if found.refused:
        on_warning(
            "counter-not-invariant",
            f"the processor's counter cannot be used: {found.refused}",
            "clock_gettime (CLOCK_MONOTONIC_RAW) is measured and used instead",
        )
    return result


def _stored(here: Machine, on_warning: OnWarning) -> Clocks | None:
    try:
        return stored.load(here)
    except ValueError as error:
        message = f"the stored clocks cannot be read: {error}"
        on_warning("clocks-damaged", message, "they are measured again")
        return None


def _keep(found: Clocks, here: Machine, on_warning: OnWarning) -> None:
    try:
        if stored.keep(found, here) is None:
            on_warning("clocks-not-kept", "the kernel gives no boot id", "nothing is stored")
    except OSError as error:
        message = f"cannot write {stored.folder()}: {error.strerror}"
        on_warning("clocks-not-kept", message, "")


def _waits(number: int, how: How, on_waiting: Callable[[float], None]) -> None:
    if number == how.windows:
        on_waiting(how.patience)
