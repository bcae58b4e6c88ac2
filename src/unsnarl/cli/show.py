# SPDX-License-Identifier: Apache-2.0
"""`unsnarl show N`: one finding with all its points."""

from __future__ import annotations

import click

from unsnarl.cli.shared import check_json_file, finding_of, json_option, write_json


@click.command()
@json_option()
@click.argument("number", type=click.IntRange(min=1))
@click.argument("campaign", required=False, default="")
def show(number: int, campaign: str, json_file: str | None) -> int:
    """Show finding NUMBER of a campaign (the newest by default) in full."""
    check_json_file(json_file)
    from unsnarl.reports.json import encode_findings  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.terminal import make_console, print_finding  # noqa: PLC0415

    report, finding = finding_of(number, campaign)
    if json_file is not None:
        write_json(json_file, encode_findings(finding.method, (finding,)))
    else:
        print_finding(report, number, make_console())
    return 0
