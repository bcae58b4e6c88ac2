# SPDX-License-Identifier: Apache-2.0
"""A hunt from the command line to the printed answer."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from unsnarl import config
from unsnarl.campaigns import outcome, store, target
from unsnarl.campaigns.campaign import Campaign
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.campaigns.labels import Labeller
from unsnarl.campaigns.replays import Replays
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.target import Target
from unsnarl.cli import analysis
from unsnarl.cli.progress import showing
from unsnarl.cli.shared import code_changed, write_json
from unsnarl.config import Settings
from unsnarl.errors import EXIT_INTERRUPTED, UnsnarlError
from unsnarl.experiments.constraints import Constraint
from unsnarl.experiments.prove import Prover
from unsnarl.model.finding import Report
from unsnarl.reports.details import DetailedReport
from unsnarl.reproduce.replay import keep_schedules


class Session:
    """One call of `unsnarl hunt`."""

    def __init__(self, target: Target, settings: Settings, store: Store, resumed: bool) -> None:
        self.target = target
        self.settings = settings
        self.store = store
        self._resumed = resumed
        self._constraints: Mapping[int, Sequence[Constraint]] = {}

    @classmethod
    def fresh(cls, command: tuple[str, ...], flags: Mapping[str, Any]) -> Session:
        """A new campaign in the current directory."""
        cwd = Path.cwd()
        # Settings before the interpreter is asked: a typing error should show at once.
        settings = config.load(config.find_root(cwd), os.environ, flags)
        Labeller(cwd, settings.fail_if)
        found = target.parse(command, cwd)
        if found.kind == "program":
            # There is no interpreter's lock: threads may be switched anywhere.
            settings = dataclasses.replace(settings, switch="free")
        made = Store.create(
            cwd,
            command,
            cwd,
            found.root,
            options=dataclasses.asdict(settings),
            python=found.python.version,
        )
        return cls(found, settings, made, False)

    @classmethod
    def resumed(cls, command: tuple[str, ...], name: str, flags: Mapping[str, Any]) -> Session:
        """A stored campaign; flags given now override those stored."""
        cwd = Path.cwd()
        opened = Store.open(store.find(cwd, name, command))
        stored = opened.description
        settings = config.override(stored.options, flags)
        found = target.parse(stored.command, Path(stored.cwd))
        return cls(found, settings, opened, True)

    def hunt(self, json_file: str | None) -> int:
        """Collect runs, rank, print; gives the exit code."""
        with showing(quiet=json_file == "-") as progress:
            campaign = Campaign(self.store, self.target, self.settings, progress)
            if self._resumed:
                campaign.resume()
            try:
                report, code = self._answer(campaign)
            except KeyboardInterrupt:
                raise self._interrupted(campaign) from None
            finally:
                self.store.sweep()
        # The answer first: it must not be lost if it cannot be stored.
        self._print(report, json_file)
        analysis.save_report(self.store, report)
        keep_schedules(self.store, self._constraints)
        self.store.close()
        return code

    def _answer(self, campaign: Campaign) -> tuple[DetailedReport, int]:
        settings = self.settings
        start = time.monotonic()
        before = self._stored_codes()
        with Engine(self.target, self.store.folder, settings.jobs, settings.include) as engine:
            self._check_codes(before)
            stop = campaign.run(engine)
            figures = analysis.Figures(
                tally=campaign.tally,
                modules=engine.ready.modules,
                sites=engine.ready.probes,
                warnings=outcome.notices(campaign, stop, engine),
                seconds=time.monotonic() - start,
            )
            replays = Replays(self.store, engine, settings.timeout)
            judge = Judge(self.target.root, self.store.folder / "codes.json", settings.fail_if)
            confirm = settings.confirm
            prover = Prover(engine, judge, self.store.folder, settings.timeout, findings=confirm)
            wanted = analysis.Wanted(unlabelled=settings.unlabelled, prover=prover)
            report = analysis.make_report(self.store, figures, replays, wanted)
            self._constraints = prover.constraints
            seconds: dict[str, float] = {"hunt": figures.seconds, **prover.seconds}
            report = replace(report, seconds=time.monotonic() - start, timings=seconds)
        return report, outcome.exit_code(campaign, stop, engine)

    def _stored_codes(self) -> bytes:
        codes = self.store.folder / "codes.json"
        return codes.read_bytes() if self._resumed and codes.exists() else b""

    def _check_codes(self, before: bytes) -> None:
        """The runs of a campaign count sites by one list of them."""
        codes = self.store.folder / "codes.json"
        if before and codes.read_bytes() != before:
            codes.write_bytes(before)
            raise code_changed(self.store.name)

    def _interrupted(self, campaign: Campaign) -> UnsnarlError:
        return UnsnarlError(
            "interrupted",
            f"interrupted; {campaign.tally.total} runs are stored in {self.store.folder}",
            f"go on with: unsnarl hunt --resume {self.store.name}",
            EXIT_INTERRUPTED,
        )

    def _print(self, report: Report, json_file: str | None) -> None:
        from unsnarl.reports import json, terminal  # noqa: PLC0415  rich is slow to load

        if json_file is not None:
            write_json(json_file, json.encode(report))
        if json_file != "-":
            terminal.print_report(report, terminal.make_console())
