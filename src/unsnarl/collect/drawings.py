# SPDX-License-Identifier: Apache-2.0
"""Lanes and trends, as HTML and SVG that style sheets colour."""

from __future__ import annotations

import time
from collections.abc import Sequence

from unsnarl.collect.ranking import day_text
from unsnarl.collect.storing import DAY
from unsnarl.http.page import text
from unsnarl.model.anomaly import AnomalyPoint

LANES_MOST = 4  # that have a column and a colour
TITLE_MOST = 120
BAR, GAP, HEIGHT = 6, 2, 40


def title(points: Sequence[AnomalyPoint]) -> str:
    """`Cart.total: write in Cart.add, read in Cart.pay`, or what there is of this."""
    variable = next((one.variable for one in points if one.variable), "")
    named = f"{variable}: " if variable else ""
    ends = points if len(points) < 3 else (points[0], points[-1])
    found = named + ", ".join(f"{one.op} in {_function(one)}" for one in ends)
    return found if len(found) <= TITLE_MOST else found[: TITLE_MOST - 1] + "…"


def lanes(points: Sequence[AnomalyPoint]) -> str:
    """One step below the other, those of a thread in a lane of its own."""
    roles = {role: at for at, role in enumerate(dict.fromkeys(one.role for one in points), 1)}
    steps = [_step(number, one, _lane(roles[one.role])) for number, one in enumerate(points, 1)]
    kind = f"lanes-{min(len(roles), LANES_MOST)}"
    return f'<ol class="lanes {kind}">\n' + "\n".join(steps) + "\n</ol>"


def _step(number: int, point: AnomalyPoint, lane: int) -> str:
    named = f"{point.op} {point.variable}".strip()
    return (
        f'<li class="lane-{lane}"><span class="thread">{number} · thread {point.role}</span> '
        f"<code>{text(point.file)}:{point.line}</code> in <code>{text(_function(point))}</code>"
        f"<pre>{text(point.text)}</pre><strong>{text(named)}</strong></li>"
    )


def _lane(at: int) -> int:
    return (at - 1) % LANES_MOST + 1


def _function(point: AnomalyPoint) -> str:
    return point.function or "a module"


def trend(counts: Sequence[int], is_large: bool = False) -> str:
    """A bar for each day, the last one today."""
    most = max(counts, default=0)
    width = len(counts) * (BAR + GAP)
    bars = "".join(_bar(at, count, most, len(counts)) for at, count in enumerate(counts))
    summary = f"{sum(counts)} in {len(counts)} days, at most {most} in one"
    kind = "trend large" if is_large else "trend"
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {HEIGHT}" preserveAspectRatio="none" '
        f'role="img" aria-label="{summary}">{bars}'
        f'<path class="axis" d="M0 {HEIGHT - 0.5} H{width}"/></svg>'
        + (f"<p>{summary}</p>" if is_large else "")
    )


def _bar(at: int, count: int, most: int, days: int) -> str:
    if not count:
        return ""
    height = max(round(count / most * (HEIGHT - 4), 1), 2)
    day = day_text(int(time.time()) // DAY - days + 1 + at)
    return (
        f'<rect x="{at * (BAR + GAP)}" y="{HEIGHT - height}" width="{BAR}" height="{height}">'
        f"<title>{day}: {count}</title></rect>"
    )
