# SPDX-License-Identifier: Apache-2.0
"""`unsnarl clocks`: how far the clocks of the cores are apart."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import warn

if TYPE_CHECKING:
    from unsnarl.reproduce.clocks import Clocks
    from unsnarl.reproduce.clocks.machine import Machine
    from unsnarl.reproduce.clocks.measure import How

# As in reproduce.clocks.measure, which is too heavy to import for --help.
RUNS = 10_000
PATIENCE = 120.0


@click.command()
@click.option(
    "--pin/--no-pin",
    default=True,
    show_default=True,
    help="Bind the measuring threads to cores, or take them where the kernel puts them.",
)
@click.option(
    "--runs",
    type=click.IntRange(100, 1_000_000),
    default=RUNS,
    show_default=True,
    metavar="N",
    help="Runs of every test in every window.",
)
@click.option(
    "--patience",
    type=click.FloatRange(0, 3600),
    default=PATIENCE,
    show_default=True,
    metavar="SECONDS",
    help="In a virtual machine: how long to wait for its cores to come near each other.",
)
@click.option(
    "--all-pairs",
    is_flag=True,
    help="Measure every pair of cores, also where there are more than 8.",
)
@click.option("--again", is_flag=True, help="Measure even if this boot's clocks are known.")
@click.option("--root", type=click.Path(path_type=Path), default=Path("/"), hidden=True)
@json_option()
def clocks(pin: bool, again: bool, root: Path, json_file: str | None, **options: Any) -> int:
    """Measure how far the clocks of all cores are apart, and keep it until the next boot.

    Stamps that two cores put on events prove an order only if they are further apart than that.
    The hard range is certain; estimates are not, and are never used to prove anything.
    """
    from unsnarl.reproduce.clocks import machine  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reproduce.clocks.measure import How  # noqa: PLC0415

    check_json_file(json_file)
    here = machine.read(root)
    how = How(pinned=pin, **options)
    found, kept = _found(here, how, again)
    if found.refused:
        warn(
            "counter-not-invariant",
            f"the processor's counter cannot be used: {found.refused}",
            "clock_gettime (CLOCK_MONOTONIC_RAW) is measured and used instead",
        )
    _answer(found, kept, json_file)
    return 0


def _answer(found: Clocks, kept: bool, json_file: str | None) -> None:
    import msgspec  # noqa: PLC0415  heavy; not for --help

    from unsnarl.reports.clocks import text  # noqa: PLC0415

    if json_file is not None:
        write_json(json_file, msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    else:
        print(text(found, kept), end="")


def _found(here: Machine, how: How, again: bool) -> tuple[Clocks, bool]:
    """The clocks, and whether they were known already."""
    from unsnarl.reproduce.clocks import stored  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reproduce.clocks.measure import measure  # noqa: PLC0415

    known = None
    try:
        known = stored.load(here)
    except ValueError as error:
        warn("clocks-damaged", f"what was kept cannot be read: {error}", "measuring again")
    if known is not None and not again:
        return known, True
    found = measure(here, how, known, lambda number: _progress(number, how))
    try:
        if stored.keep(found, here) is None:
            warn("clocks-not-kept", "the kernel gives no boot id", "nothing is kept")
    except OSError as error:
        warn("clocks-not-kept", f"cannot write {stored.folder()}: {error.strerror}")
    return found, False


def _progress(number: int, how: How) -> None:
    """Whoever waits should know what for."""
    if number == how.windows:
        print(
            "the host has put the cores far apart: waiting for a narrower range, "
            f"at most {how.patience:.0f} s (--patience)",
            file=sys.stderr,
        )
