# SPDX-License-Identifier: Apache-2.0
"""`unsnarl show FINDING`: one finding with all its points."""

from __future__ import annotations

import click

from unsnarl.cli.shared import (
    campaign_argument,
    check_json_file,
    finding_argument,
    json_option,
    write_json,
)


@click.command()
@json_option()
@click.option("--verbose", is_flag=True, help="Also say where the time of the hunt went.")
@finding_argument()
@campaign_argument()
def show(finding: str, campaign: str, verbose: bool, json_file: str | None) -> int:
    """Show one finding in full.

    FINDING is its id, as reports print it, or its number. CAMPAIGN is the newest by default.

    \b
    Examples:
      unsnarl show length-7c1e
      unsnarl show 2 --json finding.json
      unsnarl show --verbose 1
    """
    check_json_file(json_file)
    from unsnarl.reports.render import terminal  # noqa: PLC0415  rich is slow to load
    from unsnarl.reports.render.json import encode_findings  # noqa: PLC0415
    from unsnarl.workflows.show import show as find  # noqa: PLC0415  heavy; not for --help

    report, chosen = find(finding, campaign)
    if json_file is not None:
        write_json(json_file, encode_findings(chosen.finding.method, (chosen.finding,)))
    else:
        console = terminal.make_console()
        terminal.print_finding(report, chosen, console)
        if verbose:
            terminal.print_timings(report, console)
    return 0
