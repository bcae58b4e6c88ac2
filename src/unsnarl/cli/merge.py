# SPDX-License-Identifier: Apache-2.0
"""`unsnarl merge [DIR]...`: put the shards of a hunt together."""

from __future__ import annotations

import click

from unsnarl.cli.hunt import show_result
from unsnarl.cli.progress import PausableProgress
from unsnarl.cli.report import check_page_file
from unsnarl.cli.shared import check_json_file, json_option


@click.command()
@click.option(
    "--confirm",
    type=int,
    metavar="N",
    help="Test up to N findings per failure by experiment. [default: as of the hunt]",
)
@click.option("--no-confirm", is_flag=True, help="Make no experiments: the same as --confirm 0.")
@click.option("--jobs", type=int, metavar="N", help="Runs at once. [default: one per core]")
@click.option(
    "--time", type=float, metavar="SECONDS", help="Answer within this time. [default: 60]"
)
@click.option("--html", "page", metavar="FILE", help="Also write the report as a page to FILE.")
@json_option()
@click.argument("folders", nargs=-1, metavar="[DIR]...")
def merge(
    folders: tuple[str, ...],
    confirm: int | None,
    *,
    no_confirm: bool,
    jobs: int | None,
    time: float | None,
    page: str | None,
    json_file: str | None,
) -> int:
    """Put the shards of a hunt together, as one campaign.

    DIR is a campaign of `unsnarl hunt --shard I/N`, or a folder that holds some; without one, the
    shards of the newest hunt of this project. The order does not matter, and shards that come
    later can be merged into what was merged before. Experiments are made here, as after a hunt.

    \b
    Examples:
      unsnarl merge
      unsnarl merge shard-*/
    """
    from unsnarl.workflows.merge import merge as run  # noqa: PLC0415  heavy; not for --help

    check_json_file(json_file)
    if page is not None:
        check_page_file(page)
    flags = {"confirm": 0 if no_confirm else confirm, "jobs": jobs, "time": time}
    with PausableProgress(quiet=json_file == "-") as progress:
        result = run(folders, flags, on_progress=progress.take)
    return show_result(result, json_file, page=page)
