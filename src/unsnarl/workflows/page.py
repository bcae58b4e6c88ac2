# SPDX-License-Identifier: Apache-2.0
"""The HTML report of a stored campaign."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.store import Store
from unsnarl.errors import UnsnarlError
from unsnarl.model.report import Report
from unsnarl.model.sources import Sources
from unsnarl.model.trace import RunTrace
from unsnarl.reports.page import page
from unsnarl.reports.render.html import html
from unsnarl.reports.render.terminal import make_console, print_report
from unsnarl.workflows.campaign_report import stored_report
from unsnarl.workflows.show import show
from unsnarl.workflows.trace import trace

WIDTH = 100  # of the text that is shown where scripts are off


def html_report(finding: str = "", campaign: str = "", *, with_trace: bool = True) -> bytes:
    """One self-contained HTML file.

    Args:
        finding: Its id or number: what the first screen shows; "" for the first one.
        campaign: The newest by default.
        with_trace: Whether to repeat the failing run for its timeline and its graph.
    """
    report = stored_report(campaign)
    first = show(finding, campaign)[1].number if finding else 1
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        root = Path(store.description.root)
        sources = Sources(root, dict(store.overlay))
        labels = "".join(stored.record.label[0] for stored in store.runs())
    finally:
        store.close()
    events, missing = _trace(report) if with_trace else (None, "")
    shown = page(report, sources, first=first, labels=labels, trace=events, missing=missing)
    return html(shown, _plain(report))


def _trace(report: Report) -> tuple[RunTrace | None, str]:
    """The events of the first failure's run, or why there are none: the rest is shown anyway."""
    run = next((failure.run for failure in report.failures if failure.run), "")
    if not run:
        return None, "no run failed"
    try:
        return trace(f"{report.campaign}/{run}"), ""
    except UnsnarlError as error:
        return None, error.message


def _plain(report: Report) -> str:
    stream = StringIO()
    print_report(report, make_console(stream, WIDTH))
    return stream.getvalue()
