# SPDX-License-Identifier: Apache-2.0
"""`unsnarl export N`: one finding in the language of another tool."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from unsnarl.cli.shared import finding_of
from unsnarl.errors import UsageError

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
@click.argument("number", type=click.IntRange(min=1))
@click.argument("campaign", required=False, default="")
def export(number: int, campaign: str, form: str, output: str | None) -> int:
    """Write finding NUMBER of a campaign (the newest by default) for another tool."""
    from unsnarl.reports.dot import dot  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.json import encode_findings  # noqa: PLC0415

    _, finding = finding_of(number, campaign)
    text = dot(finding) if form == "dot" else encode_findings(finding.method, (finding,)).decode()
    if output is None:
        sys.stdout.write(text)
        return 0
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {output}: {error.strerror}") from None
    return 0
