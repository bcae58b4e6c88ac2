# SPDX-License-Identifier: Apache-2.0
"""`unsnarl clocks`: how far the clocks of the cores are apart."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import warn

# As in recording.clocks.measure, which is too heavy to import for --help.
RUNS = 10_000
PATIENCE = 120.0


@click.command(cls=TargetCommand)
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
    help="In a virtual machine: how long to wait for its cores to come closer together.",
)
@click.option(
    "--all-pairs",
    is_flag=True,
    help="Measure every pair of cores, even if there are more than 8.",
)
@click.option(
    "--again", "renew", is_flag=True, help="Measure even if this boot's clocks are stored."
)
@click.option("--root", type=click.Path(path_type=Path), default=Path("/"), hidden=True)
@json_option()
def clocks(json_file: str | None, **options: Any) -> int:
    """Measure how far the clocks of the cores are apart.

    The result is kept until the next boot. Stamps that two cores put on events prove an order only
    if they are further apart than that. The hard range is certain; estimates are not, and are never
    used to prove anything.

    \b
    Examples:
      unsnarl clocks
      unsnarl clocks --again --runs 100000
    """
    check_json_file(json_file)
    from unsnarl.workflows.clocks import clocks as measured  # noqa: PLC0415  not for --help

    found, stored = measured(**options, on_waiting=_waiting, on_warning=warn)
    if json_file is not None:
        from unsnarl.reports.render.json import indented  # noqa: PLC0415

        write_json(json_file, indented(found))
    else:
        from unsnarl.reports.render.clocks import text  # noqa: PLC0415

        print(text(found, stored), end="")
    return 0


def _waiting(patience: float) -> None:
    """Whoever waits should know what for."""
    print(
        "the host has put the cores far apart: waiting for a narrower range, "
        f"at most {patience:.0f} s (--patience)",
        file=sys.stderr,
    )
