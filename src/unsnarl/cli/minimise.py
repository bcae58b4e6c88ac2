# SPDX-License-Identifier: Apache-2.0
"""`unsnarl minimise FINDING`: which few orders make its failure certain?"""

from __future__ import annotations

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.shared import check_json_file, experiment_arguments, show_experiment
from unsnarl.errors import EXIT_INCONCLUSIVE, EXIT_OK


@click.command(cls=TargetCommand)
@experiment_arguments
def minimise(finding: str, campaign: str, json_file: str | None, seconds: float | None) -> int:
    """Find the few orders that make a finding's failure certain.

    FINDING is its id or its number, by default the first. One of its failing runs is cut down until
    only the orders are left that matter. Exits with 4 if no small set of orders suffices.

    \b
    Examples:
      unsnarl minimise length-7c1e
      unsnarl minimise 2 20260101-120000
    """
    check_json_file(json_file)
    from unsnarl.workflows import experiment  # noqa: PLC0415  heavy; not for --help

    limit = {} if seconds is None else {"seconds": seconds}
    minimised = experiment.minimise(finding, campaign, **limit)
    show_experiment(minimised, json_file)
    return EXIT_OK if minimised.chosen.finding.orders else EXIT_INCONCLUSIVE
