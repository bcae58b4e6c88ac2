# SPDX-License-Identifier: Apache-2.0
"""Work that a thread has left undone: it was asked to stop too early.

`stopping = True` comes before the last look at it in every run, for nothing else ends the loop. So
passing runs have that order as well; what they do not have is how little the loop had done by then.
Where the opposite order does not help, who asks the thread to stop has to wait for its work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from unsnarl.experiments.rules import is_order
from unsnarl.model.event import PRIVATE_SITES, Op, point_of
from unsnarl.model.plan import Match, Rule
from unsnarl.placement.line_points import LinePoints
from unsnarl.placement.occurrence import latest_occurrence
from unsnarl.placement.timeline import Timeline
from unsnarl.runfile import RunFile

# Fewer passing runs do not say what every run does.
LEAST_PASSING = 5
# Of one thread, so much is waited for.
MOST_SITES = 8
# What a site may do to data.
_DATA = (Op.READ, Op.WRITE, Op.CALL)


class Undone(NamedTuple):
    """What a thread did `times` times, and in every passing run at least `usual` times.

    Attributes:
        site: As this run counts it.
    """

    site: int
    times: int
    usual: int


class EarlyStop(NamedTuple):
    """An order after which a thread leaves work undone.

    Attributes:
        early: The path of who asks it to stop.
        late: Its own.
    """

    early: str
    late: str
    undone: Sequence[Undone]


def early_stop(
    run: RunFile, lines: Sequence[LinePoints], passing: Sequence[RunFile]
) -> EarlyStop | None:
    """What an order of two accesses stopped in a traced run; None if nothing is left undone."""
    events = latest_occurrence(Timeline.of(run), lines) if is_order(lines) else []
    if not events or len(events) < len(lines):
        return None
    early, late = (event.path for event in events)
    undone = left_undone(run, passing, late)
    return EarlyStop(early, late, undone) if undone else None


def until_done(stop: EarlyStop, asks: LinePoints) -> list[Rule]:
    """Rules that hold a thread where it asks another one to stop, until that has done its work."""
    hold = Match(asks.holds, path=stop.early)
    return [
        Rule(hold=hold, until=Match(_points(one), stop.late, one.usual))
        for one in stop.undone[-MOST_SITES:]
    ]


def _points(undone: Undone) -> tuple[int, ...]:
    return tuple(point_of(undone.site, op) for op in _DATA)


def left_undone(failing: RunFile, passing: Sequence[RunFile], path: str) -> list[Undone]:
    """Where a thread came to less often than in any passing run."""
    every = [counts for run in passing if (counts := _counts(run, path))]
    if len(every) < LEAST_PASSING:
        return []
    own = _counts(failing, path)
    found = (Undone(site, own.get(site, 0), least) for site, least in _least(every))
    return sorted(one for one in found if one.times < one.usual)


def _least(every: Sequence[dict[int, int]]) -> Iterator[tuple[int, int]]:
    for site in set(every[0]).intersection(*every[1:]):
        yield site, min(counts[site] for counts in every)


def _counts(run: RunFile, path: str) -> dict[int, int]:
    """How often a thread came to each site; without those that are other code in other runs."""
    index = [at for at, thread in enumerate(run.threads) if thread.path == path]
    rows = run.counts[np.isin(run.counts["thread"], index)]
    rows = rows[(rows["site"] > 0) & (rows["site"] < PRIVATE_SITES)]
    return dict(zip(rows["site"].tolist(), rows["count"].tolist(), strict=True))
