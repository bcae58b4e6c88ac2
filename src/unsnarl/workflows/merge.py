# SPDX-License-Identifier: Apache-2.0
"""Merge: put the shards of a hunt together, rank them as one campaign, test that by experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from unsnarl.campaigns.merging import Merged
from unsnarl.campaigns.merging import merge as put_together
from unsnarl.campaigns.store import find_base
from unsnarl.errors import EXIT_FAILURE_FOUND, UnsnarlError
from unsnarl.model.report import Notice, Report
from unsnarl.workflows.campaign_report import rank_anew, save_report
from unsnarl.workflows.hunt import Hunter, HuntResult, about_shards
from unsnarl.workflows.progress import OnProgress, ignore

# Why the target cannot be run here though its runs can be compared.
NOT_HERE = (
    "code-changed", "target-import-failed", "target-not-found", "collection-failed",
    "server-failed",
)  # fmt: skip


def merge(
    folders: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
    *,
    on_progress: OnProgress = ignore,
    on_answer: Callable[[Report], None] = ignore,
) -> HuntResult:
    """Put the shards of a hunt together.

    Args:
        folders: Campaigns, or folders that hold some; none for those of the project.
        flags: Settings of the experiments, by the names of `config.KEYS`.
        on_progress: As of `hunt`; so is `on_answer`.
    """
    cwd = Path.cwd()
    base = find_base(cwd) or cwd
    merged = put_together([cwd / one for one in folders] or [base], base.resolve())
    try:
        return Hunter.merged(merged, flags or {}).hunt(on_progress, on_answer)
    except UnsnarlError as error:
        if error.slug not in NOT_HERE:
            raise
        return _ranked(merged, error)
    finally:
        merged.store.close()


def _ranked(merged: Merged, error: UnsnarlError) -> HuntResult:
    """All that can be said where the target cannot be run as the shards ran it."""
    report = rank_anew(merged.store.name)
    notices = (
        *about_shards(merged),
        Notice("shards-elsewhere", f"no experiment was made: {error.message.splitlines()[0]}"),
    )
    report = msgspec.structs.replace(report, warnings=(*report.warnings, *notices))
    save_report(merged.store, report)
    return HuntResult(report, EXIT_FAILURE_FOUND)
