# SPDX-License-Identifier: Apache-2.0
"""`unsnarl replay RUN`: repeat a failing run in a new process."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from unsnarl.cli.shared import check_json_file, json_option, write_json
from unsnarl.errors import EXIT_FAILURE_FOUND, EXIT_INCONCLUSIVE

if TYPE_CHECKING:
    from unsnarl.campaigns.store import Store
    from unsnarl.experiments.trials import Trial
    from unsnarl.model.finding import Report
    from unsnarl.reproduce.again import Again
    from unsnarl.reproduce.replay import Replayed, Replayer

# Nobody must hurry in a debugger.
A_DAY = 86400.0


@click.command()
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
@json_option()
@click.argument("run")
def replay(
    run: str, times: int, debugger: str | None, step: int | None, json_file: str | None
) -> int:
    """Repeat failing run RUN, as it was recorded, in a new process.

    RUN is the run's number, name or file in the newest campaign, or CAMPAIGN/RUN. Where its
    schedule no longer leads to the failure, fresh runs are made under its minimised constraints.
    Exits with 1 if it failed as recorded, with 4 if it did not.
    """
    check_json_file(json_file)
    from unsnarl.campaigns.store import Store  # noqa: PLC0415  heavy; not for --help
    from unsnarl.reproduce.again import find_run  # noqa: PLC0415

    folder, number = find_run(Path.cwd(), run)
    store = Store.open(folder)
    try:
        if debugger or step is not None:
            return _debug(store, number, step, debugger)
        return _repeat(store, number, times, json_file)
    finally:
        store.close()


def _repeat(store: Store, number: int, times: int, json_file: str | None) -> int:
    from unsnarl.reproduce.again import again  # noqa: PLC0415
    from unsnarl.reproduce.replay import load_schedule  # noqa: PLC0415

    schedule = load_schedule(store, number)
    with again(store) as process:
        told, trials = process.repeat(schedule, times)
    if json_file is not None:
        write_json(json_file, _document(store, told))
    if json_file != "-":
        _print(store, told, trials)
    found = told.failed or (told.constrained and told.constrained.failed)
    return EXIT_FAILURE_FOUND if found else EXIT_INCONCLUSIVE


def _document(store: Store, told: Replayed) -> bytes:
    import msgspec  # noqa: PLC0415

    document = {"version": 1, "campaign": store.name, **msgspec.to_builtins(told)}
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def _print(store: Store, told: Replayed, trials: list[Trial]) -> None:
    from unsnarl.reproduce.sentences import remarks  # noqa: PLC0415

    click.echo(f"run {told.run} of {store.name}: {told.signature}")
    if told.failed == told.times:
        click.echo(f"failed as recorded, {told.failed} of {told.times}")
    else:
        click.echo(f"failed as recorded in {told.failed} of {told.times} replays; the others:")
        for signature, count in told.signatures.items():
            if signature != told.signature:
                click.echo(f"  {count}: {signature or 'passed'}")
    for line in remarks(told):
        click.echo(line)
    if told.failed and told.times == 1:
        run = trials[0].run
        text = run.failures[0].text if run is not None and run.failures else ""
        click.echo(text.rstrip() or f"it ended with: {told.signature}")


def _debug(store: Store, number: int, step: int | None, debugger: str | None) -> int:
    from unsnarl.cli.analysis import stored_report  # noqa: PLC0415
    from unsnarl.reproduce.again import again  # noqa: PLC0415
    from unsnarl.reproduce.replay import load_schedule  # noqa: PLC0415

    schedule = load_schedule(store, number)
    with again(store, A_DAY) as process:
        native = process.target.kind == "program"
        _check_debugger(debugger, native)
        replayer = process.replayer(schedule)
        report = stored_report(str(store.folder.resolve()))
        trials = (_in_gdb if native else _in_pdb)(process, replayer, report, step)
        told = replayer.summary(trials)
    click.echo(f"failed as recorded: {told.signature}" if told.failed else "the run was left")
    return EXIT_FAILURE_FOUND if told.failed else EXIT_INCONCLUSIVE


def _check_debugger(debugger: str | None, native: bool) -> None:
    from unsnarl.errors import UsageError  # noqa: PLC0415
    from unsnarl.probes.native.debugger import gdb  # noqa: PLC0415

    right = "gdb" if native else "pdb"
    if debugger not in (None, right):
        language = "C" if native else "Python"
        hint = f"debug it with --{right}"
        raise UsageError("wrong-debugger", f"this is a {language} program", hint)
    if native:
        gdb()


def _in_pdb(process: Again, replayer: Replayer, report: Report, step: int | None) -> list[Trial]:
    from unsnarl.reproduce.debugging import choose_moment, debug_plan  # noqa: PLC0415

    moment = choose_moment(report, replayer, step)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C must not end the run
    try:
        return replayer.follow(1, debug=debug_plan(moment))
    finally:
        signal.signal(signal.SIGINT, before)


def _in_gdb(process: Again, replayer: Replayer, report: Report, step: int | None) -> list[Trial]:
    from unsnarl.probes.native.program import Native  # noqa: PLC0415
    from unsnarl.reproduce import debugging  # noqa: PLC0415
    from unsnarl.runfile import SiteTable  # noqa: PLC0415

    plan, kind = debugging.AT_THE_DEADLOCK, ""
    if step is not None or not debugging.is_deadlock(report, replayer.schedule.signature):
        moment = debugging.choose_moment(report, replayer, step)
        table = SiteTable.load(process.codes, process.target.root)
        plan, kind = debugging.debug_plan(moment), table.site(moment.point >> 4).kind
    program = Native(list(process.target.args), process.setup)
    program.codes()
    return replayer.by_hand(debugging.gdb_run(program, kind), debug=plan)
