# SPDX-License-Identifier: Apache-2.0
"""`unsnarl record -- COMMAND`: real parallel runs with thread-private logs."""

from __future__ import annotations

from typing import Any

import click

from unsnarl.cli.shared import check_json_file, json_option

LEVELS = ("sync", "func", "loop", "funcloop", "block", "access")
ORDERS = ("clocks", "global")


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="func",
    show_default=True,
    help="What is logged beside locks and threads: nothing, functions, loops that go back, "
    "functions and loops, blocks (lines), accesses.",
)
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    default="clocks",
    show_default=True,
    help="Each core's own clock, or one number for all under a lock.",
)
@click.option("--fenced", is_flag=True, help="Fence every stamp, not only those of acquired locks.")
@click.option("--values", is_flag=True, help="Log what accesses find and leave, too.")
@click.option("--branches", is_flag=True, help="Log which way branches go (Python).")
@click.option("--noise", is_flag=True, help="Delay threads now and then: failures come sooner.")
@click.option(
    "--until-fail",
    type=click.IntRange(min=1),
    metavar="N",
    help="Record run after run, at most N, until one fails; keep that one only.",
)
@click.option("--time", type=float, metavar="SECONDS", help="Stop after this time. [default: 60]")
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="Limit of a single run. [default: 10]"
)
@click.option("--seed", type=int, metavar="N", help="Of the program's and the noise's random.")
@click.option("--include", multiple=True, metavar="PKG", help="As for `unsnarl hunt`.")
@click.option("--fail-if", metavar="REGEX", help="As for `unsnarl hunt`.")
@json_option()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def record(
    command: tuple[str, ...],
    json_file: str | None,
    until_fail: int | None,
    noise: bool,
    **options: Any,
) -> int:
    """Run a program freely, its threads truly parallel, and log what it takes to do it again.

    \b
    unsnarl record --until-fail 1000 -- ./program
    unsnarl record --level access -- python script.py

    Exits with 1 if a failure was recorded, with 0 if none was.
    """
    check_json_file(json_file)
    names = ("level", "order", "fenced", "values", "branches")
    how = {name: options.pop(name) for name in names}
    flags = {name.replace("_", "-"): value for name, value in options.items()}
    from unsnarl.cli.recording import RecordSession  # noqa: PLC0415  heavy; not for --help

    return RecordSession(command, how, flags, noise).run(until_fail, json_file)
