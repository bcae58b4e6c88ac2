# SPDX-License-Identifier: Apache-2.0
"""`unsnarl rank`: rank the causes of a stored campaign's failures again."""

from __future__ import annotations

from typing import Any

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json

# The names of analyses.methods.METHODS and of Falcon's formulas, which are slow to load.
METHODS = ("joined", "recon", "falcon", "bugaboo", "bugaboo-unlabelled", "cci", "avio")
FORMULAS = ("jaccard", "tarantula", "ochiai")


@click.command()
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="joined",
    show_default=True,
    help="How to rank: all methods joined, or one of them alone.",
)
@click.option(
    "--formula",
    type=click.Choice(FORMULAS),
    default="jaccard",
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
@click.option("--unlabelled", is_flag=True, help="The same as --method bugaboo-unlabelled.")
@json_option()
@click.argument("campaign", required=False, default="")
def rank(campaign: str, method: str, json_file: str | None, **options: Any) -> int:
    """List all findings of a campaign (the newest by default), best first."""
    check_json_file(json_file)
    from unsnarl.analyses.methods import UNLABELLED, Choices  # noqa: PLC0415  heavy
    from unsnarl.cli.analysis import Wanted, ranking  # noqa: PLC0415
    from unsnarl.reports.json import encode_findings  # noqa: PLC0415
    from unsnarl.reports.terminal import make_console, print_ranking  # noqa: PLC0415

    method = UNLABELLED if options["unlabelled"] else method
    choices = Choices(options["formula"], options["context"])
    report = ranking(campaign, Wanted(method, choices, unlabelled=method == UNLABELLED))
    failures = () if method == UNLABELLED else report.failures
    findings = tuple(f for failure in failures for f in failure.findings) + report.unlabelled
    if json_file is not None:
        write_json(json_file, encode_findings(method, findings))
    else:
        print_ranking(report, make_console())
    return 0
