# SPDX-License-Identifier: Apache-2.0
"""What is stored in `.unsnarl/`: which campaigns, how large, and how it is kept small."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from unsnarl.campaigns.store import CampaignUse, Description, Store, campaigns
from unsnarl.errors import ToolError
from unsnarl.execution.disk import storing
from unsnarl.model.stored_campaign import StoredCampaign

DAY = 86400.0


def stored_campaigns(cwd: Path) -> list[StoredCampaign]:
    """All campaigns of the project, oldest first."""
    return [_summary(folder) for folder in campaigns(cwd)]


def _summary(folder: Path) -> StoredCampaign:
    size = folder_size(folder)
    try:
        store = Store.open(folder)
    except ToolError as error:
        return StoredCampaign(folder.name, size, damaged=error.message)
    try:
        description: Description = store.description
        records = [one.record for one in store.runs()]
    finally:
        store.close()
    failing = [one for one in records if one.label != "pass"]
    return StoredCampaign(
        name=folder.name,
        size=size,
        created=description.created,
        command=description.command,
        runs=len(records),
        failing=len(failing),
        signatures=tuple(dict.fromkeys(one.signature for one in failing)),
        verifies=description.verifies,
    )


def folder_size(folder: Path) -> int:
    """Bytes of all files below; what disappears meanwhile counts nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except OSError:
            continue
    return total


class Removed(NamedTuple):
    """Campaigns that were removed, those that somebody uses, and the bytes that are free now."""

    gone: list[Path]
    in_use: list[Path]
    freed: int


def remove(folders: Iterable[Path]) -> Removed:
    """Remove campaigns, but for those in use."""
    gone, in_use, freed = list[Path](), list[Path](), 0
    for folder in folders:
        use = CampaignUse(folder)
        try:
            if not use.is_only():
                in_use.append(folder)
                continue
            size = folder_size(folder)
            # The description goes first: a half-removed campaign must not look like a whole one.
            with storing(folder.parent):
                (folder / "campaign.json").unlink(missing_ok=True)
                shutil.rmtree(folder)
        finally:
            use.end()
        gone.append(folder)
        freed += size
    return Removed(gone, in_use, freed)


def older_than(folders: Sequence[Path], days: float) -> list[Path]:
    """Those whose description was written before; never the newest of all."""
    before = time.time() - days * DAY
    return [one for one in folders[:-1] if (one / "campaign.json").stat().st_mtime < before]


def beyond(folders: Sequence[Path], limit: int) -> list[Path]:
    """The oldest of the campaigns, as many as must go so that the others fit; never the newest."""
    sizes = {folder: folder_size(folder) for folder in folders}
    total, going = sum(sizes.values()), []
    for folder in folders[:-1]:
        if total <= limit:
            break
        total -= sizes[folder]
        going.append(folder)
    return going
