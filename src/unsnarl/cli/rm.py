# SPDX-License-Identifier: Apache-2.0
"""`unsnarl rm`: remove stored campaigns."""

from __future__ import annotations

import click

from unsnarl.cli.list import size_text
from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import UsageError


@click.command()
@click.option(
    "--older",
    type=click.FloatRange(min=0),
    metavar="DAYS",
    help="Remove campaigns older than this.",
)
@click.option(
    "--limit",
    type=click.FloatRange(min=0),
    metavar="MB",
    help="Remove the oldest campaigns until the rest takes at most this.",
)
@click.option("--all", "everything", is_flag=True, help="Remove all campaigns.")
@json_option()
@click.argument("campaigns", nargs=-1, metavar="[CAMPAIGN]...")
def rm(
    campaigns: tuple[str, ...],
    *,
    older: float | None,
    limit: float | None,
    everything: bool,
    json_file: str | None,
) -> int:
    """Remove stored campaigns with their runs, reports and schedules.

    CAMPAIGN is a name, as `unsnarl list` prints it, or its beginning. One that another command uses
    stays.

    \b
    Examples:
      unsnarl rm 20260101-120000
      unsnarl rm --older 30
      unsnarl rm --limit 500
    """
    check_json_file(json_file)
    if not campaigns and older is None and limit is None and not everything:
        hint = "name campaigns, or say --older DAYS, --limit MB or --all"
        raise UsageError("bad-argument", "nothing to remove was named", hint)
    from unsnarl.workflows.housekeeping import remove_campaigns  # noqa: PLC0415  not for --help

    size = None if limit is None else int(limit * 1e6)
    removed = remove_campaigns(campaigns, older=older, limit=size, everything=everything)
    if json_file is not None:
        from unsnarl.reports.render.json import indented, plain  # noqa: PLC0415  heavy

        write_json(json_file, indented({"version": 1, **plain(removed)}))
        return 0
    for name in removed.names:
        click.echo(f"removed {name}")
    for name in removed.in_use:
        click.echo(f"in use: {name}")
    click.echo(f"{size_text(removed.freed)} freed")
    return 0
