# SPDX-License-Identifier: Apache-2.0
"""Housekeeping: list stored campaigns, remove some, and say which settings are in force."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from unsnarl import config
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.stored import beyond, remove, stored_campaigns
from unsnarl.errors import UsageError
from unsnarl.model.stored_campaign import StoredCampaign

DAY = 86400.0


class RemovedCampaigns(msgspec.Struct, frozen=True):
    """What was removed, and the bytes that this freed."""

    names: tuple[str, ...]
    freed: int


class EffectiveSetting(msgspec.Struct, frozen=True):
    """A setting, its value, and where that comes from: a variable, a file or `default`."""

    name: str
    value: object
    source: str


def list_campaigns() -> list[StoredCampaign]:
    """The stored campaigns of this project, newest first."""
    return stored_campaigns(Path.cwd())[::-1]


def remove_campaigns(
    names: Sequence[str] = (),
    *,
    older: float | None = None,
    limit: int | None = None,
    everything: bool = False,
) -> RemovedCampaigns:
    """Remove campaigns by name, by age in days, by the size of all of them, or all.

    Names may be beginnings that only one campaign has.
    """
    folders = stores.campaigns(Path.cwd())
    going = list(folders) if everything else [_named(folders, name) for name in names]
    if older is not None:
        before = time.time() - older * DAY
        going += [one for one in folders if (one / "campaign.json").stat().st_mtime < before]
    if limit is not None:
        going += beyond([one for one in folders if one not in going], limit)
    chosen = list(dict.fromkeys(going))
    return RemovedCampaigns(tuple(one.name for one in chosen), remove(chosen))


def _named(folders: Sequence[Path], name: str) -> Path:
    wanted = Path(name).name
    found = [one for one in folders if one.name == wanted] or [
        one for one in folders if one.name.startswith(wanted)
    ]
    if len(found) != 1:
        which = "more than one campaign is" if found else "there is no campaign"
        raise UsageError("no-campaign", f"{which} named {name!r}", "unsnarl list names them")
    return found[0]


def effective_settings() -> list[EffectiveSetting]:
    """All settings of a hunt that is started here, without flags."""
    root = config.find_root(Path.cwd())
    merged = config.load(root, os.environ, {})
    given = config.sources(root, os.environ)
    return [
        EffectiveSetting(key, getattr(merged, field), given.get(key, "default"))
        for key, (field, _) in config.KEYS.items()
    ]
