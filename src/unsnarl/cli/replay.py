# SPDX-License-Identifier: Apache-2.0
"""`unsnarl replay RUN`: repeat a failing run in a new process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.shared import (
    check_json_file,
    echo_warnings,
    json_option,
    time_option,
    write_json,
)
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE

if TYPE_CHECKING:
    from unsnarl.workflows.replay import Debugger, ReplayResult


@click.command(cls=TargetCommand)
@click.option("--times", type=click.IntRange(min=1), default=1, metavar="N", help="Replay N times.")
@click.option(
    "--pdb", "debugger", flag_value="pdb", help="Stop in pdb just before the decisive access."
)
@click.option(
    "--gdb", "debugger", flag_value="gdb", help="The same in gdb, for a C or C++ program."
)
@click.option(
    "--break",
    "step",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop in the debugger at step N of the first finding's explanation.",
)
@time_option()
@json_option()
@click.argument("run")
def replay(
    run: str,
    *,
    times: int,
    debugger: Debugger | None,
    step: int | None,
    seconds: float | None,
    json_file: str | None,
) -> int:
    """Repeat a failing run exactly, if you like in a debugger.

    RUN is the run's number, name or file in the newest campaign, or CAMPAIGN/RUN; or the id of a
    finding. If its schedule no longer leads to the failure, fresh runs are made under its minimised
    constraints. Exits with 1 if it failed as recorded, with 4 if it did not. Ctrl-C (exit 130) or
    SIGTERM (exit 143) shows what came of the replays so far.

    \b
    Examples:
      unsnarl replay 6
      unsnarl replay --times 100 20260101-120000/6
      unsnarl replay 6 --pdb --break 2
    """
    check_json_file(json_file)
    from unsnarl.workflows import replay as workflow  # noqa: PLC0415  heavy; not for --help

    if debugger or step is not None:
        replayed = workflow.debug(run, step, debugger)
        failed = f"failed as recorded: {replayed.signature}"
        click.echo(failed if replayed.failed else "the run was left")
        return EXIT_FAILURE_FOUND if replayed.failed else EXIT_INCONCLUSIVE
    limit = {} if seconds is None else {"seconds": seconds}
    result = workflow.replay(run, times, **limit)
    if json_file is not None:
        write_json(json_file, _document(result))
    if json_file != "-":
        _print(result)
    # Last of all: what came of the replays before Ctrl-C must be shown.
    if result.ends_with is not None:
        raise result.ends_with
    return result.exit_code


def _document(result: ReplayResult) -> bytes:
    from unsnarl.reports.render.json import indented, plain  # noqa: PLC0415

    warnings = [plain(one) for one in result.warnings]
    facts = {"version": 1, "campaign": result.campaign, **plain(result.replayed)}
    return indented({**facts, "warnings": warnings})


def _print(result: ReplayResult) -> None:
    from unsnarl.reports.replay_text import remarks  # noqa: PLC0415

    replayed = result.replayed
    click.echo(f"run {replayed.run} of {result.campaign}: {replayed.signature}")
    if replayed.failed == replayed.times > 0:
        click.echo(f"failed as recorded, {replayed.failed} of {replayed.times}")
    else:
        count = f"{replayed.failed} of {replayed.times} replays"
        others = "; the others:" if replayed.times else ""
        click.echo(f"failed as recorded in {count}{others}")
        for signature, times in replayed.signatures.items():
            if signature != replayed.signature:
                click.echo(f"  {times}: {signature or 'passed'}")
    for line in remarks(replayed):
        click.echo(line)
    echo_warnings(result.warnings)
    if replayed.failed and replayed.times == 1:
        click.echo(result.text.rstrip() or f"it ended with: {replayed.signature}")
