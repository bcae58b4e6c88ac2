# SPDX-License-Identifier: Apache-2.0
"""`unsnarl report [FINDING]`: the answer as a page for a browser."""

from __future__ import annotations

from pathlib import Path

import click

from unsnarl.cli.shared import campaign_argument
from unsnarl.errors import UsageError


@click.command()
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    default="unsnarl.html",
    show_default=True,
    help="Write the page to FILE.",
)
@click.option(
    "--no-trace",
    is_flag=True,
    help="Do not repeat the failing run: the page has no timeline and no graph then.",
)
@click.argument("finding", required=False, default="", metavar="[FINDING]")
@campaign_argument()
def report(finding: str, campaign: str, output: str, no_trace: bool) -> int:
    """Write the report as one HTML file that needs nothing else.

    FINDING is what the first screen shows: its id, as reports print it, or its number; by default
    the first one. CAMPAIGN is the newest by default.

    \b
    Examples:
      unsnarl report
      unsnarl report length-7c1e -o report.html
    """
    check_page_file(output)
    from unsnarl.workflows.page import html_report  # noqa: PLC0415  heavy; not for --help

    write_page(output, html_report(finding, campaign, with_trace=not no_trace))
    click.echo(f"{output}: open it in a browser")
    return 0


def check_page_file(file: str) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if not Path(file).absolute().parent.is_dir():
        raise UsageError("bad-argument", f"{file}: there is no such directory")


def write_page(file: str, document: bytes) -> None:
    """Write it, or say why not."""
    try:
        Path(file).write_bytes(document)
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {file}: {error.strerror}") from None
