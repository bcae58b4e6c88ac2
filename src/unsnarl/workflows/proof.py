# SPDX-License-Identifier: Apache-2.0
"""The proof of a finding: the run that was minimised, with the few orders that matter."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.errors import UsageError
from unsnarl.model.report import NumberedFinding, Replay
from unsnarl.replay.anchors import AnchoredSchedule
from unsnarl.replay.replayer import load_schedule
from unsnarl.workflows.experiment import confirm, minimise
from unsnarl.workflows.show import show


@dataclasses.dataclass(frozen=True)
class StoredProof:
    """A confirmed finding with the schedule that has its constraints."""

    store: Store
    chosen: NumberedFinding
    schedule: AnchoredSchedule


@contextmanager
def proof_of(finding: str, campaign: str = "", seconds: float = math.inf) -> Iterator[StoredProof]:
    """The proof of a finding; it is confirmed and minimised now if the hunt had no time for that.

    Raises:
        UsageError: It is not confirmed, or no small set of orders makes the failure certain.
    """
    _, chosen = show(finding, campaign)
    check_confirmed(chosen, campaign, seconds)
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        yield StoredProof(store, chosen, _schedule(store, chosen, campaign, seconds))
    finally:
        store.close()


def check_confirmed(chosen: NumberedFinding, campaign: str, seconds: float) -> None:
    """Raise unless a finding is confirmed, by the hunt or by an experiment that is made now."""
    if chosen.finding.status == "confirmed":
        return
    found = confirm(chosen.finding.id, campaign, seconds).chosen.finding
    if found.status != "confirmed":
        raise UsageError(
            "not-confirmed",
            f"finding {found.id} is {found.status}, so there is no proof of it",
            found.why or "name another finding: unsnarl rank lists them",
        )


def _schedule(
    store: Store, chosen: NumberedFinding, campaign: str, seconds: float
) -> AnchoredSchedule:
    replay = replay_of(chosen)
    if replay is None:
        replay = replay_of(minimise(chosen.finding.id, campaign, seconds).chosen)
    schedule = load_schedule(store, int(replay.run)) if replay is not None else None
    if schedule is None or not schedule.constraints:
        raise UsageError(
            "no-orders",
            f"no small set of orders makes the failure of finding {chosen.finding.id} certain",
            "its whole schedule can be replayed: unsnarl replay",
        )
    return schedule


def replay_of(chosen: NumberedFinding) -> Replay | None:
    """How its failure came back under its constraints; None if they were not looked for."""
    if chosen.finding.replay is not None:
        return chosen.finding.replay
    is_first = chosen.failure.findings[0] is chosen.finding
    return chosen.failure.replay if is_first else None
