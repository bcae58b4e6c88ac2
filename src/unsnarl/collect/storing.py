# SPDX-License-Identifier: Apache-2.0
"""Writing batches into the tables, and taking out what is old."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from unsnarl.collect.databases import Database, Row
from unsnarl.model.anomaly import Anomaly, AnomalyBatch

DAY = 86_400
# A sum of many must fit a column, whatever a single instance claims.
TIMES_MOST = 10**12
SCORE_MOST = 1e12
WORDS_MOST = 4000
ANOMALIES_MOST = 100_000

ADD_BATCH = "INSERT INTO batches VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id"
ADD_INSTANCE = """
INSERT INTO instances VALUES (?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT (program, id) DO UPDATE SET
    version = excluded.version, dropped = excluded.dropped, overhead = excluded.overhead,
    received = excluded.received, batches = instances.batches + 1
RETURNING batches"""
ADD_TO_PROGRAM = """
INSERT INTO programs VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET instances = programs.instances + excluded.instances"""
ADD_SIGHTING = """
INSERT INTO sightings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
ON CONFLICT (anomaly, instance) DO UPDATE SET
    gained_times = CASE WHEN excluded.times > sightings.times
        THEN excluded.times - sightings.times ELSE 0 END,
    gained_score = CASE WHEN excluded.last_seen >= sightings.last_seen
        THEN excluded.score - sightings.score ELSE 0 END,
    times = CASE WHEN excluded.times > sightings.times
        THEN excluded.times ELSE sightings.times END,
    score = CASE WHEN excluded.last_seen >= sightings.last_seen
        THEN excluded.score ELSE sightings.score END,
    version = CASE WHEN excluded.last_seen >= sightings.last_seen
        THEN excluded.version ELSE sightings.version END,
    first_seen = CASE WHEN excluded.first_seen < sightings.first_seen
        THEN excluded.first_seen ELSE sightings.first_seen END,
    last_seen = CASE WHEN excluded.last_seen > sightings.last_seen
        THEN excluded.last_seen ELSE sightings.last_seen END,
    received = excluded.received, batches = sightings.batches + 1
RETURNING gained_times, gained_score, batches"""
ADD_ANOMALY = """
INSERT INTO anomalies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    is_edge = CASE WHEN excluded.is_edge > anomalies.is_edge
        THEN excluded.is_edge ELSE anomalies.is_edge END,
    times = anomalies.times + excluded.times,
    score = anomalies.score + excluded.score,
    instances = anomalies.instances + excluded.instances,
    first_seen = CASE WHEN excluded.first_seen < anomalies.first_seen
        THEN excluded.first_seen ELSE anomalies.first_seen END,
    value = CASE WHEN excluded.last_seen >= anomalies.last_seen
        THEN excluded.value ELSE anomalies.value END,
    words = CASE WHEN excluded.last_seen >= anomalies.last_seen
        THEN excluded.words ELSE anomalies.words END,
    last_seen = CASE WHEN excluded.last_seen > anomalies.last_seen
        THEN excluded.last_seen ELSE anomalies.last_seen END,
    received = excluded.received"""
ADD_TO_DAY = """
INSERT INTO days VALUES (?, ?, ?, ?)
ON CONFLICT (anomaly, day, version) DO UPDATE SET times = days.times + excluded.times"""

BEYOND = "SELECT received, id FROM anomalies ORDER BY received DESC, id DESC LIMIT 1 OFFSET ?"


def add(database: Database, batches: Sequence[AnomalyBatch], now: float) -> int:
    """Store batches, all or none of them; how many were new."""
    with database.transaction():
        rows = [(batch.id, now) for batch in batches]
        added = zip(batches, database.each(ADD_BATCH, rows), strict=True)
        fresh = [batch for batch, row in added if row]
        _add_instances(database, fresh, now)
        _add_anomalies(database, fresh, now)
    return len(fresh)


def _add_instances(database: Database, batches: Sequence[AnomalyBatch], now: float) -> None:
    names = [storable(batch.program.name) for batch in batches]
    rows = [
        (
            name,
            batch.instance,
            storable(batch.program.version),
            storable(batch.program.interpreter),
            batch.dropped,
            min(batch.overhead, SCORE_MOST),
            now,
        )
        for name, batch in zip(names, batches, strict=True)
    ]
    counted = database.each(ADD_INSTANCE, rows)
    new: dict[str, int] = defaultdict(int)
    for name, row in zip(names, counted, strict=True):
        new[name] += row == (1,)
    database.each(ADD_TO_PROGRAM, [(name, count) for name, count in new.items() if count])


def _add_anomalies(database: Database, batches: Sequence[AnomalyBatch], now: float) -> None:
    seen = [(batch, one) for batch in batches for one in batch.anomalies]
    gained = database.each(ADD_SIGHTING, [_sighting(batch, one, now) for batch, one in seen])
    rows: list[Row] = []
    days: dict[Row, int] = defaultdict(int)
    for (batch, one), gain in zip(seen, gained, strict=True):
        assert gain is not None
        times, score, count = gain
        sums = (times, score, int(count == 1))
        rows.append(_anomaly(batch, one, sums, now))
        day = int(min(one.last_seen, now)) // DAY
        days[one.id, day, storable(batch.program.version)] += times
    database.each(ADD_ANOMALY, rows)
    database.each(ADD_TO_DAY, [(*key, times) for key, times in days.items() if times])


def _sighting(batch: AnomalyBatch, one: Anomaly, now: float) -> Row:
    # Clocks of other machines: nothing was seen later than now.
    first, last = min(one.first_seen, now), min(one.last_seen, now)
    times, score = min(one.count, TIMES_MOST), min(one.score, SCORE_MOST)
    version = storable(batch.program.version)
    return (one.id, batch.instance, version, times, score, first, last, now, times, score)


def _anomaly(batch: AnomalyBatch, one: Anomaly, sums: Row, now: float) -> Row:
    first, last = min(one.first_seen, now), min(one.last_seen, now)
    name = storable(batch.program.name)
    value = msgspec.json.encode(one).decode()
    return (one.id, name, int(one.edge), *sums, first, last, now, value, _words(name, one))


def _words(program: str, one: Anomaly) -> str:
    """What a search looks through, in lower case: SQLite knows that of ASCII only."""
    parts = [program, one.id]
    for point in one.points:
        parts += (f"{point.file}:{point.line}", point.function, point.variable, point.text)
    return storable("\n".join(parts).lower())[:WORDS_MOST]


def storable(text: str) -> str:
    """PostgreSQL has no text with a NUL."""
    return text.replace("\0", "\ufffd")


def prune(database: Database, now: float, days: int, most: int = ANOMALIES_MOST) -> None:
    """Take out what nobody has sent for so long, and beyond a number what was not sent longest."""
    before = now - days * DAY
    with database.transaction():
        for table in ("batches", "instances", "sightings", "anomalies"):
            database.rows(f"DELETE FROM {table} WHERE received < ?", (before,))
        database.rows("DELETE FROM days WHERE day < ?", (int(before) // DAY,))
        for limit in database.rows(BEYOND, (most,)):
            database.rows("DELETE FROM anomalies WHERE (received, id) <= (?, ?)", limit)
        for table in ("sightings", "days"):
            gone = "anomaly NOT IN (SELECT id FROM anomalies)"
            database.rows(f"DELETE FROM {table} WHERE {gone}")
