# SPDX-License-Identifier: Apache-2.0
"""Accesses where code of the target stands in for what the interpreter would do itself."""

from __future__ import annotations

import pytest
from tests.integration.test_accesses import edges_of

pytestmark = pytest.mark.core

PROGRAM = """
    import threading
    {imports}

    {classes}

    def first():
        {first}

    def second():
        {second}

    it = {made}
    for target in (first, second):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
"""
SHELF = """
    class Shelf(dict):
        def __setitem__(self, key, value):
            if value:
                super().__setitem__(key, value)

        def __getitem__(self, key):
            return super().get(key)

        def __len__(self):
            return 0

        def pop(self, key):
            return super().pop(key)
"""
HELPER = """
    class Helper:
        def parse(self, text):
            return None

        def close(self):
            return True

    def real(text):
        return text
"""


def between(tmp_path, classes, made, threads, imports=""):
    """The edges from the first thread to the second, on what they share."""
    first, second = threads
    text = PROGRAM.format(classes=classes, made=made, first=first, second=second, imports=imports)
    return edges_of(tmp_path, text)


@pytest.mark.parametrize("second", ["list(it.values())", "it['a']"])
def test_a_class_stores_where_its_own_method_comes_to_the_container(tmp_path, second):
    (edge,) = between(tmp_path, SHELF, "Shelf()", ("it['a'] = 1", second))
    assert edge == ("WR", "it", "it")


@pytest.mark.parametrize(
    ("first", "second"),
    [("it['a'] = 0", "list(it.values())"), ("it['a'] = 1", "len(it)")],
    ids=["nothing is stored", "nothing is read"],
)
def test_it_may_do_nothing_of_that(tmp_path, first, second):
    assert between(tmp_path, SHELF, "Shelf()", (first, second)) == set()


def test_a_method_of_the_base_is_seen_though_the_class_has_one_of_that_name(tmp_path):
    found = between(tmp_path, SHELF, "Shelf(a=1)", ("it.pop('a')", "list(it.values())"))
    assert [edge[0] for edge in found] == ["WR"]


def test_a_method_that_an_object_has_instead_of_that_of_its_class(tmp_path):
    found = between(tmp_path, HELPER, "Helper()", ("it.parse = real", "it.parse('a')"))
    assert ("WR", "Helper.parse", "Helper.parse") in found


def test_a_method_without_anything_to_be_seen_is_no_call_of_a_library(tmp_path):
    assert between(tmp_path, HELPER, "Helper()", ("it.close()", "it.close()")) == set()


@pytest.mark.parametrize(
    ("made", "imports", "read"),
    [
        ("UserDict(a=1)", "from collections import UserDict", "it['a']"),
        ("UserDict(a=1)", "from collections import UserDict", "it.get('a')"),
        ("row()", "import sqlite3", "it.keys()"),
    ],
)
def test_who_only_reads_an_object_of_a_library_is_in_nobodys_way(tmp_path, made, imports, read):
    row = """
    def row():
        connection = sqlite3.connect(":memory:")
        connection.row_factory = sqlite3.Row
        return connection.execute("select 1 as a").fetchone()
"""
    classes = row if "row" in made else ""
    assert between(tmp_path, classes, made, (read, read), imports) == set()
