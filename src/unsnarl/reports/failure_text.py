# SPDX-License-Identifier: Apache-2.0
"""A failure with its first finding and patch as plain text, for the logs of other tools."""

from __future__ import annotations

from unsnarl.model.report import FailureReport, Report, numbered
from unsnarl.reports.fixes import patch_note
from unsnarl.reports.render.terminal import finding_text


def failure_text(report: Report, failure: FailureReport, width: int = 100) -> str:
    """What `hunt` prints of it, and the one command that repeats it."""
    first = next((one for one in numbered(report) if one.failure is failure), None)
    repeat = f"repeat it: unsnarl replay {report.campaign}/{failure.run.lstrip('0') or 0}"
    if first is None:
        return f"{failure.message}\n{repeat}"
    parts = [finding_text(report, first, width).rstrip()]
    patch = first.finding.patch
    if patch is not None and patch.works:
        parts.append(f"{patch_note(patch, first.number)}\n{patch.diff.rstrip()}")
    return "\n".join([*parts, repeat])
