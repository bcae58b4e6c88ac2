# SPDX-License-Identifier: Apache-2.0
"""One finding of a stored campaign, by its name or number."""

from __future__ import annotations

from unsnarl.errors import UsageError
from unsnarl.model.report import NumberedFinding, Report, numbered
from unsnarl.reports import finding_ids
from unsnarl.workflows.campaign_report import stored_report


def show(finding: str, campaign: str = "") -> tuple[Report, NumberedFinding]:
    """The stored report of a campaign (the newest by default) and one of its findings.

    Args:
        finding: Its id (`length-7c1e`), the digits of it, or its number in the report.
        campaign: Name, path or unique beginning.
    """
    report = stored_report(campaign)
    chosen = finding_ids.find(finding, numbered(report))
    if chosen is None:
        count = len(numbered(report))
        raise UsageError(
            "no-finding",
            f"campaign {report.campaign} has no finding {finding} among its {count}",
            "unsnarl rank lists them",
        )
    return report, chosen
