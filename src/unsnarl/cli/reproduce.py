# SPDX-License-Identifier: Apache-2.0
"""`unsnarl reproduce RECORD`: a recorded failure becomes a schedule that fails every time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unsnarl.cli.groups import TargetCommand
from unsnarl.cli.progress import counting
from unsnarl.cli.shared import (
    check_json_file,
    echo_warnings,
    hooks_replaced,
    json_option,
    time_option,
    write_json,
)
from unsnarl.model.choices import REPRODUCTIONS

if TYPE_CHECKING:
    from unsnarl.workflows.reproduce import ReproduceResult

# As in workflows.reproduce, which is too heavy to import for --help.
TRIES = 100


@click.command(cls=TargetCommand)
@click.option(
    "--with",
    "method",
    type=click.Choice(REPRODUCTIONS),
    default=REPRODUCTIONS[0],
    show_default=True,
    help="pres: follow the record, and try both orders where it leaves one open. clap: solve for "
    "an order that explains the logged values or branches.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=TRIES,
    show_default=True,
    metavar="N",
    help="Give up after N runs.",
)
@click.option("--no-explain", is_flag=True, help="Find the schedule only, not its cause.")
@time_option()
@json_option()
@click.argument("record")
def reproduce(
    record: str,
    *,
    method: str,
    tries: int,
    no_explain: bool,
    seconds: float | None,
    json_file: str | None,
) -> int:
    """Turn a recorded failure into a schedule that always fails.

    RECORD is a run of `unsnarl record`, named as for `unsnarl replay`. The schedule found is stored
    as a run of the same campaign, for replay, confirm, minimise and show. Exits with 1 if the
    failure was reproduced, with 4 if it was not.

    \b
    Examples:
      unsnarl reproduce 12
      unsnarl reproduce --with clap --tries 500 20260101-120000/12
    """
    check_json_file(json_file)
    from unsnarl.reports.render.json import indented  # noqa: PLC0415
    from unsnarl.workflows.reproduce import reproduce as run  # noqa: PLC0415  not for --help

    limit = {} if seconds is None else {"seconds": seconds}
    with counting(tries, quiet=json_file == "-") as on_try:
        result = run(record, method, tries, explain=not no_explain, on_try=on_try, **limit)
    if json_file is not None:
        write_json(json_file, indented(_document(result)))
    if json_file != "-":
        _print(result)
    # Last of all: the schedule was found before Ctrl-C, and must be shown.
    if result.interrupted is not None:
        raise result.interrupted
    return result.exit_code


def _document(result: ReproduceResult) -> dict[str, Any]:
    from unsnarl.reports.render.json import as_dict, plain  # noqa: PLC0415

    case, outcome, run = result.case, result.outcome, result.run
    how = {name: getattr(case.record.how, name) for name in ("level", "order")}
    return {
        "version": 1,
        "campaign": result.campaign,
        "record": {"run": case.run.number, "signature": case.run.signature, **how},
        "method": result.method,
        "reproduced": run is not None,
        "ending": "not-reproduced" if run is None else "reproduced",
        "tries": outcome.tries,
        "run": None if run is None else run.number,
        "replays": {"failed": outcome.replayed, "runs": result.replays if outcome.trial else 0},
        "flaky": outcome.flaky,
        "dropped": case.dropped,
        "replaced": case.replaced,
        **outcome.facts,
        "report": None if result.report is None else as_dict(result.report),
        "warnings": [plain(one) for one in result.warnings],
    }


def _print(result: ReproduceResult) -> None:
    from unsnarl.model.report import numbered  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reports.render.terminal import make_console, print_finding  # noqa: PLC0415

    for line in _lines(result):
        click.echo(line)
    echo_warnings(result.warnings)
    findings = numbered(result.report) if result.report is not None else []
    if result.report is not None and findings:
        print_finding(result.report, findings[0], make_console())
    if result.run is not None:
        name = result.campaign
        further = f" · unsnarl show {findings[0].finding.id} {name}" if findings else ""
        click.echo(f"  next: unsnarl replay {name}/{result.run.number}{further}")


def _lines(result: ReproduceResult) -> list[str]:
    case, outcome, run = result.case, result.outcome, result.run
    tries = f"{outcome.tries} tr{'y' if outcome.tries == 1 else 'ies'}"
    how = case.record.how
    lines = [f"recorded (level {how.level}, order {how.order}): {case.run.signature}"]
    if case.dropped:
        lines.append(f"{case.dropped} events had no room in the record [log-dropped]")
    if case.replaced:
        lines.append(hooks_replaced(case.replaced))
    if outcome.flaky:
        lines.append(f"{outcome.flaky} of the schedules found failed sometimes, not always")
    if run is None:
        return [*lines, f"not reproduced in {tries} [not-reproduced]", *outcome.lines]
    failed = f"its schedule failed as recorded in {outcome.replayed} of {result.replays} replays"
    return [*lines, f"reproduced in {tries}: run {run.number}; {failed}", *outcome.lines]
