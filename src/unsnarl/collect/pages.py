# SPDX-License-Identifier: Apache-2.0
"""The ranked list and the page of one anomaly, as HTML without any script."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlencode

import msgspec

from unsnarl.collect.drawings import lanes, title, trend
from unsnarl.collect.ranking import (
    AnomalyDetail,
    CollectedAnomaly,
    InstanceCount,
    Question,
    RankedAnomaly,
    RankedList,
    VersionCount,
)
from unsnarl.http.page import page, text

ASSETS = ("collect.css",)
HEADS = ("anomaly", "program", "versions", "score", "count", "instances", "last seen", "30 days")
SORTS = {"score": "score", "newest": "first seen", "count": "count", "instances": "instances"}
VERSIONS_MOST = 3  # of a row
BACK = '<p><a href="/">all anomalies</a></p>'


def list_page(
    question: Question, ranked: RankedList, programs: Sequence[str], versions: Sequence[str]
) -> str:
    """All anomalies that match, best first."""
    parts = [
        "<h1>Anomalies</h1>",
        _form(question, programs, versions),
        _list(ranked) if ranked.anomalies else _none(question),
        _neighbours(question, ranked),
    ]
    return page("anomalies · unsnarl", "\n".join(parts), ASSETS)


def detail_page(detail: AnomalyDetail) -> str:
    """One anomaly: its lines, contexts, trend, versions and instances."""
    ranked, anomaly = detail.ranked, detail.anomaly
    parts = [
        BACK,
        f"<h1>{text(title(ranked.points))}</h1>",
        f"<p>{text(_facts(ranked))}</p>",
        lanes(ranked.points),
        "<h2>The last 30 days</h2>",
        trend(ranked.trend, is_large=True),
        _contexts(anomaly),
        _versions(detail.versions),
        _instances(detail.latest, ranked.instances),
        f'<p><a href="/v1/anomalies/{text(ranked.id)}">as JSON</a>, for '
        "<code>unsnarl hunt --from-anomaly</code></p>",
    ]
    return page(f"{title(ranked.points)} · unsnarl", "\n".join(parts), ASSETS)


def error_page(message: str) -> str:
    """What cannot be shown, and why."""
    return page("unsnarl", f"{BACK}\n<p>{text(message)}</p>", ASSETS)


def _form(question: Question, programs: Sequence[str], versions: Sequence[str]) -> str:
    search = (
        '<label>search <input type="search" name="search" maxlength="200" '
        f'value="{text(question.search)}"></label>'
    )
    every = {"": "all"}
    fields = [
        search,
        _select("program", every | {name: name for name in programs}, question.program),
        _select("version", every | {name: name for name in versions}, question.version)
        if question.program
        else "",
        _select("sort", SORTS, question.sort),
        "<button>show</button>",
    ]
    return f'<form method="get" action="/" role="search">{"".join(fields)}</form>'


def _select(name: str, choices: dict[str, str], chosen: str) -> str:
    options = "".join(
        f'<option value="{text(value)}"{" selected" if value == chosen else ""}>{text(shown)}'
        "</option>"
        for value, shown in choices.items()
    )
    return f'<label>{name} <select name="{name}">{options}</select></label>'


def _list(ranked: RankedList) -> str:
    return _table("anomalies", HEADS, [_row(one) for one in ranked.anomalies])


def _row(one: RankedAnomaly) -> list[str]:
    link = f'<a href="/anomaly/{text(one.id)}">{text(title(one.points))}</a>'
    where = " → ".join(f"{point.file}:{point.line}" for point in one.points[:2])
    return [
        f"{link}<br><code>{text(where)}</code>",
        text(one.program),
        text(_named(one.versions)),
        f"{one.overall:.3g}",
        str(one.count),
        f"{one.instances} of {one.of_instances}",
        text(_when(one.last_seen)),
        trend(one.trend),
    ]


def _none(question: Question) -> str:
    if question == Question():
        return "<p>Nothing was sent yet; <code>unsnarl watch</code> sends anomalies.</p>"
    return "<p>Nothing matches.</p>"


def _neighbours(question: Question, ranked: RankedList) -> str:
    """Which part of the list this is, and the ways to the others."""
    begin, end = question.offset, question.offset + len(ranked.anomalies)
    links = [f"{begin + 1} to {end} of {ranked.total}"] if end > begin else []
    if begin:
        links.append(_link("previous", question, max(begin - question.limit, 0)))
    if end < ranked.total and end > begin:
        links.append(_link("next", question, end))
    return f"<p>{' · '.join(links)}</p>"


def _link(name: str, question: Question, offset: int) -> str:
    usual = msgspec.to_builtins(Question())
    asked = msgspec.to_builtins(msgspec.structs.replace(question, offset=offset))
    given = {key: value for key, value in asked.items() if value != usual[key]}
    return f'<a href="/?{text(urlencode(given))}">{name}</a>'


def _facts(one: RankedAnomaly) -> str:
    parts = [
        one.program,
        f"score {one.overall:.3g}",
        f"seen {one.count} times in {one.instances} of {one.of_instances} instances",
        f"from {_when(one.first_seen)} to {_when(one.last_seen)} UTC",
    ]
    if one.edge:
        parts.append("the baseline does not have these two lines together")
    return " · ".join(parts)


def _contexts(anomaly: CollectedAnomaly) -> str:
    """What the two threads had seen before."""
    rows = [
        [text(one.source or "nothing"), text(one.sink or "nothing"), str(one.count)]
        for one in anomaly.contexts
    ]
    heads = ("before the first access", "before the second", "count")
    return _section("Contexts that the baseline does not have", "contexts", heads, rows)


def _versions(versions: Sequence[VersionCount]) -> str:
    rows = [
        [
            text(one.version or "none"),
            str(one.instances),
            str(one.count),
            text(_when(one.first_seen)),
            text(_when(one.last_seen)),
        ]
        for one in versions
    ]
    heads = ("version", "instances", "count", "first seen", "last seen")
    return _section("Versions", "versions", heads, rows)


def _instances(latest: Sequence[InstanceCount], total: int) -> str:
    rows = [
        [
            f"<code>{text(one.instance)}</code>",
            text(one.version or "none"),
            str(one.count),
            f"{one.score:.3g}",
            text(_when(one.last_seen)),
        ]
        for one in latest
    ]
    named = "Instances" if total <= len(latest) else f"The latest of {total} instances"
    heads = ("instance", "version", "count", "score", "last seen")
    return _section(named, "instances", heads, rows)


def _section(name: str, kind: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"<h2>{name}</h2>\n{_table(kind, heads, rows)}" if rows else ""


def _table(kind: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML; on a narrow screen each is named by its head."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "\n".join(
        "<tr>"
        + "".join(
            f'<td data-head="{name}">{cell}</td>' for name, cell in zip(heads, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'


def _named(versions: Sequence[str]) -> str:
    more = len(versions) - VERSIONS_MOST
    return ", ".join(versions[:VERSIONS_MOST]) + (f" and {more} more" if more > 0 else "")


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))
