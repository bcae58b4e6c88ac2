# SPDX-License-Identifier: Apache-2.0
"""`unsnarl list`: the stored campaigns."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json

if TYPE_CHECKING:
    from unsnarl.model.stored_campaign import StoredCampaign


@click.command("list")
@json_option()
def list_(json_file: str | None) -> int:
    """List stored campaigns, newest first.

    \b
    Examples:
      unsnarl list
      unsnarl list --json
    """
    check_json_file(json_file)
    from unsnarl.reports.render.json import indented, plain  # noqa: PLC0415  not for --help
    from unsnarl.workflows.housekeeping import list_campaigns  # noqa: PLC0415

    found = list_campaigns()
    if json_file is not None:
        write_json(json_file, indented({"version": 1, "campaigns": [plain(one) for one in found]}))
        return 0
    for one in found:
        click.echo(_line(one))
    if found:
        size = size_text(sum(one.size for one in found))
        click.echo(f"{len(found)} in all, {size} · remove with: unsnarl rm CAMPAIGN")
    else:
        click.echo("no campaigns here; unsnarl hunt makes one")
    return 0


def _line(one: StoredCampaign) -> str:
    if one.damaged:
        return f"{one.name}  {size_text(one.size):>8}  damaged: {one.damaged}"
    what = f"verifies {one.verifies}  " if one.verifies else ""
    counts = f"{one.failing:>4} of {one.runs:<5} failing"
    return f"{one.name}  {size_text(one.size):>8}  {counts}  {what}{shlex.join(one.command)}"


def size_text(size: float) -> str:
    """`1.2 MB`."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
