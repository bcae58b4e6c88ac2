# SPDX-License-Identifier: Apache-2.0
"""`unsnarl keep FINDING`: its proof becomes a regression test of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.shared import (
    campaign_argument,
    check_json_file,
    finding_argument,
    json_option,
    time_option,
    write_json,
)

if TYPE_CHECKING:
    from unsnarl.workflows.keep import KeepResult


@click.command(cls=TargetCommand)
@click.option("--name", default="", metavar="NAME", help="Of the file. [default: the finding's id]")
@time_option()
@json_option()
@finding_argument("1")
@campaign_argument()
def keep(
    finding: str, campaign: str, name: str, seconds: float | None, json_file: str | None
) -> int:
    """Keep a confirmed finding as a regression test.

    The few orders that make its failure certain become tests/interleavings/NAME.toml, by function
    and text of the line. `pytest --unsnarl-regress` and `unsnarl verify` replay all such files:
    they fail while the bug is there. Exits with 4 if it does not fail when it is replayed now;
    then nothing is written.

    \b
    Examples:
      unsnarl keep 1
      unsnarl keep length-7c1e --name queue-drained-twice
    """
    check_json_file(json_file)
    from unsnarl.workflows.keep import keep as run  # noqa: PLC0415  heavy; not for --help

    result = run(finding, campaign, name, **({} if seconds is None else {"seconds": seconds}))
    if json_file is not None:
        write_json(json_file, _document(result))
    else:
        _print(result)
    return result.exit_code


def _print(result: KeepResult) -> None:
    from unsnarl.reports.replay_text import kept_statement  # noqa: PLC0415

    if result.exit_code:
        click.echo(f"not kept: {kept_statement(result.checked)}")
        return
    click.echo(f"{result.file}: {kept_statement(result.checked)}")
    click.echo("next: fix it, then pytest --unsnarl-regress, or unsnarl verify --kept")


def _document(result: KeepResult) -> bytes:
    from unsnarl.reports.render.json import indented, plain  # noqa: PLC0415
    from unsnarl.reports.replay_text import kept_statement  # noqa: PLC0415

    return indented(
        {
            "version": 1,
            "campaign": result.campaign,
            "finding": result.finding,
            "file": None if result.exit_code else result.file,
            "checked": {**plain(result.checked), "statement": kept_statement(result.checked)},
        }
    )
