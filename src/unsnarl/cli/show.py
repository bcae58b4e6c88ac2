# SPDX-License-Identifier: Apache-2.0
"""`unsnarl show N`: one finding with all its points."""

from __future__ import annotations

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import UsageError


@click.command()
@json_option()
@click.argument("number", type=click.IntRange(min=1))
@click.argument("campaign", required=False, default="")
def show(number: int, campaign: str, json_file: str | None) -> int:
    """Show finding NUMBER of a campaign (the newest by default) in full."""
    check_json_file(json_file)
    from unsnarl.cli.analysis import stored_report  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.json import encode_findings  # noqa: PLC0415
    from unsnarl.reports.terminal import make_console, numbered, print_finding  # noqa: PLC0415

    report = stored_report(campaign)
    found = [finding for other, _, finding in numbered(report) if other == number]
    if not found:
        count = len(numbered(report))
        raise UsageError(
            "no-finding", f"campaign {report.campaign} has no finding {number}, only {count}"
        )
    if json_file is not None:
        write_json(json_file, encode_findings(found[0].method, tuple(found)))
    else:
        print_finding(report, number, make_console())
    return 0
