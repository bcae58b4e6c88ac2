# SPDX-License-Identifier: Apache-2.0
"""`unsnarl baseline -o FILE -- COMMAND`: what a passing test suite's threads do, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import warn


@click.command(cls=TargetCommand, context_settings={"allow_interspersed_args": False})
@click.option("-o", "file", required=True, metavar="FILE", help="The file to write.")
@click.option(
    "--join",
    multiple=True,
    metavar="FILE",
    help="A baseline that becomes part of it (repeatable).",
)
@click.option(
    "--runs", type=click.IntRange(min=1), default=200, show_default=True, help="Runs to make."
)
@click.option("--time", type=float, metavar="SECONDS", help="Stop after this time. [default: 60]")
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="Limit of a single run. [default: 10]"
)
@click.option("--jobs", type=int, metavar="N", help="Runs at once. [default: one per core]")
@click.option("--seed", type=int, metavar="N", help="Seed of all schedules. [default: 0]")
@click.option("--include", multiple=True, metavar="PKG", help="As for `unsnarl hunt`.")
@json_option()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def baseline(
    command: tuple[str, ...],
    json_file: str | None,
    file: str,
    join: tuple[str, ...],
    runs: int,
    **options: Any,
) -> int:
    """Collect what the threads of passing runs do, for watch.

    Runs that fail are left out. Several baselines can be joined, in any order.

    \b
    Examples:
      unsnarl baseline -o baseline.json -- pytest tests
      unsnarl baseline -o all.json --join one.json --join other.json
    """
    check_json_file(json_file)
    from unsnarl.reports.render.json import indented  # noqa: PLC0415
    from unsnarl.workflows.communication import write_baseline  # noqa: PLC0415  heavy

    result = write_baseline(
        command,
        Path(file),
        joined=[Path(one) for one in join],
        runs=runs,
        flags=options,
        on_warning=warn,
    )
    if json_file is not None:
        write_json(json_file, indented(result))
    if json_file != "-":
        click.echo(
            f"{result.file}: {result.edges} edges between {result.pairs} pairs of points, "
            f"{result.new} of them new; {result.passing} of {result.runs} runs passed"
        )
    return 0
