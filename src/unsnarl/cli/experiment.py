# SPDX-License-Identifier: Apache-2.0
"""An experiment about one finding of a stored campaign, in a new process of its target."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unsnarl import config
from unsnarl.analyses.answer import Answer
from unsnarl.campaigns import store as stores
from unsnarl.campaigns import target
from unsnarl.campaigns.engine import Engine
from unsnarl.campaigns.judging import Judge
from unsnarl.campaigns.replays import Replays
from unsnarl.campaigns.store import Store, storing
from unsnarl.cli import analysis
from unsnarl.cli.shared import code_changed, finding_of
from unsnarl.experiments.prove import Kind, Prover
from unsnarl.model.finding import Finding
from unsnarl.reports.details import DetailedReport
from unsnarl.reports.patterns import FAIL
from unsnarl.reports.terminal import numbered
from unsnarl.runfile import Interner

SCRATCH = "experiment"


def experiment(number: int, campaign: str, kind: Kind) -> DetailedReport:
    """A report of this finding alone, with what the experiment says of it."""
    report, finding = finding_of(number, campaign)
    signature = next(f.signature for _, f, one in numbered(report) if one is finding)
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        with _prover(store, kind) as prover:
            wanted = analysis.Wanted(
                prover=prover,
                signature=signature,
                only=lambda answer, interner: _is_told(answer, interner, finding),
            )
            figures = analysis.stored_figures(store, analysis.stored_tally(store))
            return analysis.make_report(store, figures, Replays(store), wanted)
    finally:
        store.close()


@contextmanager
def _prover(store: Store, kind: Kind) -> Iterator[Prover]:
    """With a new process of the target, whose code must be that of the stored runs."""
    description = store.description
    settings = config.override(description.options, {})
    found = target.parse(description.command, Path(description.cwd))
    folder, codes = store.folder / SCRATCH, store.folder / "codes.json"
    with storing(store.folder):
        folder.mkdir(exist_ok=True)
    try:
        with Engine(found, folder, settings.jobs, settings.include) as engine:
            if (folder / "codes.json").read_bytes() != codes.read_bytes():
                raise code_changed(store.name)
            judge = Judge(found.root, codes, settings.fail_if)
            yield Prover(engine, judge, folder, settings.timeout, findings=1, kinds=(kind,))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_told(answer: Answer, interner: Interner, finding: Finding) -> bool:
    """Whether a finding tells this answer: the same places in the same order."""
    told = [(p.line, p.function, p.op, p.role) for p in finding.points if p.op != FAIL]
    points = [interner.point(line.point) for line in answer.lines]
    roles = [line.role for line in answer.lines]
    return told == [
        (point.site.line, point.site.function, point.op.word, role)
        for point, role in zip(points, roles, strict=True)
    ]
