# SPDX-License-Identifier: Apache-2.0
"""From failures of free runs to their proof: a hunt under the gate, led by what was ranked.

Free runs leave graphs and patterns like others, so they are ranked like others. But nobody knows
the order in which their threads ran: nothing can be repeated, forced or forbidden. So the lines
that the ranking suspects lead a hunt under the gate, and what fails there in the same way is
proved as ever (docs/adr/0082).
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable

from msgspec.structs import replace

from unsnarl.config import CONTROLLED
from unsnarl.model.report import Finding, Notice, Report
from unsnarl.workflows.campaign_report import save_report
from unsnarl.workflows.hunt import Hunter, HuntResult
from unsnarl.workflows.progress import OnProgress

# Of each failure: what stands in a ranking further down is more likely to mislead.
MOST_FINDINGS = 5


def prove_freely_found(
    free: HuntResult,
    hunter: Hunter,
    on_progress: OnProgress,
    on_answer: Callable[[Report], None],
) -> HuntResult:
    """The proof of what failed in free runs; their own ranking if it does not fail under the gate.

    Args:
        hunter: That made the free runs; the rest of its time is left.
    """
    settings = hunter.settings
    if not free.report.failures or not settings.confirm or free.ends_with is not None:
        return free
    led = Hunter.led(hunter, dataclasses.replace(settings, plan=CONTROLLED))
    led.suspected = suspected_lines(free.report)
    try:
        proved = led.hunt(on_progress, on_answer)
    finally:
        led.store.close()
    seen = {one.signature for one in free.report.failures}
    if seen & {one.signature for one in proved.report.failures}:
        notice = Notice("free-runs", _led_text(free.report))
        return _noted(led, proved, notice)
    # What says nothing of the failure must not be the newest campaign, which others take.
    shutil.rmtree(led.store.folder, ignore_errors=True)
    notice = Notice(
        "not-under-the-gate",
        f"{proved.report.runs.total} runs under the gate did not fail like the free ones: what is "
        "ranked is suspected only",
    )
    return _noted(hunter, free, notice)


def _noted(hunter: Hunter, result: HuntResult, notice: Notice) -> HuntResult:
    """The result with one more warning, which its stored report has as well."""
    report = replace(result.report, warnings=(notice, *result.report.warnings))
    save_report(hunter.store, report)
    return dataclasses.replace(result, report=report)


def suspected_lines(report: Report) -> frozenset[tuple[str, int]]:
    """The lines of the best findings of each failure."""
    findings: list[Finding] = []
    for failure in report.failures:
        findings += failure.findings[:MOST_FINDINGS]
    return frozenset((point.file, point.line) for one in findings for point in one.points)


def _led_text(free: Report) -> str:
    failing = free.runs.total - free.runs.passed
    return (
        f"{failing} of {free.runs.total} free runs failed; their ranking led this hunt: "
        f"unsnarl rank {free.campaign}"
    )
