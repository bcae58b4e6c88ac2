# SPDX-License-Identifier: Apache-2.0
"""Reading: anomalies ranked over all instances and versions, one of them whole, its trend.

An anomaly's score over all instances is the mean of what they gave it, times 1 + log2((N + 1) /
(n + 1)), where n of the program's N instances have it: as a rare word says more of a text. What
all instances see is more probably missing in the baseline than wrong.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

import msgspec

from unsnarl.collect.databases import Database, Row
from unsnarl.collect.storing import DAY, storable
from unsnarl.model.anomaly import COUNT_MOST, Anomaly, AnomalyPoint

Sort = Literal["score", "newest", "count", "instances"]
TREND_DAYS = 30
INSTANCES_MOST = 50  # shown of one anomaly
CHOICES_MOST = 200  # programs, or versions of one
LIMIT_MOST = 200

OVERALL = "a.score / a.instances * (1 + ln((p.instances + 1.0) / (a.instances + 1.0)) / ln(2.0))"
COLUMNS = (
    f"a.id, a.program, {OVERALL}, a.times, a.instances, p.instances, a.first_seen, a.last_seen, "
    "a.is_edge, a.score / a.instances, a.value"
)
TABLES = "anomalies a JOIN programs p ON p.name = a.program"
ORDERS: dict[Sort, str] = {
    "score": f"{OVERALL} DESC, a.is_edge DESC, a.instances DESC",
    "newest": "a.first_seen DESC",
    "count": "a.times DESC",
    "instances": "a.instances DESC",
}


class Question(msgspec.Struct, frozen=True):
    """Which anomalies are wanted, in which order.

    Attributes:
        search: Words that must all be in its code points, its program's name or its id.
    """

    search: str = ""
    program: str = ""
    version: str = ""
    sort: Sort = "score"
    limit: int = 50
    offset: int = 0


class RankedAnomaly(msgspec.Struct, frozen=True):
    """One row of the list.

    Attributes:
        overall: The score over all instances.
        count: How often all instances together have seen it.
        instances: How many have seen it, of `of_instances` that have sent anything.
        edge: Whether the baseline does not even have the two points together.
        trend: How often it was seen on each of the last 30 days, today last.
    """

    id: str
    program: str
    overall: float
    count: int
    instances: int
    of_instances: int
    first_seen: float
    last_seen: float
    edge: bool
    points: tuple[AnomalyPoint, ...]
    versions: tuple[str, ...] = ()
    trend: tuple[int, ...] = ()


class RankedList(msgspec.Struct, frozen=True):
    """A part of all that match, and how many those are."""

    total: int
    anomalies: tuple[RankedAnomaly, ...]


class CollectedAnomaly(Anomaly, frozen=True, kw_only=True):
    """An anomaly over all instances: sums, the mean of scores, points and contexts of the latest.

    It has all fields of an anomaly as one instance sends it, and these.
    """

    program: str
    versions: tuple[str, ...]
    instances: int
    of_instances: int
    overall: float


class VersionCount(msgspec.Struct, frozen=True):
    """An anomaly in one version of the program."""

    version: str
    instances: int
    count: int
    first_seen: float
    last_seen: float


class InstanceCount(msgspec.Struct, frozen=True):
    """An anomaly in one instance."""

    instance: str
    version: str
    count: int
    score: float
    first_seen: float
    last_seen: float


class DayCount(msgspec.Struct, frozen=True):
    """How often an anomaly was seen on a day, in one version."""

    day: str
    version: str
    count: int


class AnomalyDetail(msgspec.Struct, frozen=True):
    """All that there is of one anomaly."""

    ranked: RankedAnomaly
    anomaly: CollectedAnomaly
    versions: tuple[VersionCount, ...]
    latest: tuple[InstanceCount, ...]


def ranked_anomalies(database: Database, question: Question) -> RankedList:
    """The part of the list that is asked for."""
    condition, values = _condition(question)
    total = database.rows(f"SELECT COUNT(*) FROM {TABLES} WHERE {condition}", values)[0][0]
    order = f"ORDER BY {ORDERS[question.sort]}, a.id LIMIT ? OFFSET ?"
    rows = database.rows(
        f"SELECT {COLUMNS} FROM {TABLES} WHERE {condition} {order}",
        (*values, question.limit, question.offset),
    )
    return RankedList(total, _with_trends(database, [_ranked(row) for row in rows]))


def anomaly_detail(database: Database, id: str) -> AnomalyDetail | None:
    """One anomaly; None if there is none of that id."""
    rows = database.rows(f"SELECT {COLUMNS} FROM {TABLES} WHERE a.id = ?", (storable(id),))
    if not rows:
        return None
    (ranked,) = _with_trends(database, [_ranked(rows[0])])
    value = msgspec.json.decode(rows[0][-1], type=Anomaly)
    versions = database.rows(
        "SELECT version, COUNT(*), SUM(times), MIN(first_seen), MAX(last_seen) FROM sightings "
        f"WHERE anomaly = ? GROUP BY version ORDER BY 5 DESC, 1 LIMIT {CHOICES_MOST}",
        (ranked.id,),
    )
    latest = database.rows(
        "SELECT instance, version, times, score, first_seen, last_seen FROM sightings "
        f"WHERE anomaly = ? ORDER BY last_seen DESC, instance LIMIT {INSTANCES_MOST}",
        (ranked.id,),
    )
    return AnomalyDetail(
        ranked,
        _collected(ranked, value, rows[0][-2]),
        tuple(VersionCount(row[0], row[1], int(row[2]), *row[3:]) for row in versions),
        tuple(InstanceCount(*row) for row in latest),
    )


def trend(database: Database, id: str) -> tuple[DayCount, ...] | None:
    """Day by day, as far back as the store has it; None if there is no such anomaly."""
    if not database.rows("SELECT 1 FROM anomalies WHERE id = ?", (storable(id),)):
        return None
    rows = database.rows(
        "SELECT day, version, times FROM days WHERE anomaly = ? ORDER BY day, version", (id,)
    )
    return tuple(DayCount(day_text(day), version, times) for day, version, times in rows)


def program_names(database: Database) -> list[str]:
    """The programs, those with most instances first."""
    rows = database.rows(
        f"SELECT name FROM programs ORDER BY instances DESC, name LIMIT {CHOICES_MOST}"
    )
    return [name for (name,) in rows]


def version_names(database: Database, program: str) -> list[str]:
    """The versions of a program, that of the latest batch first."""
    rows = database.rows(
        "SELECT version FROM instances WHERE program = ? AND version <> '' "
        f"GROUP BY version ORDER BY MAX(received) DESC, version LIMIT {CHOICES_MOST}",
        (storable(program),),
    )
    return [version for (version,) in rows]


def day_text(day: int) -> str:
    """`2026-11-18`, of a number of days."""
    return time.strftime("%Y-%m-%d", time.gmtime(day * DAY))


def _condition(question: Question) -> tuple[str, tuple[str, ...]]:
    parts, values = ["1 = 1"], []
    for word in storable(question.search.lower()).split():
        parts.append("a.words LIKE ? ESCAPE '!'")
        values.append(f"%{_literal(word)}%")
    if question.program:
        parts.append("a.program = ?")
        values.append(storable(question.program))
    if question.version:
        parts.append("a.id IN (SELECT anomaly FROM sightings WHERE version = ?)")
        values.append(storable(question.version))
    return " AND ".join(parts), tuple(values)


def _literal(word: str) -> str:
    """Of a word: what LIKE matches with it alone."""
    return word.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def _ranked(row: Row) -> RankedAnomaly:
    id, program, overall, times, instances, of_instances, first, last, edge, _, value = row
    return RankedAnomaly(
        id=id,
        program=program,
        overall=overall,
        count=times,
        instances=instances,
        of_instances=of_instances,
        first_seen=first,
        last_seen=last,
        edge=bool(edge),
        points=msgspec.json.decode(value, type=Anomaly).points,
    )


def _with_trends(database: Database, ranked: Sequence[RankedAnomaly]) -> tuple[RankedAnomaly, ...]:
    """With versions, and the counts of the last days."""
    if not ranked:
        return ()
    ids = tuple(one.id for one in ranked)
    among = f"anomaly IN ({', '.join('?' * len(ids))})"
    today = int(time.time()) // DAY
    counts: dict[str, list[int]] = {id: [0] * TREND_DAYS for id in ids}
    days = f"SELECT anomaly, day, times FROM days WHERE {among} AND day > ?"
    for id, day, times in database.rows(days, (*ids, today - TREND_DAYS)):
        counts[id][min(day - today - 1, -1)] += times
    versions: dict[str, list[str]] = defaultdict(list)
    named = (
        f"SELECT anomaly, version FROM sightings WHERE {among} AND version <> '' "
        "GROUP BY anomaly, version ORDER BY anomaly, MAX(last_seen) DESC, version"
    )
    for id, version in database.rows(named, ids):
        versions[id].append(version)
    return tuple(
        msgspec.structs.replace(
            one, versions=tuple(versions[one.id][:CHOICES_MOST]), trend=tuple(counts[one.id])
        )
        for one in ranked
    )


def _collected(ranked: RankedAnomaly, latest: Anomaly, score: float) -> CollectedAnomaly:
    return CollectedAnomaly(
        id=ranked.id,
        score=score,
        count=min(ranked.count, COUNT_MOST),
        first_seen=ranked.first_seen,
        last_seen=ranked.last_seen,
        points=latest.points,
        contexts=latest.contexts,
        bursts=latest.bursts,
        edge=ranked.edge,
        program=ranked.program,
        versions=ranked.versions,
        instances=ranked.instances,
        of_instances=ranked.of_instances,
        overall=ranked.overall,
    )
