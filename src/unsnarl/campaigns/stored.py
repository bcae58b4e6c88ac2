# SPDX-License-Identifier: Apache-2.0
"""What is stored in `.unsnarl/`: which campaigns, how large, and how it is kept small."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from unsnarl.campaigns.store import Description, Store, campaigns
from unsnarl.errors import ToolError
from unsnarl.execution.disk import storing
from unsnarl.model.stored_campaign import StoredCampaign


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


def remove(folders: Iterable[Path]) -> int:
    """Remove campaigns; gives the bytes that are free now."""
    freed = 0
    for folder in folders:
        freed += folder_size(folder)
        # The description goes first: a half-removed campaign must not look like a whole one.
        with storing(folder.parent):
            (folder / "campaign.json").unlink(missing_ok=True)
            shutil.rmtree(folder)
    return freed


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
