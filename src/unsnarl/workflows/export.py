# SPDX-License-Identifier: Apache-2.0
"""One finding in the language of another tool."""

from __future__ import annotations

from typing import Literal

from unsnarl.reports.render.dot import dot
from unsnarl.reports.render.json import encode_findings
from unsnarl.workflows.show import show

Format = Literal["dot", "json"]


def export(finding: str, campaign: str = "", form: Format = "dot") -> str:
    """The text of a stored finding: a drawing for Graphviz, or JSON."""
    _, chosen = show(finding, campaign)
    if form == "dot":
        return dot(chosen.finding)
    return encode_findings(chosen.finding.method, (chosen.finding,)).decode()
