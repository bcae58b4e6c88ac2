# SPDX-License-Identifier: Apache-2.0
"""What was reproduced becomes runs of the record's campaign, like those of a hunt."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as with_fields

from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import HUNT
from unsnarl.execution.trials import Trial, fresh_plans, replaying
from unsnarl.model.plan import Plan
from unsnarl.model.run import RunRecord
from unsnarl.replay.target_process import TargetProcess
from unsnarl.reproduce.recorded import Case

# Runs to compare it with: an analysis needs to know what is usual.
COMPARED = 24


def keep_reproduced(
    store: Store, process: TargetProcess, case: Case, trial: Trial
) -> RunRecord | None:
    """Repeat a try by its schedule alone, and keep that run; None if it does not fail this time."""
    assert trial.run is not None
    repeated = replaying(trial.run, case.run.seed, switch=trial.plan.switch)
    (kept,) = _keep(store, process, case, [repeated])
    return kept


def keep_compared(store: Store, process: TargetProcess, case: Case) -> int:
    """Fresh runs, kept if they pass or fail as recorded; gives how many."""
    seed = f"compared/{case.run.number}"
    plans = fresh_plans(seed, COMPARED, switch=case.run.switch)
    return sum(one is not None for one in _keep(store, process, case, plans))


def _keep(
    store: Store, process: TargetProcess, case: Case, plans: Sequence[Plan]
) -> list[RunRecord | None]:
    first = 1 + max(one.record.number for one in store.runs())
    numbers = range(first, first + len(plans))
    files = [store.run_file(number) for number in numbers]
    # These runs are stored for people to read, so pytest prints the tracebacks that trials go
    # without (docs/adr/0016).
    trials = process.trials.run((with_fields(plan, brief=False) for plan in plans), files)
    kept: list[RunRecord | None] = []
    for number, trial in zip(numbers, trials, strict=True):
        wanted = trial.label == "pass" or case.is_met_by(trial)
        usable = trial.run is not None and wanted
        record = trial.record(number)
        if usable:
            store.add(record, HUNT, True)
        kept.append(record if usable else None)
    store.sweep()
    return kept
