# SPDX-License-Identifier: Apache-2.0
"""Findings in the languages of other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from unsnarl.campaigns.store import version
from unsnarl.errors import UsageError
from unsnarl.model.report import NumberedFinding, Report, numbered
from unsnarl.reports.render.dot import dot
from unsnarl.reports.render.github import summary, workflow_commands
from unsnarl.reports.render.json import encode, encode_findings
from unsnarl.reports.render.junit import junit
from unsnarl.reports.render.perfetto import perfetto
from unsnarl.reports.render.sarif import sarif
from unsnarl.workflows.campaign_report import stored_report
from unsnarl.workflows.show import show
from unsnarl.workflows.trace import trace

Format = Literal["dot", "json", "sarif", "junit", "junit-xunit1", "github", "markdown", "perfetto"]
Findings = Sequence[NumberedFinding]

# Forms of a whole report, with the findings to show of it.
WHOLE: dict[str, Callable[[Report, Findings], bytes]] = {
    "sarif": lambda report, findings: sarif(report, findings, version()),
    "junit": lambda report, _: junit(report),
    "junit-xunit1": lambda report, _: junit(report, "xunit1"),
    "github": lambda _, findings: workflow_commands(findings).encode(),
    "markdown": lambda report, findings: summary(report, findings).encode(),
}
# Forms of one finding.
SINGLE: dict[str, Callable[[Report, NumberedFinding], bytes]] = {
    "dot": lambda _, one: dot(one.finding).encode(),
    "json": lambda _, one: encode_findings(one.finding.method, (one.finding,)),
    "perfetto": lambda report, one: perfetto(trace(f"{report.campaign}/{one.failure.run}")),
}


def export(finding: str = "", campaign: str = "", form: Format = "dot") -> bytes:
    """Findings of a stored campaign in another form.

    Args:
        finding: Its id or number; "" for the first finding of each failure, or the first of all
            where the form has room for one only. As JSON, "" gives the whole report.
        campaign: The newest by default.
    """
    report = stored_report(campaign)
    if form == "json" and not finding:
        return encode(report)
    chosen = [show(finding, campaign)[1]] if finding else _first_of_each(report)
    if form in WHOLE:
        return WHOLE[form](report, chosen)
    if not chosen:
        raise UsageError("no-finding", f"campaign {report.campaign} has no finding")
    return SINGLE[form](report, chosen[0])


def _first_of_each(report: Report) -> list[NumberedFinding]:
    return [one for one in numbered(report) if one.finding is one.failure.findings[0]]
