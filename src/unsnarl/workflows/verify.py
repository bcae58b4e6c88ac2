# SPDX-License-Identifier: Apache-2.0
"""Verify: after an edit, are a campaign's failures gone?"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.errors import UnsnarlError
from unsnarl.execution.budget import Budget
from unsnarl.model.report import Notice
from unsnarl.replay.fresh import Hunted, fresh_hunt, fresh_settings
from unsnarl.replay.old_rate import old_rates
from unsnarl.replay.verify import Verified, exit_code, settled, verify_schedules
from unsnarl.workflows.progress import Display, OnProgress, both, ignore, tally_listener
from unsnarl.workflows.unfinished import interruption, unfinished_notices

__all__ = ["Verified", "VerifyResult", "verify"]

# Of the whole time; what they do not need is the hunt's.
SHARE_OF_SCHEDULES = 0.6


@dataclasses.dataclass(frozen=True)
class VerifyResult:
    """What became of each failure, and what a fresh hunt found.

    Attributes:
        exit_code: 1 if anything fails, 0 if everything was tested and nothing does, else 4.
        warnings: What the time or an interrupt cut off.
        ends_with: To be raised once the result has been shown, if somebody wanted it early.
    """

    campaign: str
    verified: Sequence[Verified]
    hunted: Hunted
    exit_code: int
    warnings: tuple[Notice, ...] = ()
    ends_with: UnsnarlError | None = None


def silent() -> AbstractContextManager[OnProgress]:
    """No display."""
    return contextlib.nullcontext(ignore)


def verify(
    campaign: str = "",
    flags: Mapping[str, Any] | None = None,
    *,
    on_verified: Callable[[Verified], None] = ignore,
    hunting: Callable[[], AbstractContextManager[OnProgress]] = silent,
    on_progress: OnProgress = ignore,
    overlay: tuple[tuple[str, str], ...] = (),
) -> VerifyResult:
    """Replay the stored failing schedules, enforce their constraints, then hunt afresh.

    Args:
        campaign: The newest by default.
        flags: Settings of the fresh hunt, by the names of `config.KEYS`; else the campaign's own.
            `time` is that of the whole verification.
        on_verified: Called with each failure as soon as it is decided.
        hunting: Entered for the time of the hunt; gives what is called after every run.
        on_progress: Called all the while, before the hunt with what is being done.
        overlay: Files, and the patched ones to run in their stead.
    """
    store = Store.open(stores.find(Path.cwd(), campaign))
    store.overlay = overlay
    try:
        settings = fresh_settings(store, flags or {})  # a typing error should show at once
        budget = Budget(settings.time, on_change=Display(on_progress).change)
        verified = _verified(store, budget, on_verified)
        hunted = Hunted.none("interrupted before the fresh hunt")
        if not budget.is_interrupted:
            with hunting() as shown:
                listener = tally_listener(both(shown, on_progress))
                hunted = fresh_hunt(store, settings, listener, budget)
        return _result(store, verified, hunted, budget, on_verified)
    finally:
        store.close()


def _verified(
    store: Store, budget: Budget, on_verified: Callable[[Verified], None]
) -> list[Verified]:
    """What the stored schedules say; those that they decide are reported at once."""
    found: list[Verified] = []
    try:
        with (
            budget.share(SHARE_OF_SCHEDULES),
            budget.phase("replay", "replaying what failed"),
        ):
            for one in verify_schedules(store, budget):
                found.append(one)
                if one.verdict != "untested":
                    on_verified(one)
                if budget.is_interrupted:
                    break
    except KeyboardInterrupt as raised:
        budget.interrupt(raised)
        budget.note("replay", "replaying the stored schedules", "interrupted")
    return found


def _result(
    store: Store,
    verified: Sequence[Verified],
    hunted: Hunted,
    budget: Budget,
    on_verified: Callable[[Verified], None],
) -> VerifyResult:
    rates = old_rates(store)
    whole = [settled(one, rates.get(one.signature), hunted) for one in verified]
    for one, before in zip(whole, verified, strict=True):
        if before.verdict == "untested":
            on_verified(one)
    return VerifyResult(
        store.name,
        whole,
        hunted,
        exit_code(whole, hunted),
        tuple(unfinished_notices(budget.unfinished)),
        interruption(budget, "before everything was tested"),
    )
