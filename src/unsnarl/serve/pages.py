# SPDX-License-Identifier: Apache-2.0
"""The list of campaigns and the page of one, as HTML; the script changes texts in them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from unsnarl.http.page import page, text
from unsnarl.workflows.progress import RunProgress
from unsnarl.workflows.watch import WatchedCampaign

ASSETS = ("serve.css", "serve.js")
HEADS = ("command", "when", "verdict", "runs", "failing", "findings")
NONE = "<p>No campaigns here yet; <code>unsnarl hunt</code> makes one.</p>"


def list_page(project: str, found: Sequence[WatchedCampaign], revision: str) -> str:
    """All campaigns, newest first."""
    heads = "".join(f'<th scope="col">{head}</th>' for head in HEADS)
    rows = "\n".join(map(_row, found))
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table>"
    body = f"<h1>{text(project)}</h1>\n{table if found else NONE}"
    return _page(f"{project} · unsnarl", body, revision)


def campaign_page(one: WatchedCampaign, revision: str, has_report: bool) -> str:
    """One campaign: what is known of it, and its report in a frame."""
    name = one.stored.name
    progress = f"<p>{_live(one.progress)}</p>" if one.progress else ""
    body = "\n".join(
        [
            '<p><a href="/">all campaigns</a></p>',
            f"<h1><code>{text(_command(one))}</code></h1>",
            f'<section data-name="{text(name)}">',
            f"<p>{text(_facts(one))}</p>",
            progress,
            "</section>",
            _framed(name) if has_report else f"<p>{text(_missing(one))}</p>",
        ]
    )
    return _page(f"{_command(one)} · unsnarl", body, revision, name)


def error_page(message: str) -> str:
    """What cannot be shown, and why."""
    body = f'<p><a href="/">all campaigns</a></p>\n<p>{text(message)}</p>'
    return _page("unsnarl", body, "")


def _page(title: str, body: str, revision: str, campaign: str = "") -> str:
    return page(title, body, ASSETS, {"revision": revision, "campaign": campaign})


def _row(one: WatchedCampaign) -> str:
    name = one.stored.name
    link = f'<a href="/campaign/{text(name)}"><code>{text(_command(one))}</code></a>'
    verdict = _live(one.progress) if one.progress else text(_verdict(one))
    runs, failing = (
        (one.progress.runs, one.progress.failing)
        if one.progress
        else (one.stored.runs, one.stored.failing)
    )
    cells = (
        link,
        text(_when(one)),
        verdict,
        f'<span data-live="runs">{runs}</span>',
        f'<span data-live="failing">{failing}</span>',
        str(one.findings),
    )
    return f'<tr data-name="{text(name)}">' + "".join(f"<td>{one}</td>" for one in cells) + "</tr>"


def _live(progress: RunProgress) -> str:
    """What the script keeps up to date while the hunt runs."""
    doing = text(progress.doing or "hunting")
    counts = "".join(
        f'<span class="count"> · <span data-live="{field}">{getattr(progress, field)}</span> '
        f"{field}</span>"
        for field in ("runs", "failing", "passing", "hanging", "trials")
    )
    return (
        f'<strong class="running">running</strong> <span data-live="doing">{doing}</span>{counts}'
    )


def _facts(one: WatchedCampaign) -> str:
    stored = one.stored
    if stored.damaged:
        return f"{stored.name} · damaged: {stored.damaged}"
    found = f"{one.findings} finding{'' if one.findings == 1 else 's'}"
    parts = [stored.name, _when(one), f"{stored.runs} runs", f"{stored.failing} failing"]
    parts += [_verdict(one), found] if one.verdict else []
    return " · ".join(parts)


def _verdict(one: WatchedCampaign) -> str:
    if one.stored.damaged:
        return "damaged"
    return one.verdict or (
        "verifies " + one.stored.verifies if one.stored.verifies else "no report"
    )


def _missing(one: WatchedCampaign) -> str:
    if one.progress:
        return "The report comes when the hunt has ended."
    return f"There is no report. unsnarl rank {one.stored.name} makes one from the stored runs."


def _framed(name: str) -> str:
    # Without allow-same-origin the report, whatever is in it, has no access to these pages.
    address = f"/campaign/{text(name)}/report"
    return (
        f'<p><a href="{address}">the report alone</a></p>\n'
        f'<iframe title="report" src="{address}" sandbox="allow-scripts" allow="clipboard-write">'
        "</iframe>"
    )


def _command(one: WatchedCampaign) -> str:
    return shlex.join(one.stored.command) or one.stored.name


def _when(one: WatchedCampaign) -> str:
    """`2026-11-18 02:29`, as the campaign noted it."""
    return one.stored.created[:16].replace("T", " ")
