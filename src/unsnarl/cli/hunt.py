# SPDX-License-Identifier: Apache-2.0
"""`unsnarl hunt -- COMMAND`: run the target under many schedules, and rank what breaks it."""

from __future__ import annotations

from typing import Any

import click

from unsnarl.cli.shared import check_json_file, json_option
from unsnarl.config import GRANULARITIES, SWITCHES


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--fail", type=int, metavar="N", help="Failing runs wanted. [default: 25]")
@click.option("--pass", "passed", type=int, metavar="N", help="Passing runs wanted. [default: 25]")
@click.option("--max-runs", type=int, metavar="N", help="Stop after N runs. [default: 1000]")
@click.option("--time", type=float, metavar="SECONDS", help="Stop after this time. [default: 60]")
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="Limit of a single run. [default: 10]"
)
@click.option("--jobs", type=int, metavar="N", help="Runs at once. [default: one per core]")
@click.option("--seed", type=int, metavar="N", help="Seed of all schedules. [default: 0]")
@click.option(
    "--include",
    multiple=True,
    metavar="PKG",
    help="Instrument this installed package too, or observe this library built with "
    "`unsnarl cc -shared` (repeatable).",
)
@click.option(
    "--switch",
    type=click.Choice(SWITCHES),
    help="Where threads may be switched: where the interpreter's lock allows it, or anywhere. "
    "[default: auto, gil first and then free]",
)
@click.option(
    "--fail-if", metavar="REGEX", help="A run whose output matches has failed, whatever its status."
)
@click.option(
    "--window", type=int, metavar="N", help="Accesses in a pattern's window. [default: 5]"
)
@click.option(
    "--granularity",
    type=click.Choice(GRANULARITIES),
    help="What communicates: attributes and elements, or whole objects. [default: cell]",
)
@click.option(
    "--unlabelled",
    is_flag=True,
    default=None,
    help="Rank what is rare, too, whether or not anything failed.",
)
@click.option(
    "--confirm",
    type=int,
    metavar="N",
    help="Test up to N findings per failure by experiment. [default: 5]",
)
@click.option("--no-confirm", is_flag=True, help="Make no experiments: the same as --confirm 0.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[CAMPAIGN]",
    help="Go on with a stored campaign: the newest, of the command if one is given.",
)
@json_option()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def hunt(
    command: tuple[str, ...], json_file: str | None, resume: str | None, **options: Any
) -> int:
    """Run a Python program or test under many schedules and show the interleaving that breaks it.

    \b
    unsnarl hunt -- pytest tests/test_queue.py::test_drain
    unsnarl hunt --time 20 -- python script.py
    """
    check_json_file(json_file)
    flags = {name.replace("_", "-"): value for name, value in options.items()}
    flags["pass"] = flags.pop("passed")
    if flags.pop("no-confirm"):
        flags["confirm"] = 0
    from unsnarl.cli.session import Session  # noqa: PLC0415  heavy; not for --help

    session = Session.resumed(command, resume, flags) if resume is not None else None
    session = session or Session.fresh(command, flags)
    return session.hunt(json_file)
