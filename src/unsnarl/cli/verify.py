# SPDX-License-Identifier: Apache-2.0
"""`unsnarl verify [CAMPAIGN]`: after an edit, is the failure gone?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE, EXIT_OK

if TYPE_CHECKING:
    from unsnarl.campaigns.store import Store
    from unsnarl.reproduce.fresh import Hunted
    from unsnarl.reproduce.verify import Verified

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


@click.command()
@click.option(
    "--max-runs", type=int, metavar="N", help="Runs of the fresh hunt. [default: the campaign's]"
)
@click.option("--time", type=float, metavar="SECONDS", help="Time of it. [default: the campaign's]")
@json_option()
@click.argument("campaign", default="")
def verify(campaign: str, json_file: str | None, **options: Any) -> int:
    """Test, after the code was edited, whether a campaign's failures are gone.

    The stored failing schedules are replayed, then their minimised constraints are asked for on
    fresh seeds, then the target is hunted anew with the same budget. CAMPAIGN is the newest one if
    it is not given. Exits with 1 if anything fails, with 4 if something could not be tested.
    """
    check_json_file(json_file)
    from unsnarl.campaigns.store import Store  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reproduce.verify import find_campaign  # noqa: PLC0415

    flags = {name.replace("_", "-"): value for name, value in options.items()}
    store = Store.open(find_campaign(Path.cwd(), campaign))
    try:
        return _verify(store, flags, json_file)
    finally:
        store.close()


def _verify(store: Store, flags: dict[str, Any], json_file: str | None) -> int:
    from unsnarl.cli.progress import showing  # noqa: PLC0415
    from unsnarl.reproduce.fresh import fresh_hunt, fresh_settings  # noqa: PLC0415
    from unsnarl.reproduce.verify import exit_code, verify_schedules  # noqa: PLC0415

    settings = fresh_settings(store, flags)  # a typing error should show at once
    silent = json_file == "-"
    verified = []
    for one in verify_schedules(store):
        verified.append(one)
        if not silent:
            _print(one)
    with showing(quiet=silent) as progress:
        hunted = fresh_hunt(store, settings, progress)
    code = exit_code(verified, hunted)
    if not silent:
        _print_end(store, verified, hunted, code)
    if json_file is not None:
        write_json(json_file, _document(store, verified, hunted, code))
    return code


def _print(one: Verified) -> None:
    from unsnarl.reproduce.sentences import statement  # noqa: PLC0415

    click.echo(one.signature)
    click.echo(f"  {statement(one)}")


def _print_end(store: Store, verified: Sequence[Verified], hunted: Hunted, code: int) -> None:
    from unsnarl.reproduce.sentences import hunt_statement  # noqa: PLC0415

    click.echo(f"fresh hunt {hunted.campaign}")
    for line in hunt_statement(hunted):
        click.echo(f"  {line}")
    for warning in hunted.warnings:
        if warning.slug != "no-failure":  # the bound says it
            click.echo(f"  warning: {warning.message} [{warning.slug}]")
    click.echo(WORDS[code])
    failing = [one.runs[0] for one in verified if one.verdict == "fails"]
    if failing:
        click.echo(f"next: unsnarl replay {store.name}/{failing[0]}")
    elif hunted.known or hunted.new:
        click.echo("next: unsnarl show 1")


def _document(store: Store, verified: Sequence[Verified], hunted: Hunted, code: int) -> bytes:
    import msgspec  # noqa: PLC0415

    from unsnarl.reproduce.sentences import hunt_statement, statement  # noqa: PLC0415

    document = {
        "version": 1,
        "campaign": store.name,
        "outcome": OUTCOMES[code],
        "failures": [{**msgspec.to_builtins(one), "statement": statement(one)} for one in verified],
        "hunt": {**msgspec.to_builtins(hunted), "statement": hunt_statement(hunted)},
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
