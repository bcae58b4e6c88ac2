# SPDX-License-Identifier: Apache-2.0
"""`unsnarl rank`: rank the causes of a stored campaign's failures again."""

from __future__ import annotations

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json

METHODS = ("recon",)


@click.command()
@click.option(
    "--method", type=click.Choice(METHODS), default="recon", show_default=True, help="How to rank."
)
@json_option()
@click.argument("campaign", required=False, default="")
def rank(campaign: str, method: str, json_file: str | None) -> int:
    """List all findings of a campaign (the newest by default), best first."""
    check_json_file(json_file)
    from unsnarl.cli.analysis import ranked  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.json import encode_findings  # noqa: PLC0415
    from unsnarl.reports.terminal import make_console, print_ranking  # noqa: PLC0415

    report = ranked(campaign)
    findings = tuple(f for failure in report.failures for f in failure.findings)
    if json_file is not None:
        write_json(json_file, encode_findings(method, findings))
    else:
        print_ranking(report, make_console())
    return 0
