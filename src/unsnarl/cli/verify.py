# SPDX-License-Identifier: Apache-2.0
"""`unsnarl verify [CAMPAIGN]`: after an edit, is the failure gone?"""

from __future__ import annotations

from collections.abc import Sequence
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
    from unsnarl.workflows.regress import Regressed
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
@click.option("--kept", is_flag=True, help="Only the interleavings that `unsnarl keep` wrote.")
@json_option()
@campaign_argument()
def verify(campaign: str, json_file: str | None, kept: bool, **options: Any) -> int:
    """Check, after an edit, whether a campaign's failures are gone.

    The stored failing schedules are replayed, then their minimised constraints are enforced on
    fresh seeds, then the target is hunted afresh with the same budget. CAMPAIGN is the newest by
    default; if none is named, the project's kept interleavings (tests/interleavings) are replayed
    first, and alone if there is no campaign. Exits with 1 if anything fails, with 4 if something
    could not be tested. Ctrl-C (exit 130) or SIGTERM (exit 143) shows what is known so far.

    \b
    Examples:
      unsnarl verify
      unsnarl verify --max-runs 5000 20260101-120000
      unsnarl verify --kept
    """
    check_json_file(json_file)
    from unsnarl.workflows.regress import has_campaign, regress, regress_code  # noqa: PLC0415

    silent = json_file == "-"
    regressed: list[Regressed] = []
    if kept or not campaign:
        regressed = regress(on_regressed=lambda one: None if silent else _print_kept(one))
        if kept or (regressed and not has_campaign()):
            return _only_kept(regressed, json_file, regress_code(regressed))
    from unsnarl.workflows.verify import verify as run  # noqa: PLC0415  heavy; not for --help

    flags = {name.replace("_", "-"): value for name, value in options.items()}
    result = run(
        campaign,
        flags,
        on_verified=lambda one: None if silent else _print(one),
        hunting=lambda: showing(quiet=silent),
    )
    code = _worst(result.exit_code, regress_code(regressed))
    if not silent:
        _print_end(result, code)
    if json_file is not None:
        write_json(json_file, _document(result, regressed, code))
    # Last of all: what was found out before Ctrl-C must be shown.
    if result.ends_with is not None:
        raise result.ends_with
    return code


def _worst(*codes: int) -> int:
    """A failure, else what is inconclusive."""
    order = (EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK)
    return min(codes, key=order.index)


def _only_kept(regressed: Sequence[Regressed], json_file: str | None, code: int) -> int:
    if json_file is not None:
        from unsnarl.reports.render.json import indented  # noqa: PLC0415

        rows = [_kept_row(one) for one in regressed]
        write_json(json_file, indented({"version": 1, "outcome": OUTCOMES[code], "kept": rows}))
    if json_file != "-":
        click.echo(WORDS[code] if regressed else "no interleaving is kept in tests/interleavings")
    return code


def _print_kept(one: Regressed) -> None:
    from unsnarl.reports.replay_text import kept_statement  # noqa: PLC0415

    click.echo(f"{one.file}\n  {kept_statement(one)}")


def _kept_row(one: Regressed) -> dict[str, Any]:
    from unsnarl.reports.render.json import plain  # noqa: PLC0415
    from unsnarl.reports.replay_text import kept_statement  # noqa: PLC0415

    return {**plain(one), "statement": kept_statement(one)}


def _print(one: Verified) -> None:
    from unsnarl.reports.replay_text import statement  # noqa: PLC0415

    click.echo(one.signature)
    click.echo(f"  {statement(one)}")


def _print_end(result: VerifyResult, code: int) -> None:
    from unsnarl.reports.replay_text import hunt_statement  # noqa: PLC0415

    hunted = result.hunted
    click.echo(f"fresh hunt {hunted.campaign}".rstrip())
    for line in hunt_statement(hunted):
        click.echo(f"  {line}")
    # The bound says that nothing failed.
    echo_warnings([one for one in hunted.warnings if one.slug != "no-failure"], indent="  ")
    echo_warnings(result.warnings)
    click.echo(WORDS[code])
    failing = [one.runs[0] for one in result.verified if one.verdict == "fails"]
    if failing:
        click.echo(f"next: unsnarl replay {result.campaign}/{failing[0]}")
    elif hunted.repeated or hunted.new:
        click.echo("next: unsnarl show 1")


def _document(result: VerifyResult, regressed: Sequence[Regressed], code: int) -> bytes:
    from unsnarl.reports.render.json import indented, plain  # noqa: PLC0415
    from unsnarl.reports.replay_text import hunt_statement, statement  # noqa: PLC0415

    failures = [{**plain(one), "statement": statement(one)} for one in result.verified]
    return indented(
        {
            "version": 1,
            "campaign": result.campaign,
            "outcome": OUTCOMES[code],
            "failures": failures,
            "hunt": {**plain(result.hunted), "statement": hunt_statement(result.hunted)},
            "warnings": [plain(one) for one in result.warnings],
            "kept": [_kept_row(one) for one in regressed],
        }
    )
