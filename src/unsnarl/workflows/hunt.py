# SPDX-License-Identifier: Apache-2.0
"""Hunt: run a target under many schedules, rank what breaks it, test it by experiment."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from unsnarl import config
from unsnarl.campaigns import outcome
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.campaign import Campaign, Stop
from unsnarl.campaigns.captures import Captures
from unsnarl.campaigns.merging import Merged
from unsnarl.campaigns.signature_split import split_signatures, stored_split
from unsnarl.campaigns.stdin import keep_stdin
from unsnarl.campaigns.store import Store
from unsnarl.config import Settings
from unsnarl.errors import EXIT_INTERRUPTED, EXIT_TERMINATED, Terminated, UnsnarlError
from unsnarl.execution import functions, target
from unsnarl.execution.budget import Budget
from unsnarl.execution.labels import Labeller
from unsnarl.execution.runner import Runner, started
from unsnarl.execution.target import Target
from unsnarl.execution.trials import TRIALS
from unsnarl.experiments.fix import FixSearch
from unsnarl.experiments.prove import Prover
from unsnarl.model.anomaly import Anomaly
from unsnarl.model.constraint import Constraint
from unsnarl.model.report import Notice, Report
from unsnarl.model.sources import Sources
from unsnarl.replay.replayer import keep_schedules
from unsnarl.runfile import SiteTable
from unsnarl.runfile.codes import LATE_SUFFIX
from unsnarl.workflows import anomaly_lead, campaign_report
from unsnarl.workflows.campaign_report import Figures, ProvenReport, Request, code_changed
from unsnarl.workflows.fix import certified, patched, screened
from unsnarl.workflows.housekeeping import tidied, tidy
from unsnarl.workflows.progress import Display, OnProgress, both, ignore
from unsnarl.workflows.progress_file import IMPORTING, ProgressFile
from unsnarl.workflows.unfinished import FailureFiles

# Where runs are long, the time for the proof is that of so many runs, one after the other.
PROOF_RUNS = 150
# What looking for a patch may take, as shares of the answer's time: the last one is begun after 12
# of 25 seconds; one that survives may be run until all but the last three, in which a simulated fix
# is certified. Where no patch survives, 15 seconds are enough for both. `unsnarl fix` goes on.
BEGINNING, PATCHES, REPAIRS = 0.48, 0.88, 0.6
# Shards that a warning names.
MOST_SHARDS = 5
# For schedules that were not stored in the time of the hunt.
STORING_SECONDS = 3.0


@dataclasses.dataclass(frozen=True)
class HuntResult:
    """What a hunt found.

    Attributes:
        exit_code: 1 a failure was found, 0 nothing failed, 4 inconclusive.
        ends_with: Why the hunt is not complete (interrupted, or the report could not be stored); to
            be raised once the report has been shown.
    """

    report: Report
    exit_code: int
    ends_with: UnsnarlError | None = None


def hunt(
    command: tuple[str, ...],
    flags: Mapping[str, Any] | None = None,
    *,
    resume: str | None = None,
    on_progress: OnProgress = ignore,
    on_answer: Callable[[Report], None] = ignore,
    anomaly: Anomaly | None = None,
) -> HuntResult:
    """Hunt for failures of a command.

    Args:
        flags: Settings by the names of `config.KEYS`; they come before the environment's and those
            of pyproject.toml.
        resume: Go on with this stored campaign; "" for the newest one (of `command`, if given).
        on_progress: Called after every run and with everything new that is begun.
        on_answer: Called once failures are explained, before repairs of them are looked for.
        anomaly: Look first where a watched program did something new; the report says whether it
            became a proof.
    """
    begun = time.monotonic()
    if resume is not None:
        hunter = Hunter.resumed(command, resume, flags or {})
    else:
        hunter = Hunter.fresh(command, flags or {})
    hunter.anomaly = anomaly
    hunter.begun = begun
    try:
        result = hunter.hunt(on_progress, on_answer)
        if hunter.settings.plan == config.CONTROLLED:
            return result
        from unsnarl.workflows.led_hunt import prove_freely_found  # noqa: PLC0415  it needs us

        return prove_freely_found(result, hunter, on_progress, on_answer)
    finally:
        hunter.store.close()


class Hunter:
    """One hunt and its campaign."""

    def __init__(self, target: Target, settings: Settings, store: Store, resumed: bool) -> None:
        self.target = target
        self.settings = settings
        self.store = store
        self._resumed = resumed
        self._constraints: Mapping[int, Sequence[Constraint]] = {}
        self._forced: Mapping[int, Sequence[Constraint]] = {}
        self._budget = Budget()
        self._on_answer: Callable[[Report], None] = ignore
        self._explained_after = 0.0
        self._notices: tuple[Notice, ...] = ()
        self.anomaly: Anomaly | None = None
        # The user's time limit is for everything, asking the target's interpreter included.
        self.begun = time.monotonic()
        self._led: list[int] = []
        # Lines, by file and number, at which runs switch in particular.
        self.suspected: Collection[tuple[str, int]] = ()

    @classmethod
    def led(cls, other: Hunter, settings: Settings) -> Hunter:
        """A hunt of the same target, with other settings, in the rest of the time."""
        found, before = other.target, other.store.description
        made = Store.create(
            Path(before.base),
            before.command,
            Path(before.cwd),
            Path(before.root),
            options=dataclasses.asdict(settings),
            python=before.python,
        )
        if found.stdin is not None:
            shutil.copyfile(found.stdin, made.folder / found.stdin.name)
            found = dataclasses.replace(found, stdin=made.folder / found.stdin.name)
        return cls(found, settings, made, False)

    @classmethod
    def fresh(cls, command: tuple[str, ...], flags: Mapping[str, Any]) -> Hunter:
        """A new campaign in the current directory."""
        cwd = Path.cwd()
        # Settings before the interpreter is asked: a typing error should show at once.
        settings = config.load(config.find_root(cwd), os.environ, flags)
        Labeller(cwd, settings.fail_if)
        found = target.parse(command, cwd, force_python=settings.force_python)
        if found.kind == "program" or found.python.is_free_threaded:
            # There is no interpreter's lock: threads may be switched anywhere.
            settings = dataclasses.replace(settings, switch="free")
        if settings.plan != config.CONTROLLED and settings.confirm:
            # The other half is for what follows under the gate (led_hunt.py).
            settings = dataclasses.replace(settings, time=settings.time / 2)
        made = Store.create(
            cwd,
            command,
            cwd,
            found.root,
            options=dataclasses.asdict(settings),
            python=found.python.version,
        )
        # A function has its caller's standard input, which is not ours to read.
        stdin = None if functions.function_of(found.args) else keep_stdin(made.folder)
        found = dataclasses.replace(found, stdin=stdin)
        hunter = cls(found, settings, made, False)
        removed = tidy(cwd, settings)
        hunter._notices = (
            *((tidied(removed, settings),) if removed.names else ()),
            *((Notice("python-forced", found.python.unknown),) if found.python.unknown else ()),
        )
        return hunter

    @classmethod
    def resumed(cls, command: tuple[str, ...], name: str, flags: Mapping[str, Any]) -> Hunter:
        """A stored campaign; flags given now override those stored."""
        opened = Store.open(stores.find(Path.cwd(), name, command))
        stored = opened.description
        settings = config.override(stored.options, flags)
        return cls(opened.target(), settings, opened, True)

    @classmethod
    def merged(cls, merged: Merged, flags: Mapping[str, Any]) -> Hunter:
        """What was put together of shards: no more runs are hunted, the rest is as ever."""
        store = merged.store
        settings = config.override(store.description.options, flags)
        runs = len(store.runs())
        hunter = cls(
            store.target(), dataclasses.replace(settings, max_runs=max(1, runs)), store, True
        )
        hunter._notices = tuple(about_shards(merged))
        return hunter

    def hunt(self, on_progress: OnProgress, on_answer: Callable[[Report], None]) -> HuntResult:
        """Collect runs, rank, store."""
        self._on_answer = on_answer
        file = ProgressFile(self.store.folder)
        file.take(IMPORTING)
        display = Display(both(on_progress, file.take))
        campaign = Campaign(self.store, self.target, self.settings, display.count)
        self._budget = Budget(
            self.settings.time,
            start=self.begun,
            on_change=display.change,
            on_error=FailureFiles(self.store).write,
        )
        if self._resumed:
            campaign.resume()
        try:
            result = self._answer(campaign)
        except KeyboardInterrupt as signal:
            raise self._interrupted(campaign.tally.total, signal) from None
        finally:
            self.store.sweep()
            # What trials left that were dropped when their time was over.
            shutil.rmtree(self.store.folder / TRIALS, ignore_errors=True)
            file.end()
        return self._stored(result, campaign.tally.total)

    def _answer(self, campaign: Campaign) -> HuntResult:
        settings, budget = self.settings, self._budget
        before = self._stored_codes()
        cluster = settings.cluster
        with started(self.target, self.store.folder, settings, cluster=cluster) as runner:
            self._check_codes(before)
            self._lead(campaign)
            runner.distinguish(stored_split(self.store.folder))
            with budget.phase("hunt"):
                stop = self._hunted(campaign, runner)
            if not campaign.is_part:
                runner.distinguish(split_signatures(self.store, campaign.tally))
            figures = Figures(
                tally=campaign.tally,
                modules=runner.ready.modules,
                sites=runner.ready.probes,
                warnings=(
                    *self._notices,
                    *about_part(campaign),
                    *outcome.notices(campaign, stop, runner),
                ),
                seconds=budget.spent,
            )
            # Before the fork server ends: captured values and experiments are further runs of it.
            # No schedule repeats a free run.
            captures = Captures(self.store, None if campaign.is_free else runner, settings.timeout)
            confirm = 0 if campaign.is_part or campaign.is_free else settings.confirm
            prover = Prover(
                runner, self.store.folder, settings.timeout, findings=confirm, budget=budget,
                patches=True,
            )  # fmt: skip
            request = Request(unlabelled=settings.unlabelled, prover=prover, budget=budget)
            with budget.within(self._proof_seconds(campaign, runner)):
                proven = campaign_report.make_proven_report(self.store, figures, captures, request)
                self._constraints, self._forced = proven.constraints, proven.forced
                report, fixes = self._screened(proven) if confirm else (proven.report, {})
            if confirm:
                report = self._repaired(report, fixes, runner)
        report = self._timed(report)
        if self.anomaly is not None:
            said = anomaly_lead.notice(self.anomaly, report, self._led)
            report = replace(report, warnings=(*report.warnings, said))
        total = campaign.tally.total
        ends_with = self._interrupted(total, budget.signal) if budget.signal else None
        return HuntResult(report, outcome.exit_code(campaign, stop, runner), ends_with)

    def _lead(self, campaign: Campaign) -> None:
        """Have runs switch where an anomaly, or the ranking of free runs, points to."""
        if not self.store.codes.exists() or (self.anomaly is None and not self.suspected):
            return
        root = Path(self.store.description.root)
        table = SiteTable.load(self.store.codes, root)
        if self.anomaly is not None:
            self._led = anomaly_lead.sites_of(self.anomaly, table, Sources(root))
        else:
            self._led = table.on_lines(self.suspected)
        campaign.lead(self._led)

    def _timed(self, report: Report) -> Report:
        budget = self._budget
        return replace(
            report,
            seconds=budget.spent,
            timings=dict(budget.phases),
            trials=dict(budget.trials),
            explained=self._explained_after,
        )

    def _explained(self, report: Report) -> None:
        """Hand out what is known by now; whoever shows it must not cost the rest."""
        if report.failures:
            self._explained_after = self._budget.spent
            self._budget.part(
                "report",
                "showing the answer",
                lambda: self._on_answer(self._timed(report)),
                None,
                quick=True,
            )

    def _screened(self, proven: ProvenReport) -> tuple[Report, Mapping[str, FixSearch]]:
        """With fixes in simulation, which patches begin with: the answer is handed out before."""
        self._explained(proven.report)
        before = len(self._budget.unfinished)
        report, fixes = screened(self.store, proven.report, proven.repairs, self._budget)
        missing = tuple(self._budget.unfinished[before:])
        return campaign_report.with_missing(report, missing), fixes

    def _repaired(self, report: Report, fixes: Mapping[str, FixSearch], runner: Runner) -> Report:
        """With patches of the source, each run in a process of its own.

        Where none is found, the simulated fix is certified, for which the process that hunted is
        still there (docs/adr/0044).
        """
        settings, budget = self.settings, self._budget
        before = len(budget.unfinished)
        start = budget.spent
        with budget.within(settings.answer):
            # Patches are run along what failed: its schedules must be there.
            budget.part(
                "patch", "storing schedules",
                lambda: keep_schedules(self.store, self._constraints, forced=self._forced), None,
                quick=True,
            )  # fmt: skip
            beginning = budget.beginning(BEGINNING * settings.answer)
            with budget.share(PATCHES if fixes else 1.0), beginning:
                report = patched(self.store, settings, report, budget, runner)
            left = REPAIRS * settings.answer - (budget.spent - start)
            with budget.within(max(left, (1 - PATCHES) * settings.answer)):
                report = certified(self.store, report, fixes, budget)
        return campaign_report.with_missing(report, tuple(budget.unfinished[before:]))

    def _hunted(self, campaign: Campaign, runner: Runner) -> Stop:
        """Why the hunt ended; an interrupt ends it like a limit, and what it found is reported."""
        try:
            # Of free runs, too: their ranking needs its time, with which it leads what follows.
            proves = self.settings.confirm > 0 and not campaign.is_part
            return campaign.run(runner, proves=proves, begun=self.begun)
        except KeyboardInterrupt as signal:
            if not campaign.tally.total:
                raise
            self._budget.interrupt(signal)
            return "interrupted"

    def _proof_seconds(self, campaign: Campaign, runner: Runner) -> float:
        """What may follow a hunt: the rest of the answer's time, more where runs are long."""
        usual = runner.pace.usual or 0.0
        return max(
            self.settings.answer - campaign.seconds_since_failure,
            self.settings.answer / 2,
            PROOF_RUNS * usual / self.settings.jobs,
        )

    def _stored(self, result: HuntResult, runs: int) -> HuntResult:
        """The result must not be lost if it cannot be stored."""
        try:
            campaign_report.save_report(self.store, result.report)
            if self.settings.plan == config.CONTROLLED:
                keep_schedules(
                    self.store, self._constraints, forced=self._forced, seconds=STORING_SECONDS
                )
        except UnsnarlError as error:
            return dataclasses.replace(result, ends_with=error)
        except KeyboardInterrupt as signal:
            return dataclasses.replace(result, ends_with=self._interrupted(runs, signal))
        finally:
            self.store.close()
        return result

    def _stored_codes(self) -> Mapping[Path, bytes]:
        """The list of sites, and that of late code."""
        codes = self.store.codes
        files = (codes, codes.with_name(codes.name + LATE_SUFFIX)) if self._resumed else ()
        return {file: file.read_bytes() for file in files if file.exists()}

    def _check_codes(self, before: Mapping[Path, bytes]) -> None:
        """The runs of a campaign count sites by one list of them."""
        codes = self.store.codes
        if codes in before and codes.read_bytes() != before[codes]:
            # Starting the target has overwritten the lists that the stored runs need.
            for file, content in before.items():
                file.write_bytes(content)
            raise code_changed(self.store.name)

    def _interrupted(self, runs: int, signal: KeyboardInterrupt) -> UnsnarlError:
        return UnsnarlError(
            "interrupted",
            f"interrupted; {runs} runs are stored in {self.store.folder}",
            f"go on with: unsnarl hunt --resume {self.store.name}",
            EXIT_TERMINATED if isinstance(signal, Terminated) else EXIT_INTERRUPTED,
        )


def about_part(campaign: Campaign) -> Iterator[Notice]:
    """That an answer is one shard's."""
    if campaign.is_part:
        text = (
            f"shard {campaign.settings.shard} of a hunt: ranked by its own runs alone, without "
            "experiments; unsnarl merge puts all shards together"
        )
        yield Notice("one-shard", text)


def about_shards(merged: Merged) -> Iterator[Notice]:
    """What a report of shards says of them."""
    if merged.missing:
        names = ", ".join(merged.missing[:MOST_SHARDS])
        more = len(merged.missing) - MOST_SHARDS
        text = names + (f" and {more} more" if more > 0 else "")
        yield Notice("shards-missing", f"without the runs of {text}")
    if merged.foreign:
        yield Notice(
            "shards-differ",
            f"{merged.foreign} pieces of code are not the same in all shards; points of one line "
            "and column count as one",
        )
    if merged.damaged:
        text = "; ".join(merged.damaged[:MOST_SHARDS])
        yield Notice("damaged-runs", f"skipped: {text}")
