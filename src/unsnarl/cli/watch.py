# SPDX-License-Identifier: Apache-2.0
"""`unsnarl watch -- COMMAND`: run a program in production, and note what its tests never did."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import UsageError, warn

if TYPE_CHECKING:
    from unsnarl.model.anomaly import Anomaly
    from unsnarl.workflows.deployed import SpoolReport

SHOWN = 5


def share(text: str) -> float:
    """`5%` or `0.05`; raises UsageError for anything else."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise UsageError("bad-argument", f"--budget {text}: a share like 5% or 0.05 is wanted")
    return value


@click.command(cls=TargetCommand, context_settings={"allow_interspersed_args": False})
@click.option(
    "--budget",
    default="5%",
    show_default=True,
    metavar="SHARE",
    help="The share of the processor's time that watching may take.",
)
@click.option("--baseline", metavar="FILE", help="What `unsnarl baseline` wrote.")
@click.option(
    "--spool",
    default=".unsnarl/watch",
    show_default=True,
    metavar="DIR",
    help="The folder for what is seen; one for each program.",
)
@click.option("--endpoint", metavar="URL", help="Also send anomalies there.")
@click.option("--token-file", metavar="FILE", help="A file with the endpoint's token.")
@click.option("--program", metavar="NAME", help="What anomalies are reported under.")
@click.option("--program-version", metavar="TEXT", help="The version they are reported under.")
@click.option("--include", multiple=True, metavar="PKG", help="As for `unsnarl hunt`.")
@click.option(
    "--short-lived",
    is_flag=True,
    help="Do not charge the set-up to the budget: the program may end before it is paid for.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SCORE",
    help="Anomalies with lower scores are not reported.",
)
@json_option()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def watch(
    command: tuple[str, ...],
    json_file: str | None,
    *,
    budget: str,
    spool: str,
    program_version: str | None,
    **settings: object,
) -> int:
    """Run a program as ever; note what its tests never did.

    Its functions get probes for some milliseconds at a time, as often as the budget allows. Without
    COMMAND, shows what the spool has.

    \b
    Examples:
      unsnarl watch --budget 5% --baseline baseline.json -- python server.py
      unsnarl watch --spool .unsnarl/watch
    """
    check_json_file(json_file)
    from unsnarl.workflows import deployed  # noqa: PLC0415  heavy; not for --help

    if not command:
        return _show(deployed.spool_report(Path(spool)), json_file)
    settings |= {"budget": share(budget), "spool": str(Path(spool).absolute())}
    settings |= {"version": program_version, "include": settings["include"] or None}
    found = deployed.watched(command, settings)
    os.execve(found.program, list(found.command), found.environment)


def _show(report: SpoolReport, json_file: str | None) -> int:
    """Print the first anomalies; gives the exit code."""
    if report.problem:
        warn("bad-baseline", f"{report.problem}: all communication counts as new")
    if report.damaged:
        warn("damaged-run-file", f"{report.damaged} bursts cannot be read")
    if report.unsent:
        warn("watch-unsent", f"batches wait in the spool: {report.unsent}")
    if json_file is not None:
        from unsnarl.reports.render.json import indented  # noqa: PLC0415

        write_json(json_file, indented(report))
    if json_file != "-":
        click.echo(_summary(report))
        for number, one in enumerate(report.anomalies[:SHOWN], 1):
            click.echo(_text(number, one))
    return 0


def _summary(report: SpoolReport) -> str:
    count = len(report.anomalies)
    shown = f", the first {SHOWN} are shown" if count > SHOWN else ""
    return (
        f"{report.bursts} bursts of {report.instances} processes: {count} anomalies{shown}"
        if count
        else f"{report.bursts} bursts of {report.instances} processes: nothing new"
    )


def _text(number: int, one: Anomaly) -> str:
    what = "new communication" if one.edge else "a new context"
    head = f"\n{number}  {one.id}  {what}, seen {one.count} times in {one.bursts} bursts"
    lines = [
        f"   {point.op:<5}  {point.file}:{point.line}  {point.text}  ({point.function})"
        for point in one.points
    ]
    return "\n".join([head, *lines])
