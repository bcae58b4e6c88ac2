# SPDX-License-Identifier: Apache-2.0
"""`unsnarl fix FINDING`: a finding's fix as a patch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.progress import showing
from unsnarl.cli.shared import (
    campaign_argument,
    check_json_file,
    echo_warnings,
    finding_argument,
    json_option,
    write_json,
)
from unsnarl.errors import EXIT_INCONCLUSIVE, EXIT_OK, UsageError

if TYPE_CHECKING:
    from unsnarl.workflows.fix import FixedFinding


@click.command(cls=TargetCommand)
@click.option("--apply", "applies", is_flag=True, help="Write the patched files.")
@click.option("-o", "--output", metavar="FILE", help="Write the diff to FILE.")
@click.option(
    "--time",
    type=float,
    default=None,
    metavar="SECONDS",
    help="To look for a patch. [default: 120]",
)
@click.option("-v", "--verbose", is_flag=True, help="Also list every patch that was tried.")
@json_option()
@finding_argument("1")
@campaign_argument()
def fix(
    finding: str,
    campaign: str,
    json_file: str | None,
    *,
    applies: bool,
    output: str | None,
    time: float | None,
    verbose: bool,
) -> int:
    """Show the patch that repairs a finding, as a unified diff.

    FINDING is its id or its number, by default the first. A patch is shown only if the patched
    program was run: none of 200 fresh runs fails, nor do replays of the failing ones. If the hunt
    has found none, it is looked for now. Nothing is written without --apply. Exits with 0 if there
    is a patch, with 4 if none was found.

    \b
    Examples:
      unsnarl fix
      unsnarl fix length-7c1e --apply
      unsnarl fix 2 -o bug.patch
      unsnarl fix -v
    """
    check_json_file(json_file)
    from unsnarl.workflows import fix as fixes  # noqa: PLC0415  heavy; not for --help

    seconds = {} if time is None else {"seconds": time}
    with showing(quiet=json_file == "-", doing="patching") as on_progress:
        found = fixes.fix(finding, campaign, on_progress=on_progress, **seconds)
    works = found.patch is not None and found.patch.works
    if applies and works:
        found = fixes.apply(found, campaign)
    _show(found, json_file, output, verbose=verbose)
    if found.ends_with is not None:
        raise found.ends_with
    return EXIT_OK if works else EXIT_INCONCLUSIVE


def _show(found: FixedFinding, json_file: str | None, output: str | None, *, verbose: bool) -> None:
    from unsnarl.reports.render.json import encode  # noqa: PLC0415
    from unsnarl.reports.render.terminal import (  # noqa: PLC0415
        make_console,
        print_patch,
        print_tries,
    )

    patch = found.patch
    if output is not None and patch is not None and patch.works:
        _write(output, patch.diff)
    if json_file is not None:
        write_json(json_file, encode(found.report))
    elif patch is None:
        click.echo("no patch was found: nothing that could be tried fits this finding")
    else:
        console = make_console()
        if verbose:
            print_tries(patch, console)
        print_patch(patch, found.chosen.number, console)
    if json_file != "-":
        echo_warnings(found.warnings)
        for path in found.applied:
            click.echo(f"written: {path}")
        if any(not path.endswith((".py", ".pyw")) for path in found.applied):
            click.echo("build the program again, then: unsnarl verify")


def _write(name: str, text: str) -> None:
    try:
        Path(name).write_bytes(text.encode())
    except OSError as error:
        raise UsageError("bad-argument", f"cannot write {name}: {error.strerror}") from None
