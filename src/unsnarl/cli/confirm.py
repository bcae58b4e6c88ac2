# SPDX-License-Identifier: Apache-2.0
"""`unsnarl confirm FINDING`: test a finding by experiment."""

from __future__ import annotations

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.shared import check_json_file, experiment_arguments, show_experiment
from unsnarl.errors import EXIT_INCONCLUSIVE, EXIT_OK


@click.command(cls=TargetCommand)
@experiment_arguments
def confirm(finding: str, campaign: str, json_file: str | None, seconds: float | None) -> int:
    """Test a finding: force its order, forbid it, compare.

    FINDING is its id or its number, by default the first. A third series of runs holds threads at
    other lines, as a control. Exits with 0 if the experiment confirms or refutes the finding, with
    4 if it does neither.

    \b
    Examples:
      unsnarl confirm length-7c1e
      unsnarl confirm 2 20260101-120000
    """
    check_json_file(json_file)
    from unsnarl.workflows import experiment  # noqa: PLC0415  heavy; not for --help

    limit = {} if seconds is None else {"seconds": seconds}
    tested = experiment.confirm(finding, campaign, **limit)
    show_experiment(tested, json_file)
    decided = tested.chosen.finding.status in ("confirmed", "refuted")
    return EXIT_OK if decided else EXIT_INCONCLUSIVE
