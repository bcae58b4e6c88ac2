# SPDX-License-Identifier: Apache-2.0
"""What was found back becomes runs of the record's campaign, like those of a hunt."""

from __future__ import annotations

from collections.abc import Sequence

from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import HUNT
from unsnarl.experiments.trials import Plan, Trial, fresh_plans, replaying
from unsnarl.model.run import RunRecord
from unsnarl.reproduce.again import Again
from unsnarl.reproduce.recorded import Case

# Runs to compare it with: an analysis wants to know what is usual.
BESIDE = 24


def keep_reproduced(store: Store, process: Again, case: Case, trial: Trial) -> RunRecord | None:
    """Repeat a try by its schedule alone, and keep that run; None if it does not fail this time."""
    assert trial.run is not None
    repeated = {**replaying(trial.run, case.run.seed), "switch": trial.plan["switch"]}
    (kept,) = _keep(store, process, case, [repeated])
    return kept


def keep_beside(store: Store, process: Again, case: Case) -> int:
    """Fresh runs, kept if they pass or fail as recorded; gives how many."""
    seed = f"beside/{case.run.number}"
    plans = fresh_plans(seed, BESIDE, switch=case.run.switch)
    return sum(one is not None for one in _keep(store, process, case, plans))


def _keep(
    store: Store, process: Again, case: Case, plans: Sequence[Plan]
) -> list[RunRecord | None]:
    first = 1 + max(one.record.number for one in store.runs())
    where = dict(enumerate(plans, first))
    trials = process.trials.run(
        {**plan, "brief": False, "keep": str(store.run_file(number))}
        for number, plan in where.items()
    )
    kept: list[RunRecord | None] = []
    for number, trial in zip(where, trials, strict=True):
        wanted = trial.label == "pass" or case.is_met_by(trial)
        usable = trial.run is not None and wanted
        record = trial.record(number)
        if usable:
            store.add(record, HUNT, True)
        kept.append(record if usable else None)
    store.sweep()
    return kept
