# SPDX-License-Identifier: Apache-2.0
"""`unsnarl hunt -- COMMAND`: run the target under many schedules, and rank what breaks it."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.progress import PausableProgress
from unsnarl.cli.report import check_page_file, write_page
from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.config import GRANULARITIES, PLANS, SWITCHES
from unsnarl.errors import UnsnarlError, UsageError, warn

if TYPE_CHECKING:
    from unsnarl.model.report import Report
    from unsnarl.workflows.hunt import HuntResult


@click.command(cls=TargetCommand, context_settings={"allow_interspersed_args": False})
@click.option("--fail", type=int, metavar="N", help="Failing runs wanted. [default: 25]")
@click.option("--pass", "passed", type=int, metavar="N", help="Passing runs wanted. [default: 25]")
@click.option(
    "--max-runs",
    type=int,
    metavar="N",
    help="Stop after N runs. [default: none with --time, else 1000]",
)
@click.option(
    "--time", type=float, metavar="SECONDS", help="Answer within this time. [default: 60]"
)
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="Limit of a single run. [default: 10]"
)
@click.option("--jobs", type=int, metavar="N", help="Runs at once. [default: one per core]")
@click.option("--seed", type=int, metavar="N", help="Seed of all schedules. [default: 0]")
@click.option(
    "--plan",
    type=click.Choice(PLANS),
    help="How threads run: one at a time under the gate (controlled), or in real parallel, with"
    " random delays (noise) or without (free); what fails is then proved under the gate. [default:"
    " controlled]",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Make part I of N of the hunt, for `unsnarl merge`; its experiments are made there.",
)
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Make the runs on a dask cluster: tcp://HOST:PORT of its scheduler, or `local` to start"
    " one here.",
)
@click.option(
    "--include",
    multiple=True,
    metavar="PKG",
    help="Also instrument this installed package, or observe this library built with "
    "`unsnarl cc -shared` (repeatable).",
)
@click.option(
    "--switch",
    type=click.Choice(SWITCHES),
    help="Where threads may be switched: only where the interpreter's lock allows it (gil), or "
    "anywhere (free). [default: auto, which tries gil first]",
)
@click.option(
    "--fail-if", metavar="REGEX", help="A run whose output matches has failed, whatever its status."
)
@click.option(
    "--ok-exit",
    type=int,
    multiple=True,
    metavar="N",
    help="An exit status that is no failure, in addition to 0 (repeatable).",
)
@click.option(
    "--heap-errors/--no-heap-errors",
    default=None,
    help="Whether the use of a freed block of a C or C++ program is a failure, also where it does"
    " no harm. [default: yes]",
)
@click.option(
    "--window", type=int, metavar="N", help="Accesses in a pattern's window. [default: 5]"
)
@click.option(
    "--granularity",
    type=click.Choice(GRANULARITIES),
    help="What counts as shared: single attributes and elements, or whole objects. [default: cell]",
)
@click.option(
    "--anti-edges/--no-anti-edges",
    default=None,
    help="Whether a read and the write that ends what it saw are an edge of the graph, which the "
    "papers' graphs do not have. [default: yes]",
)
@click.option(
    "--own-reads/--no-own-reads",
    default=None,
    help="... also if the thread itself had written what it read. [default: yes]",
)
@click.option(
    "--accesses",
    is_flag=True,
    default=None,
    help="Keep every access of the runs that are kept, for `unsnarl simulate-hw`.",
)
@click.option(
    "--unlabelled",
    is_flag=True,
    default=None,
    help="Also rank what is rare, whether or not anything failed.",
)
@click.option(
    "--confirm",
    type=int,
    metavar="N",
    help="Test up to N findings per failure by experiment. [default: 5]",
)
@click.option(
    "--force-python",
    is_flag=True,
    default=None,
    help="Also run in a newer Python than unsnarl knows; says what is not known of it.",
)
@click.option("--no-confirm", is_flag=True, help="Make no experiments: the same as --confirm 0.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[CAMPAIGN]",
    help="Continue a stored campaign: the newest (for COMMAND, if given).",
)
@click.option("-v", "--verbose", is_flag=True, help="Also say where the time went, by phase.")
@click.option("--html", "page", metavar="FILE", help="Also write the report as a page to FILE.")
@click.option(
    "--baseline",
    metavar="FILE",
    help="Keep the findings quiet that FILE has: only others are shown, and fail.",
)
@click.option(
    "--from-anomaly",
    metavar="FILE|URL",
    help="Look first where a watched program did something new: a batch, its first anomaly or #ID.",
)
@click.option("--update-baseline", is_flag=True, help="Write what is found into that FILE.")
@json_option()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def hunt(
    command: tuple[str, ...],
    json_file: str | None,
    resume: str | None,
    *,
    verbose: bool,
    page: str | None,
    baseline: str | None,
    update_baseline: bool,
    from_anomaly: str | None,
    **options: Any,
) -> int:
    """Run a program under many schedules; show what breaks it.

    COMMAND is a Python script, module or pytest call, or a program built with `unsnarl cc`.
    Exits with 1 if a failure was found, with 0 if nothing failed, with 4 if that is inconclusive.
    Ctrl-C (exit 130) or SIGTERM (exit 143) at any time shows what is known so far.

    \b
    Examples:
      unsnarl hunt -- pytest tests/test_queue.py::test_drain
      unsnarl hunt --time 20 -- python script.py
      unsnarl hunt --fail-if 'lost update' -- ./program
    """
    check_json_file(json_file)
    if page is not None:
        check_page_file(page)
    flags = {name.replace("_", "-"): value for name, value in options.items()}
    # The parameter cannot have the option's name: `pass` is a keyword.
    flags["pass"] = flags.pop("passed")
    if flags.pop("no-confirm"):
        flags["confirm"] = 0
    if baseline is None and update_baseline:
        raise UsageError("bad-argument", "--update-baseline needs --baseline FILE")
    quiet = Quiet(baseline, update_baseline) if baseline is not None else None
    return hunt_and_print(
        command,
        flags,
        json_file,
        resume,
        verbose=verbose,
        page=page,
        quiet=quiet,
        from_anomaly=from_anomaly,
    )


class Quiet(NamedTuple):
    """The baseline, and whether it is written anew."""

    file: str
    update: bool = False


def _write_page(file: str, campaign: str) -> None:
    """The answer is there already: what goes wrong here costs the page only."""
    from unsnarl.workflows.page import html_report  # noqa: PLC0415

    try:
        write_page(file, html_report(campaign=campaign))
    except UnsnarlError as error:
        warn(error.slug, error.message, error.hint)


def hunt_and_print(
    command: tuple[str, ...],
    flags: dict[str, Any],
    json_file: str | None,
    resume: str | None = None,
    *,
    verbose: bool = False,
    page: str | None = None,
    quiet: Quiet | None = None,
    from_anomaly: str | None = None,
) -> int:
    """Hunt, print the report; gives the exit code."""
    from unsnarl.workflows import anomaly_lead, baseline  # noqa: PLC0415
    from unsnarl.workflows.hunt import hunt as run  # noqa: PLC0415  heavy; not for --help

    # Found out now, not when a long hunt has ended.
    stored = baseline.load(Path(quiet.file), may_be_missing=quiet.update) if quiet else None
    anomaly = anomaly_lead.load(from_anomaly) if from_anomaly else None
    with PausableProgress(quiet=json_file == "-") as progress:
        is_shown = json_file != "-" and sys.stdout.isatty() and quiet is None
        early = _EarlyAnswer(progress) if is_shown else None
        result = run(
            command,
            flags,
            resume=resume,
            on_progress=progress.take,
            on_answer=early or _no_answer,
            anomaly=anomaly,
        )
    if quiet is not None and stored is not None:
        if quiet.update:
            stored = baseline.updated(result.report, Path(quiet.file), stored)
        result = baseline.applied(result, quiet.file, stored)
    is_begun = early is not None and early.is_printed
    return show_result(result, json_file, verbose=verbose, page=page, is_begun=is_begun)


def show_result(
    result: HuntResult,
    json_file: str | None,
    *,
    verbose: bool = False,
    page: str | None = None,
    is_begun: bool = False,
) -> int:
    """Print the report, or write it where it is wanted; gives the exit code."""
    from unsnarl.reports.render.json import encode  # noqa: PLC0415

    if json_file is not None:
        write_json(json_file, encode(result.report))
    if json_file != "-":
        _print(result.report, verbose, is_begun=is_begun)
    if page is not None:
        _write_page(page, result.report.campaign)
    # Last of all: the answer must be seen even if it could not be stored.
    if result.ends_with is not None:
        raise result.ends_with
    return result.exit_code


def _no_answer(report: Report) -> None:
    """Whoever reads a file or a pipe wants the report in one piece."""


class _EarlyAnswer:
    """Shows a person at a terminal what the failure is, while it is being repaired."""

    def __init__(self, progress: PausableProgress) -> None:
        self._progress = progress
        self.is_printed = False

    def __call__(self, report: Report) -> None:
        from unsnarl.reports.render import terminal  # noqa: PLC0415  rich is slow to load

        with self._progress.paused():
            terminal.print_answer(report, terminal.make_console())
            self.is_printed = True


def _print(report: Report, verbose: bool, *, is_begun: bool = False) -> None:
    """The report as text, or what is left of it; if that fails, what it comes to, and where it is.

    `is_begun`: its first part was printed before.
    """
    from unsnarl.model.report import numbered  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.render import terminal  # noqa: PLC0415  rich is slow to load

    printing = terminal.print_repairs if is_begun else terminal.print_report
    try:
        console = terminal.make_console()
        printing(report, console)
        if verbose:
            terminal.print_timings(report, console)
    except BrokenPipeError:
        raise
    except Exception:
        traceback.print_exc()
        hint = f"the whole report: .unsnarl/{report.campaign}/report.json"
        warn("part-failed", "the report could not be printed; this is a bug in unsnarl", hint)
        for number, failure, finding in numbered(report):
            where = ", ".join(f"{one.file}:{one.line}" for one in finding.points)
            print(f"{number}. {failure.signature}: {finding.status} {finding.id} ({where})")
