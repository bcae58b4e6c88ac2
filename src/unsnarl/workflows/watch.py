# SPDX-License-Identifier: Apache-2.0
"""The campaigns of a project for whoever watches them: nothing is run, nothing is written."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

import msgspec

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.stored import stored_campaigns
from unsnarl.errors import UsageError
from unsnarl.model.report import Report, numbered
from unsnarl.model.stored_campaign import StoredCampaign
from unsnarl.reports.render import json
from unsnarl.workflows.campaign_report import REPORT
from unsnarl.workflows.page import html_report
from unsnarl.workflows.progress import RunProgress
from unsnarl.workflows.progress_file import progress_of

# Reports that are kept in memory, for lists.
REPORTS = 200


class WatchedCampaign(msgspec.Struct, frozen=True):
    """A campaign with what became of it so far.

    Attributes:
        verdict: In a word or two; "" as long as there is no report.
        findings: How many there are in the report.
        progress: How far its hunt has got, if that is under way.
    """

    stored: StoredCampaign
    verdict: str = ""
    findings: int = 0
    progress: RunProgress | None = None


class RunningHunt(msgspec.Struct, frozen=True):
    """A hunt that is under way."""

    name: str
    progress: RunProgress


class WatchedState(msgspec.Struct, frozen=True):
    """What changes while somebody looks; `revision` differs where a page must be made anew."""

    revision: str
    running: tuple[RunningHunt, ...]


def watched_campaigns() -> list[WatchedCampaign]:
    """All campaigns of this project, newest first."""
    folders = {folder.name: folder for folder in stores.campaigns(Path.cwd())}
    return [
        _watched(one, folders[one.name])
        for one in reversed(stored_campaigns(Path.cwd()))
        if one.name in folders
    ]


def watched_campaign(name: str) -> WatchedCampaign:
    """One of them, by its whole name."""
    found = [one for one in watched_campaigns() if one.stored.name == name]
    if not found:
        raise UsageError("no-campaign", "there is no campaign of this name")
    return found[0]


def watched_report(name: str) -> bytes | None:
    """The HTML report of a campaign; None if none is stored."""
    folder = _folder(name)
    # Without the whole run: that would have to be repeated.
    return html_report(campaign=folder.name, with_trace=False) if _report(folder) else None


def watched_state(name: str = "") -> WatchedState:
    """What is under way, in all campaigns or in one."""
    folders = [one for one in stores.campaigns(Path.cwd()) if name in ("", one.name)]
    progress = {folder: progress_of(folder) for folder in folders}
    running = tuple(RunningHunt(folder.name, one) for folder, one in progress.items() if one)
    state = [(one.name, _stamp(one / REPORT), progress[one] is None) for one in folders]
    return WatchedState(hashlib.sha256(repr(state).encode()).hexdigest()[:16], running)


def _folder(name: str) -> Path:
    """By its whole name alone, since it comes from outside: no path, no beginning."""
    for folder in stores.campaigns(Path.cwd()):
        if folder.name == name:
            return folder
    raise UsageError("no-campaign", "there is no campaign of this name")


def _watched(stored: StoredCampaign, folder: Path) -> WatchedCampaign:
    report = _report(folder)
    progress = progress_of(folder)
    if report is None:
        return WatchedCampaign(stored, progress=progress)
    return WatchedCampaign(stored, _verdict(report), len(numbered(report)), progress)


def _verdict(report: Report) -> str:
    statuses = [one.finding.status for one in numbered(report)]
    if not report.failures:
        return "nothing failed"
    if not statuses:
        return "failed, not explained"
    return "confirmed" if "confirmed" in statuses else "suspected"


def _report(folder: Path) -> Report | None:
    return _decoded(folder / REPORT, _stamp(folder / REPORT))


@lru_cache(maxsize=REPORTS)
def _decoded(path: Path, _: int) -> Report | None:
    try:
        return json.decode(path.read_bytes())
    except (OSError, ValueError):
        return None


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
