# SPDX-License-Identifier: Apache-2.0
"""`unsnarl reproduce RECORD`: a recorded failure becomes a schedule that fails every time."""

from __future__ import annotations

import click

from unsnarl.cli.shared import check_json_file, json_option
from unsnarl.reproduce.methods import DEFAULT, MODULES

TRIES = 100


@click.command()
@click.option(
    "--with",
    "method",
    type=click.Choice(tuple(MODULES)),
    default=DEFAULT,
    show_default=True,
    help="How: replay along the sketch, and turn round what it leaves open (pres); solve the order "
    "from logged values or branches (clap).",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=TRIES,
    show_default=True,
    metavar="N",
    help="Give up after N runs.",
)
@click.option("--no-explain", is_flag=True, help="Find the schedule only, not its cause.")
@json_option()
@click.argument("record")
def reproduce(record: str, method: str, tries: int, no_explain: bool, json_file: str | None) -> int:
    """Find a schedule under which the target fails as in RECORD, a run of `unsnarl record`.

    RECORD is named as for `unsnarl replay`. The schedule that is found is kept as a run of the
    same campaign, for replay, confirm, minimise and show.
    Exits with 1 if the failure was reproduced, with 4 if it was not.
    """
    check_json_file(json_file)
    from unsnarl.cli.reproducing import Reproduction  # noqa: PLC0415  heavy; not for --help

    return Reproduction(record, method, explains=not no_explain).run(tries, json_file)
