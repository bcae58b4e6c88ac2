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
from unsnarl.campaigns.stored import DAY, beyond, older_than, remove, stored_campaigns
from unsnarl.errors import UsageError
from unsnarl.model.report import Notice
from unsnarl.model.stored_campaign import StoredCampaign


class RemovedCampaigns(msgspec.Struct, frozen=True):
    """What was removed, the bytes that this freed, and what stays because it is in use."""

    names: tuple[str, ...]
    freed: int
    in_use: tuple[str, ...] = ()


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
    return _removed(list(dict.fromkeys(going)))


def tidy(base: Path, settings: config.Settings) -> RemovedCampaigns:
    """Remove what is too old, then the oldest until the rest fits: at the start of a hunt.

    The newest campaign stays, and so does what somebody uses.
    """
    folders = stores.campaigns(base)
    going = older_than(folders, settings.keep_days) if settings.keep_days else []
    if settings.keep_mb:
        left = [one for one in folders if one not in going]
        going += beyond(left, int(settings.keep_mb * 1e6))
    return _removed(going)


def tidied(removed: RemovedCampaigns, settings: config.Settings) -> Notice:
    """What was removed, in words."""
    count = len(removed.names)
    what = f"{count} campaign{'s were' if count > 1 else ' was'} removed"
    return Notice(
        "campaigns-removed",
        f"{what} from .unsnarl, the oldest first ({removed.freed / 1e6:.1f} MB): they are kept for "
        f"{settings.keep_days} days and up to {settings.keep_mb} MB (keep-days, keep-mb)",
    )


def _removed(chosen: Sequence[Path]) -> RemovedCampaigns:
    done = remove(chosen)
    gone, in_use = (tuple(one.name for one in some) for some in (done.gone, done.in_use))
    return RemovedCampaigns(gone, done.freed, in_use)


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
