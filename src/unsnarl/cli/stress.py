# SPDX-License-Identifier: Apache-2.0
"""`unsnarl stress MODULE:CLASS`: drive a class from several threads, and explain what breaks it."""

from __future__ import annotations

from typing import Any

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.hunt import show_result
from unsnarl.cli.progress import PausableProgress
from unsnarl.cli.shared import check_json_file, json_option
from unsnarl.config import SWITCHES


@click.command(cls=TargetCommand)
@click.option(
    "--setup",
    metavar="FILE",
    help="A Python file with any of: make(), which gives a fresh object; calls, a dict of methods "
    "with lists of arguments; takes, a dict of methods and those whose result they need; "
    "state(object); check(object), an invariant.",
)
@click.option(
    "--output", "-o", metavar="FILE",
    help="Where the failing program goes. [default: stress_NAME.py]",
)  # fmt: skip
@click.option(
    "--time", type=float, metavar="SECONDS", help="Answer within this time. [default: 60]"
)
@click.option(
    "--max-runs",
    type=int,
    metavar="N",
    help="Search in at most N runs. [default: none with --time, else 1000]",
)
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="Limit of a single run. [default: 10]"
)
@click.option("--jobs", type=int, metavar="N", help="Runs at once. [default: one per core]")
@click.option("--seed", type=int, metavar="N", help="Seed of calls and schedules. [default: 0]")
@click.option(
    "--switch",
    type=click.Choice(SWITCHES),
    help="Where threads may be switched, as of hunt. [default: auto, both in turn]",
)
@click.option("--no-confirm", is_flag=True, help="Make no experiments with what was found.")
@json_option()
@click.argument("subject", metavar="MODULE:CLASS")
def stress(
    subject: str,
    json_file: str | None,
    setup: str | None,
    output: str | None,
    *,
    no_confirm: bool,
    **options: Any,
) -> int:
    """Call a class from several threads; show what breaks it.

    Calls with small arguments are made from type hints, or from examples. A result, exception or
    end state is wrong if no serial order of the calls gives it. The smallest failing program is
    written into a file, and hunted. Needs the extra `stress`.
    Exits with 1 if a failure was found, with 0 if nothing failed, with 4 if that is inconclusive.

    \b
    Examples:
      pip install 'unsnarl[stress]'
      unsnarl stress shop.cache:LRUCache
      unsnarl stress --setup stress_pool.py pool.py:Pool
    """
    check_json_file(json_file)
    from unsnarl.workflows.stress import stress as run  # noqa: PLC0415  heavy; not for --help

    flags = {name.replace("_", "-"): value for name, value in options.items()}
    if no_confirm:
        flags["confirm"] = 0
    with PausableProgress(quiet=json_file == "-") as progress:
        result = run(subject, setup, output, flags, on_progress=progress.take)
    return show_result(result, json_file)
