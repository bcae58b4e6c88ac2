# SPDX-License-Identifier: Apache-2.0
"""`unsnarl confirm N` and `unsnarl minimise N`: experiments about one finding of a campaign."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import EXIT_INCONCLUSIVE, EXIT_OK

if TYPE_CHECKING:
    from unsnarl.experiments.prove import Kind


@click.command()
@json_option()
@click.argument("number", type=click.IntRange(min=1), default=1)
@click.argument("campaign", required=False, default="")
def confirm(number: int, campaign: str, json_file: str | None) -> int:
    """Test finding NUMBER by experiment: force its order, forbid it, hold elsewhere.

    Exits with 0 if the experiment confirms or refutes it, with 4 if it does neither.
    """
    return _experiment("confirm", number, campaign, json_file)


@click.command()
@json_option()
@click.argument("number", type=click.IntRange(min=1), default=1)
@click.argument("campaign", required=False, default="")
def minimise(number: int, campaign: str, json_file: str | None) -> int:
    """Cut a failing run of finding NUMBER down to the few orders that make it certain.

    Exits with 4 if no few orders do.
    """
    return _experiment("minimise", number, campaign, json_file)


def _experiment(kind: Kind, number: int, campaign: str, json_file: str | None) -> int:
    check_json_file(json_file)
    from unsnarl.cli.experiment import experiment  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.json import encode  # noqa: PLC0415
    from unsnarl.reports.terminal import make_console, print_finding  # noqa: PLC0415

    report = experiment(number, campaign, kind)
    if json_file is not None:
        write_json(json_file, encode(report))
    else:
        print_finding(report, 1, make_console())
    finding = report.failures[0].findings[0]
    decided = finding.status in ("confirmed", "refuted") if kind == "confirm" else finding.orders
    return EXIT_OK if decided else EXIT_INCONCLUSIVE
