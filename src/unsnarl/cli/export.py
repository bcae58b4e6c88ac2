# SPDX-License-Identifier: Apache-2.0
"""`unsnarl export [FINDING]`: findings in the language of another tool."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unsnarl.cli.shared import campaign_argument
from unsnarl.errors import UsageError

if TYPE_CHECKING:
    from unsnarl.workflows.export import Format

FORMATS = ("dot", "json", "sarif", "junit", "junit-xunit1", "github", "markdown", "perfetto")


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="dot",
    show_default=True,
    help="dot: a drawing for Graphviz. json: as --json gives it. sarif: SARIF 2.1.0, for code "
    "scanning and editors. junit: JUnit XML, for CI systems (junit-xunit1: with files and lines). "
    "github: annotations of a GitHub job. markdown: a summary for a job, an issue or a merge "
    "request. perfetto: all events of the failing run, which is repeated for it.",
)
@click.option("--output", "-o", metavar="FILE", help="Write to FILE instead of standard output.")
@click.argument("finding", required=False, default="", metavar="[FINDING]")
@campaign_argument()
def export(finding: str, campaign: str, form: Format, output: str | None) -> int:
    """Write findings for another tool: SARIF, JUnit, GitHub, Perfetto.

    FINDING is its id, as reports print it, or its number; by default the first of each failure,
    where the form has room for several. CAMPAIGN is the newest by default.

    \b
    Examples:
      unsnarl export length-7c1e | dot -Tsvg > finding.svg
      unsnarl export --format sarif -o unsnarl.sarif
      unsnarl export 1 --format perfetto -o run.json
    """
    from unsnarl.workflows.export import export as written  # noqa: PLC0415  not for --help

    document = written(finding, campaign, form)
    if output is None:
        sys.stdout.buffer.write(document)
        sys.stdout.buffer.flush()
        return 0
    try:
        Path(output).write_bytes(document)
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {output}: {error.strerror}") from None
    return 0
