# SPDX-License-Identifier: Apache-2.0
"""`unsnarl record -- COMMAND`: real parallel runs with thread-private logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.progress import showing
from unsnarl.cli.shared import check_json_file, hooks_replaced, json_option, write_json
from unsnarl.errors import warn
from unsnarl.model.choices import LEVELS, ORDERS

if TYPE_CHECKING:
    from unsnarl.workflows.record import RecordResult

MOST_THREADS = 8
OPTIONS = ("level", "order", "fenced", "values", "branches", "noise", "accesses", "until_fail")


@click.command(cls=TargetCommand, context_settings={"allow_interspersed_args": False})
@click.option(
    "--level",
    type=click.Choice(LEVELS),
    default="func",
    show_default=True,
    help="What to log besides locks and threads: nothing (sync), function calls, loop iterations, "
    "both, blocks (lines), or accesses. The more, the slower, and the easier to reproduce.",
)
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    default="clocks",
    show_default=True,
    help="How to order events of different threads: by each core's own clock, or by one counter "
    "under a lock.",
)
@click.option("--fenced", is_flag=True, help="Fence every stamp, not only those of acquired locks.")
@click.option("--values", is_flag=True, help="Also log the values that accesses read and write.")
@click.option("--branches", is_flag=True, help="Also log which way branches go (Python).")
@click.option(
    "--all",
    "accesses",
    is_flag=True,
    help="Also write every access of every thread to a trace, with its address and in one order, "
    "for `unsnarl simulate-hw`. Threads wait for each other at every access.",
)
@click.option("--noise", is_flag=True, help="Delay threads now and then: failures come sooner.")
@click.option(
    "--until-fail",
    type=click.IntRange(min=1),
    metavar="N",
    help="Record up to N runs until one fails; keep only that one.",
)
@click.option("--time", type=float, metavar="SECONDS", help="Stop after this time. [default: 60]")
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="Limit of a single run. [default: 10]"
)
@click.option(
    "--seed",
    type=int,
    metavar="N",
    help="Seed for the program's random numbers and the noise. [default: 0]",
)
@click.option("--include", multiple=True, metavar="PKG", help="As for `unsnarl hunt`.")
@click.option("--fail-if", metavar="REGEX", help="As for `unsnarl hunt`.")
@click.option("--ok-exit", type=int, multiple=True, metavar="N", help="As for `unsnarl hunt`.")
@json_option()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND...")
def record(command: tuple[str, ...], json_file: str | None, **options: Any) -> int:
    """Log a real parallel run, to reproduce its failure later.

    The program runs freely, its threads truly parallel; each logs what it does. Exits with 1 if a
    failure was recorded, with 0 if none was.

    \b
    Examples:
      unsnarl record --until-fail 1000 -- ./program
      unsnarl record --level access -- python script.py
    """
    check_json_file(json_file)
    from unsnarl.reports.render.json import indented  # noqa: PLC0415
    from unsnarl.workflows.record import RecordOptions  # noqa: PLC0415  heavy; not for --help
    from unsnarl.workflows.record import record as run  # noqa: PLC0415

    how = RecordOptions(**{name: options.pop(name) for name in OPTIONS})
    flags = {name.replace("_", "-"): value for name, value in options.items()}
    with showing(quiet=json_file == "-", doing="recording") as on_progress:
        result = run(command, how, flags, on_progress=on_progress, on_warning=warn)
    if json_file is not None:
        write_json(json_file, indented(_document(result)))
    if json_file != "-":
        for line in _lines(result):
            click.echo(line)
    return result.exit_code


def _document(result: RecordResult) -> dict[str, Any]:
    from unsnarl.reports.render.json import plain  # noqa: PLC0415

    return {
        "version": 1,
        "campaign": result.campaign,
        "command": list(result.command),
        "runs": plain(result.runs),
        "record": None if result.kept is None else plain(result.how) | _facts(result),
        "damaged": list(result.damaged),
    }


def _facts(result: RecordResult) -> dict[str, Any]:
    kept = result.kept
    assert kept is not None
    return {
        "run": kept.record.number,
        "label": kept.record.label,
        "signature": kept.record.signature,
        "seconds": kept.record.seconds,
        "events": kept.events,
        "bytes": kept.bytes,
        "dropped": kept.dropped,
        "replaced": kept.replaced,
        "trace": _trace(result),
    }


def _trace(result: RecordResult) -> dict[str, Any] | None:
    kept = result.kept
    if kept is None or kept.trace is None:
        return None
    return {
        "file": str(kept.trace.path),
        "events": kept.trace.events,
        "bytes": kept.trace.bytes,
        "dropped": kept.untraced,
    }


def _lines(result: RecordResult) -> list[str]:
    total, kept = result.runs.total, result.kept
    runs = f"{total} run{'s' if total != 1 else ''} recorded"
    if kept is None:
        return [*result.damaged, f"{runs}, {_nothing_kept(result)}", *_out_of_time(result)]
    size = f"{sum(kept.events.values())} events, {kept.bytes} bytes"
    lines = [
        f"{runs}; run {kept.record.number}: {kept.record.signature or 'it passed'}",
        f"level {result.how.level}, order {result.how.order}: {size} ({_by_thread(kept.events)})",
    ]
    if kept.dropped:
        lines.append(f"{kept.dropped} events had no room [log-dropped]")
    if kept.trace is not None:
        lines.append(f"{kept.trace.events} accesses in {kept.trace.path}, {kept.trace.bytes} bytes")
    if kept.untraced:
        lines.append(f"{kept.untraced} accesses had no room in the trace [trace-dropped]")
    if kept.replaced:
        lines.append(hooks_replaced(kept.replaced))
    if kept.record.label == "pass":
        return lines
    return [*lines, f"  next: unsnarl reproduce {result.campaign}/{kept.record.number}"]


def _nothing_kept(result: RecordResult) -> str:
    from unsnarl.model.run import bound_text  # noqa: PLC0415  heavy; not for --help

    runs = result.runs
    if runs.fail or runs.hang:
        return f"{runs.fail + runs.hang} failed, but no record of a failure could be kept"
    return f"none failed: {bound_text(runs.passed)} [no-failure]"


def _out_of_time(result: RecordResult) -> list[str]:
    return ["the time ran out first [budget-out]"] if result.out_of_time else []


def _by_thread(events: dict[str, int]) -> str:
    most = [f"{path}: {count}" for path, count in events.items()][:MOST_THREADS]
    more = len(events) - len(most)
    return ", ".join(most) + (f", and {more} more threads" if more > 0 else "")
