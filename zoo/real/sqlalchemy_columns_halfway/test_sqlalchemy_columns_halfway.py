# SPDX-License-Identifier: Apache-2.0
"""A subquery at the level of the module is used by the threads of a server."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, select


@pytest.fixture
def adults():
    person = Table(
        "person",
        MetaData(),
        Column("id", Integer, primary_key=True),
        Column("name", String),
        Column("age", Integer),
    )
    return select(person).where(person.c.age >= 18).subquery("adults")


def test_columns_of_a_subquery_in_threads(adults):
    def query(name):
        return str(select(adults.c.name).where(adults.c.name == name))

    with ThreadPoolExecutor(max_workers=2) as pool:
        statements = list(pool.map(query, ["ann", "bob"], timeout=30))

    assert len(set(statements)) == 1
    assert statements[0].startswith("SELECT adults.name")
    assert adults.c.keys() == ["id", "name", "age"]
