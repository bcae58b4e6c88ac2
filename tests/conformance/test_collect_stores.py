# SPDX-License-Identifier: Apache-2.0
"""Stores of the collector: SQLite and PostgreSQL take and give the same."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from msgspec.structs import replace
from tests.integration.collected import batch, postgresql

from unsnarl.collect import storing
from unsnarl.collect.databases import open_database
from unsnarl.collect.ranking import (
    Question,
    anomaly_detail,
    program_names,
    ranked_anomalies,
    trend,
    version_names,
)
from unsnarl.collect.schema import TABLES, prepare
from unsnarl.errors import ToolError

NOW = time.time()
DAY = 86_400


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    with postgresql() as url:
        yield {"sqlite": str(folder / "store.sqlite"), "postgresql": url}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(stores, request):
    """An empty store."""
    with closing(open_database(stores[request.param])) as one:
        prepare(one)
        with one.transaction():
            for table in TABLES:
                if table.startswith("CREATE TABLE"):
                    one.rows(f"DELETE FROM {table.split()[5]}")
        prepare(one)
        yield one


def add(database, *batches, now=NOW):
    return storing.add(database, batches, now)


def only(database):
    (one,) = ranked_anomalies(database, Question()).anomalies
    return one


def test_later_counts_of_an_instance_replace_earlier_ones(database):
    assert add(database, batch(1, 3, seen=NOW - 9)) == 1
    assert add(database, batch(1, 8, seen=NOW - 5), batch(2, 4, seen=NOW - 5)) == 2
    assert add(database, batch(1, 5, seen=NOW - 7)) == 1  # was on its way for longer
    one = only(database)
    assert (one.count, one.instances, one.of_instances) == (12, 2, 2)
    assert (one.first_seen, one.last_seen) == (NOW - 109, NOW - 5)
    assert sum(one.trend) == 12


def test_a_batch_counts_once_also_within_one_group(database):
    sent = batch()
    assert add(database, sent, sent) == 1
    assert add(database, sent) == 0
    assert only(database).count == 3


def test_all_of_a_group_or_nothing(database):
    bad = replace(batch(), instance=None)
    with pytest.raises(Exception, match=r"(?i)null"):
        add(database, batch(2), bad)
    assert ranked_anomalies(database, Question()).total == 0
    assert add(database, batch(2)) == 1


def test_two_that_write_at_the_same_time_add_up(stores, database, request):
    store = stores[request.node.callspec.params["database"]]

    def write(_):
        with closing(open_database(store)) as mine:
            return sum(add(mine, batch(at % 5, at + 1)) for at in range(40))

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, range(2))) == [40, 40]
    one = only(database)
    assert (one.count, one.instances, one.of_instances) == (36 + 37 + 38 + 39 + 40, 5, 5)
    assert sum(one.trend) == one.count


def test_what_is_unusual_in_few_instances_comes_first(database):
    add(database, *(batch(at, function="Cart.common", score=1.0) for at in range(7)))
    add(database, batch(1, function="Cart.rare", score=1.0))
    add(database, batch(2, function="Cart.dull", score=0.1))
    ranked = ranked_anomalies(database, Question()).anomalies
    assert [one.points[0].function for one in ranked] == ["Cart.rare", "Cart.common", "Cart.dull"]
    assert [one.overall for one in ranked] == pytest.approx([3.0, 1.0, 0.3])


def test_scores_are_the_mean_of_the_latest_of_each_instance(database):
    add(database, batch(1, score=9.0, seen=NOW - 9), batch(2, score=1.0))
    add(database, batch(1, score=2.0, seen=NOW - 1))
    assert only(database).overall == pytest.approx(1.5)
    detail = anomaly_detail(database, only(database).id)
    assert detail.anomaly.score == pytest.approx(1.5)


def test_versions_and_days(database):
    add(database, batch(1, 3, version="1.2", seen=NOW - 3 * DAY))
    add(database, batch(2, 5, version="2.0"), batch(3, 1, version=""))
    one = only(database)
    assert one.versions == ("2.0", "1.2")
    assert (one.trend[-1], one.trend[-4], sum(one.trend)) == (6, 3, 9)
    detail = anomaly_detail(database, one.id)
    assert {row.version: (row.instances, row.count) for row in detail.versions} == {
        "": (1, 1),
        "1.2": (1, 3),
        "2.0": (1, 5),
    }
    assert [day.count for day in trend(database, one.id) if day.version == "1.2"] == [3]
    assert program_names(database) == ["shop"]
    assert set(version_names(database, "shop")) == {"1.2", "2.0"}


def test_there_is_nothing_of_ids_that_nobody_sent(database):
    for id in ("none", "", "\0", "' OR 1=1 --"):
        assert anomaly_detail(database, id) is None
        assert trend(database, id) is None


@pytest.mark.parametrize("word", ["%", "_", "'", '"', "\0", "!", "\\", "?", "%s", "{}"])
def test_a_search_takes_words_as_they_are(database, word):
    add(database, batch(1, function=f"Cart.a{word}z"), batch(1, function="Cart.axz"))
    found = ranked_anomalies(database, Question(search=f"A{word}Z")).anomalies
    assert [one.points[0].function for one in found] == [f"Cart.a{word}z"]


def test_clocks_and_counts_of_others_are_not_believed(database):
    sent = batch(1, 2**53, score=1e300, seen=NOW + 1e6)
    add(database, sent, batch(2, 2**53, score=1e300, seen=100.0))
    one = only(database)
    assert one.last_seen == NOW and one.count == 2 * storing.TIMES_MOST


def test_what_nobody_sends_any_more_goes(database):
    add(database, batch(1, function="Cart.old"), now=NOW - 91 * DAY)
    add(database, batch(1, function="Cart.new", seen=200.0))
    storing.prune(database, NOW, days=90)
    assert only(database).points[0].function == "Cart.new"
    for table, rows in (("batches", 1), ("sightings", 1), ("instances", 1)):
        assert len(database.rows(f"SELECT * FROM {table}")) == rows


def test_beyond_a_number_what_was_not_sent_longest_goes(database):
    for age in range(5):
        add(database, batch(1, function=f"Cart.{age}"), now=NOW - age)
    storing.prune(database, NOW, days=90, most=2)
    ranked = ranked_anomalies(database, Question()).anomalies
    assert {one.points[0].function for one in ranked} == {"Cart.0", "Cart.1"}
    assert len(database.rows("SELECT * FROM sightings")) == 2


def test_tables_of_a_newer_version_are_left_alone(database):
    with database.transaction():
        database.rows("INSERT INTO formats VALUES (99)")
    with pytest.raises(ToolError, match="newer version"):
        prepare(database)
