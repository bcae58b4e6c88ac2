# SPDX-License-Identifier: Apache-2.0
"""The tables of the collector: the same statements for both databases."""

from __future__ import annotations

from unsnarl.collect.databases import Database
from unsnarl.errors import ToolError

VERSION = 1
# Sums are of all times; rows of single instances and days go when they are old.
TABLES = (
    "CREATE TABLE IF NOT EXISTS formats (version BIGINT PRIMARY KEY)",
    # By which a batch that comes twice is noticed.
    """CREATE TABLE IF NOT EXISTS batches (
        id TEXT PRIMARY KEY,
        received DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS programs (
        name TEXT PRIMARY KEY,
        instances BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS instances (
        program TEXT NOT NULL,
        id TEXT NOT NULL,
        version TEXT NOT NULL,
        interpreter TEXT NOT NULL,
        dropped BIGINT NOT NULL,
        overhead DOUBLE PRECISION NOT NULL,
        received DOUBLE PRECISION NOT NULL,   -- its latest batch
        batches BIGINT NOT NULL,
        PRIMARY KEY (program, id))""",
    """CREATE TABLE IF NOT EXISTS anomalies (
        id TEXT PRIMARY KEY,
        program TEXT NOT NULL,
        is_edge BIGINT NOT NULL,
        times BIGINT NOT NULL,                -- of all instances
        score DOUBLE PRECISION NOT NULL,      -- the sum of the instances' scores
        instances BIGINT NOT NULL,
        first_seen DOUBLE PRECISION NOT NULL,
        last_seen DOUBLE PRECISION NOT NULL,
        received DOUBLE PRECISION NOT NULL,   -- by our clock, the latest
        value TEXT NOT NULL,                  -- JSON, model.anomaly.Anomaly: the latest one
        words TEXT NOT NULL)                  -- what a search looks through""",
    # An anomaly in one instance. Counts of a later batch replace those of an earlier one; what
    # that adds to the sums is in the columns that say `gained`.
    """CREATE TABLE IF NOT EXISTS sightings (
        anomaly TEXT NOT NULL,
        instance TEXT NOT NULL,
        version TEXT NOT NULL,
        times BIGINT NOT NULL,
        score DOUBLE PRECISION NOT NULL,
        first_seen DOUBLE PRECISION NOT NULL,
        last_seen DOUBLE PRECISION NOT NULL,
        received DOUBLE PRECISION NOT NULL,
        gained_times BIGINT NOT NULL,
        gained_score DOUBLE PRECISION NOT NULL,
        batches BIGINT NOT NULL,
        PRIMARY KEY (anomaly, instance))""",
    """CREATE TABLE IF NOT EXISTS days (
        anomaly TEXT NOT NULL,
        day BIGINT NOT NULL,                  -- since 1970
        version TEXT NOT NULL,
        times BIGINT NOT NULL,
        PRIMARY KEY (anomaly, day, version))""",
    "CREATE INDEX IF NOT EXISTS batches_received ON batches (received)",
    "CREATE INDEX IF NOT EXISTS instances_received ON instances (received)",
    "CREATE INDEX IF NOT EXISTS anomalies_received ON anomalies (received)",
    "CREATE INDEX IF NOT EXISTS sightings_received ON sightings (received)",
    "CREATE INDEX IF NOT EXISTS days_day ON days (day)",
)


def prepare(database: Database) -> None:
    """Make the tables if they are not there; raises ToolError if a newer version made them."""
    with database.transaction():
        for statement in TABLES:
            database.rows(statement)
        database.rows("INSERT INTO formats VALUES (?) ON CONFLICT DO NOTHING", (VERSION,))
        newest = database.rows("SELECT MAX(version) FROM formats")[0][0]
    if newest > VERSION:
        raise ToolError("store-unusable", f"the store is of a newer version ({newest})")
