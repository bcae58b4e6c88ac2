# SPDX-License-Identifier: Apache-2.0
"""`unsnarl export FINDING`: one finding in the language of another tool."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unsnarl.cli.shared import campaign_argument, finding_argument
from unsnarl.errors import UsageError

if TYPE_CHECKING:
    from unsnarl.workflows.export import Format

FORMATS = ("dot", "json")


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="dot",
    show_default=True,
    help="dot: a drawing for Graphviz. json: the finding as `show --json` gives it.",
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@finding_argument()
@campaign_argument()
def export(finding: str, campaign: str, form: Format, output: str | None) -> int:
    """Write a finding for another tool: Graphviz or JSON.

    FINDING is its id, as reports print it, or its number. CAMPAIGN is the newest by default.

    \b
    Examples:
      unsnarl export length-7c1e | dot -Tsvg > finding.svg
      unsnarl export 1 --format json -o finding.json
    """
    from unsnarl.workflows.export import export as text_of  # noqa: PLC0415  not for --help

    text = text_of(finding, campaign, form)
    if output is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {output}: {error.strerror}") from None
    return 0
