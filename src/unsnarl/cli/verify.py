# SPDX-License-Identifier: Apache-2.0
"""`unsnarl verify [CAMPAIGN]`: after an edit, is the failure gone?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.progress import showing
from unsnarl.cli.shared import (
    campaign_argument,
    check_json_file,
    echo_warnings,
    json_option,
    write_json,
)
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK

if TYPE_CHECKING:
    from unsnarl.workflows.verify import Verified, VerifyResult

OUTCOMES = {
    EXIT_OK: "passes",
    EXIT_FAILURE_FOUND: "fails",
    EXIT_INCONCLUSIVE: "inconclusive",
}
WORDS = {
    EXIT_OK: "verified: nothing that failed before fails now",
    EXIT_FAILURE_FOUND: "not verified: it fails",
    EXIT_INCONCLUSIVE: "inconclusive: not everything could be tested",
}


@click.command(cls=TargetCommand)
@click.option(
    "--max-runs", type=int, metavar="N", help="Runs of the fresh hunt. [default: the campaign's]"
)
@click.option(
    "--time",
    type=float,
    metavar="SECONDS",
    help="Answer within this time. [default: the campaign's]",
)
@json_option()
@campaign_argument()
def verify(campaign: str, json_file: str | None, **options: Any) -> int:
    """Check, after an edit, whether a campaign's failures are gone.

    The stored failing schedules are replayed, then their minimised constraints are enforced on
    fresh seeds, then the target is hunted afresh with the same budget. CAMPAIGN is the newest by
    default. Exits with 1 if anything fails, with 4 if something could not be tested. Ctrl-C (exit
    130) or SIGTERM (exit 143) shows what is known so far.

    \b
    Examples:
      unsnarl verify
      unsnarl verify --max-runs 5000 20260101-120000
    """
    check_json_file(json_file)
    from unsnarl.workflows.verify import verify as run  # noqa: PLC0415  heavy; not for --help

    flags = {name.replace("_", "-"): value for name, value in options.items()}
    silent = json_file == "-"
    result = run(
        campaign,
        flags,
        on_verified=lambda one: None if silent else _print(one),
        hunting=lambda: showing(quiet=silent),
    )
    if not silent:
        _print_end(result)
    if json_file is not None:
        write_json(json_file, _document(result))
    # Last of all: what was found out before Ctrl-C must be shown.
    if result.ends_with is not None:
        raise result.ends_with
    return result.exit_code


def _print(one: Verified) -> None:
    from unsnarl.reports.replay_text import statement  # noqa: PLC0415

    click.echo(one.signature)
    click.echo(f"  {statement(one)}")


def _print_end(result: VerifyResult) -> None:
    from unsnarl.reports.replay_text import hunt_statement  # noqa: PLC0415

    hunted = result.hunted
    click.echo(f"fresh hunt {hunted.campaign}".rstrip())
    for line in hunt_statement(hunted):
        click.echo(f"  {line}")
    # The bound says that nothing failed.
    echo_warnings([one for one in hunted.warnings if one.slug != "no-failure"], indent="  ")
    echo_warnings(result.warnings)
    click.echo(WORDS[result.exit_code])
    failing = [one.runs[0] for one in result.verified if one.verdict == "fails"]
    if failing:
        click.echo(f"next: unsnarl replay {result.campaign}/{failing[0]}")
    elif hunted.repeated or hunted.new:
        click.echo("next: unsnarl show 1")


def _document(result: VerifyResult) -> bytes:
    from unsnarl.reports.render.json import indented, plain  # noqa: PLC0415
    from unsnarl.reports.replay_text import hunt_statement, statement  # noqa: PLC0415

    failures = [{**plain(one), "statement": statement(one)} for one in result.verified]
    return indented(
        {
            "version": 1,
            "campaign": result.campaign,
            "outcome": OUTCOMES[result.exit_code],
            "failures": failures,
            "hunt": {**plain(result.hunted), "statement": hunt_statement(result.hunted)},
            "warnings": [plain(one) for one in result.warnings],
        }
    )
