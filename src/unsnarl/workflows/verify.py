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
from unsnarl.replay.fresh import Hunted, fresh_hunt, fresh_settings
from unsnarl.replay.verify import Verified, exit_code, verify_schedules
from unsnarl.workflows.progress import OnProgress, ignore, tally_listener

__all__ = ["Verified", "VerifyResult", "verify"]


@dataclasses.dataclass(frozen=True)
class VerifyResult:
    """What became of each failure, and what a fresh hunt found.

    `exit_code`: 1 if anything fails, 0 if everything was tested and nothing does, else 4.
    """

    campaign: str
    verified: Sequence[Verified]
    hunted: Hunted
    exit_code: int


def silent() -> AbstractContextManager[OnProgress]:
    """No display."""
    return contextlib.nullcontext(ignore)


def verify(
    campaign: str = "",
    flags: Mapping[str, Any] | None = None,
    *,
    on_verified: Callable[[Verified], None] = ignore,
    hunting: Callable[[], AbstractContextManager[OnProgress]] = silent,
) -> VerifyResult:
    """Replay the stored failing schedules, enforce their constraints, then hunt afresh.

    Args:
        campaign: The newest by default.
        flags: Settings of the fresh hunt, by the names of `config.KEYS`; else the campaign's own.
        on_verified: Called with each failure as soon as it is decided.
        hunting: Entered for the time of the hunt; gives what is called after every run.
    """
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        settings = fresh_settings(store, flags or {})  # a typing error should show at once
        verified = []
        for one in verify_schedules(store):
            verified.append(one)
            on_verified(one)
        with hunting() as on_progress:
            hunted = fresh_hunt(store, settings, tally_listener(on_progress))
        return VerifyResult(store.name, verified, hunted, exit_code(verified, hunted))
    finally:
        store.close()
