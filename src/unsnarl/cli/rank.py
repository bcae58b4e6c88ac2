# SPDX-License-Identifier: Apache-2.0
"""`unsnarl rank`: list what a stored campaign found, by any method."""

from __future__ import annotations

from typing import Any

import click

from unsnarl.cli.shared import campaign_argument, check_json_file, json_option, write_json
from unsnarl.model.choices import FORMULAS, METHODS, UNLABELLED


@click.command()
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default=METHODS[0],
    show_default=True,
    help="How to rank: by all methods joined, or by one of them alone.",
)
@click.option(
    "--formula",
    type=click.Choice(FORMULAS),
    default=FORMULAS[0],
    show_default=True,
    help="What makes a pattern suspicious (falcon).",
)
@click.option(
    "--context",
    type=click.IntRange(0, 5),
    default=5,
    show_default=True,
    metavar="N",
    help="Communication events in a context (bugaboo).",
)
@click.option("--unlabelled", is_flag=True, help=f"The same as --method {UNLABELLED}.")
@json_option()
@campaign_argument()
def rank(campaign: str, method: str, json_file: str | None, **options: Any) -> int:
    """List all findings of a campaign, best first.

    CAMPAIGN is the newest by default.

    \b
    Examples:
      unsnarl rank
      unsnarl rank --method falcon --formula ochiai
    """
    check_json_file(json_file)
    from unsnarl.reports.render.json import encode_findings  # noqa: PLC0415
    from unsnarl.reports.render.terminal import make_console, print_ranking  # noqa: PLC0415
    from unsnarl.workflows.rank import Choices  # noqa: PLC0415  heavy; not for --help
    from unsnarl.workflows.rank import rank as ranked  # noqa: PLC0415

    method = UNLABELLED if options["unlabelled"] else method
    report = ranked(campaign, method, Choices(options["formula"], options["context"]))
    failures = () if method == UNLABELLED else report.failures
    findings = tuple(f for failure in failures for f in failure.findings) + report.unlabelled
    if json_file is not None:
        write_json(json_file, encode_findings(method, findings))
    else:
        print_ranking(report, make_console())
    return 0
