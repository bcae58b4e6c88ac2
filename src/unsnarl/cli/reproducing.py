# SPDX-License-Identifier: Apache-2.0
"""From a record to the schedule that fails every time, and to what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from unsnarl import config
from unsnarl.campaigns.replays import Replays
from unsnarl.campaigns.store import Store
from unsnarl.cli import analysis
from unsnarl.cli.progress import counting
from unsnarl.cli.shared import code_changed, hooks_replaced, write_json
from unsnarl.errors import (
    EXIT_FAILURE_FOUND,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    UnsnarlError,
)
from unsnarl.experiments.constraints import Constraint
from unsnarl.experiments.prove import Prover
from unsnarl.model.run import RunRecord
from unsnarl.reports import json
from unsnarl.reports.details import DetailedReport
from unsnarl.reports.terminal import make_console, numbered, print_finding
from unsnarl.reproduce import keeping, recorded
from unsnarl.reproduce.again import Again, again, find_run
from unsnarl.reproduce.methods import REPLAYS, Outcome, method
from unsnarl.reproduce.replay import keep_schedules


class Reproduction:
    """One call of `unsnarl reproduce`."""

    def __init__(self, word: str, name: str, *, explains: bool) -> None:
        folder, number = find_run(Path.cwd(), word)
        self._name = name
        self._explains = explains
        self._store = Store.open(folder)
        self._case = recorded.load(self._store, number)
        self._constraints: Mapping[int, Sequence[Constraint]] = {}

    def run(self, tries: int, json_file: str | None) -> int:
        """Search, print; gives the exit code."""
        store = self._store
        report: DetailedReport | None = None
        interrupted: UnsnarlError | None = None
        try:
            how = self._case.record.how
            with again(store, branches=how.branches, loops=how.loops) as process:
                if not process.is_unchanged:
                    raise code_changed(store.name)
                outcome, run = self._search(process, tries, quiet=json_file == "-")
                if run is not None and self._explains:
                    try:
                        report = self._explained(process, run.signature)
                    except KeyboardInterrupt:
                        interrupted = _interrupted("while its cause was looked for")
            if run is not None:
                keep_schedules(store, self._constraints)
        finally:
            store.close()
        self._tell(outcome, run, report, json_file)
        if interrupted is not None:
            raise interrupted
        return EXIT_INCONCLUSIVE if run is None else EXIT_FAILURE_FOUND

    def _search(
        self, process: Again, tries: int, *, quiet: bool
    ) -> tuple[Outcome, RunRecord | None]:
        """What the method finds, and the run that is kept of it."""
        case, made = self._case, 0

        def progress(number: int) -> None:
            nonlocal made
            made = number
            count(number)

        try:
            with counting(tries, quiet=quiet) as count:
                outcome = method(self._name)(case, process, tries, progress)
            if outcome.trial is None:
                return outcome, None
            run = keeping.keep_reproduced(self._store, process, case, outcome.trial)
        except KeyboardInterrupt:
            raise _interrupted(f"after {plural_tries(made)}; not reproduced so far") from None
        # One more replay than all that failed did not: then it does not always fail.
        return (outcome, run) if run is not None else (outcome.flaked(), None)

    def _explained(self, process: Again, signature: str) -> DetailedReport:
        """What a hunt would say of it: the run beside others, and the experiments."""
        store, case = self._store, self._case
        keeping.keep_beside(store, process, case)
        settings = config.override(store.description.options, {})
        prover = Prover(
            process.trials.engine,
            process.trials.judge,
            process.codes.parent,
            settings.timeout,
            findings=settings.confirm,
        )
        wanted = analysis.Wanted(prover=prover, signature=signature)
        figures = analysis.stored_figures(store, analysis.stored_tally(store))
        replays = Replays(store, process.trials.engine, settings.timeout)
        report = analysis.make_report(store, figures, replays, wanted)
        analysis.save_report(store, report)
        self._constraints = prover.constraints
        return report

    def _tell(
        self,
        outcome: Outcome,
        run: RunRecord | None,
        report: DetailedReport | None,
        json_file: str | None,
    ) -> None:
        if json_file is not None:
            document = msgspec.json.encode(self._document(outcome, run, report))
            write_json(json_file, msgspec.json.format(document, indent=1) + b"\n")
        if json_file == "-":
            return
        for line in self._lines(outcome, run):
            click.echo(line)
        if report is not None and numbered(report):
            print_finding(report, 1, make_console())
        if run is not None:
            click.echo(self._next(run, report))

    def _document(
        self, outcome: Outcome, run: RunRecord | None, report: DetailedReport | None
    ) -> dict[str, Any]:
        case = self._case
        how = {name: getattr(case.record.how, name) for name in ("level", "order")}
        return {
            "version": 1,
            "campaign": self._store.name,
            "record": {"run": case.run.number, "signature": case.run.signature, **how},
            "method": self._name,
            "reproduced": run is not None,
            "ending": "not-reproduced" if run is None else "reproduced",
            "tries": outcome.tries,
            "run": None if run is None else run.number,
            "replays": {"failed": outcome.replayed, "runs": REPLAYS if outcome.trial else 0},
            "flaky": outcome.flaky,
            "dropped": case.dropped,
            "replaced": case.replaced,
            **outcome.facts,
            "report": None if report is None else msgspec.Raw(json.encode(report)),
        }

    def _lines(self, outcome: Outcome, run: RunRecord | None) -> list[str]:
        case, tries = self._case, plural_tries(outcome.tries)
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
        failed = f"its schedule failed as recorded in {outcome.replayed} of {REPLAYS} replays"
        return [*lines, f"reproduced in {tries}: run {run.number}; {failed}", *outcome.lines]

    def _next(self, run: RunRecord, report: DetailedReport | None) -> str:
        name = self._store.name
        further = f" · unsnarl show 1 {name}" if report is not None and numbered(report) else ""
        return f"  next: unsnarl replay {name}/{run.number}{further}"


def plural_tries(number: int) -> str:
    """`1 try`, `2 tries`."""
    return f"{number} tr{'y' if number == 1 else 'ies'}"


def _interrupted(when: str) -> UnsnarlError:
    return UnsnarlError("interrupted", f"interrupted {when}", "", EXIT_INTERRUPTED)
