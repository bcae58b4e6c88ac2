# SPDX-License-Identifier: Apache-2.0
"""Every row of docs/accesses.md is seen, as the operation it is and on the object it belongs to."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.integration.access_program import SETTINGS, program
from tests.integration.access_rows import ROWS
from tests.integration.server_client import Client

from unsnarl.runfile.reader import read_run

pytestmark = pytest.mark.core

LETTERS = {0: "R", 1: "W", 10: "W"}  # a call counts as a write
# Rows of one program: two threads each, some start a third, and a run file numbers 64.
AT_ONCE = 25


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    """By row: the edges between its two threads, as operations and the names of both ends."""
    found = []
    for at in range(0, len(ROWS), AT_ONCE):
        rows = ROWS[at : at + AT_ONCE]
        between = _edges(tmp_path_factory.mktemp("accesses"), program(rows))
        paths = [(f"0.{2 * row + 1}", f"0.{2 * row + 2}") for row in range(len(rows))]
        found += [(row, between.get(pair, set())) for row, pair in enumerate(paths)]
    return found


def edges_of(folder, text):
    """Those of a small program, from its first thread to its second."""
    return _edges(folder, textwrap.dedent(text)).get(("0.1", "0.2"), set())


def _edges(folder, text):
    (folder / "rows.py").write_text(text)
    (folder / "settings.py").write_text(SETTINGS)
    client = Client(folder, "script", "rows.py")
    assert client.run(1)["status"] == 0, client.output(1)
    run = read_run(client.path(1, "run"))
    ends = ("source_point", "sink_point")
    points = sorted({int(edge[end]) for edge in run.edges for end in ends})
    assert client.run(2, capture=points)["status"] == 0
    names: dict[tuple[str, int], set[str]] = {}
    for value in read_run(client.path(2, "run")).notes.values:
        names.setdefault((value[2], value[1]), set()).add(value[5])
    client.close()
    return _by_threads(run, names)


def _by_threads(run, names):
    found: dict[tuple[str, str], set[tuple[str, str, str]]] = {}
    for edge in run.edges:
        paths = [run.threads[int(edge[f"{end}_thread"])].path for end in ("source", "sink")]
        points = [int(edge[f"{end}_point"]) for end in ("source", "sink")]
        letters = "".join(LETTERS.get(point & 15, "?") for point in points)
        one, other = (names.get(end, {""}) for end in zip(paths, points, strict=True))
        rows = found.setdefault((paths[0], paths[1]), set())
        rows |= {(letters, first, second) for first in one for second in other}
    return found


@pytest.mark.parametrize("number", range(len(ROWS)), ids=[row.title for row in ROWS])
def test_row(edges, number):
    row, (place, found) = ROWS[number], edges[number]
    wanted = row.name.replace("it", f"Row{place}.it", 1) if row.name.startswith("it") else row.name
    assert (row.edge, wanted, wanted) in found


DATABASE = """
    import os
    import sqlite3
    import threading

    def write():
        connection = sqlite3.connect("data.db")
        connection.execute("create table t (x)")

    def ask():
        os.path.exists(os.path.abspath("data.db"))

    for function in (write, ask):
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()
    os.remove("data.db")
"""


def test_a_database_is_its_file(tmp_path):
    between = _edges(tmp_path, textwrap.dedent(DATABASE))
    assert "WR" in {edge for edge, *_ in between.get(("0.1", "0.2"), ())}


def test_every_line_of_the_page_has_rows():
    page = (Path(__file__).parents[2] / "docs" / "accesses.md").read_text()
    lines = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    assert lines[0] == "what"
    groups = {row.title.partition(":")[0] for row in ROWS}
    assert groups == set(lines[1:])


UNSEEN = """
    import operator
    import threading

    class Plain:
        def __init__(self):
            self.n = 0

    plain = Plain()
    get = operator.attrgetter("n")
    def work():
        read = get
        read(plain)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
"""


def test_what_is_not_seen_is_noted(tmp_path):
    (tmp_path / "subject.py").write_text(textwrap.dedent(UNSEEN))
    client = Client(tmp_path, "script", "subject.py")
    assert client.run(1)["status"] == 0
    client.close()
    (text,) = read_run(client.path(1, "run")).notes.unseen
    assert text == "what a call of operator.attrgetter does to a Plain"


TWO_CONNECTIONS = """
    import sqlite3
    import threading

    sqlite3.connect("shop.db").executescript("create table if not exists t (x)")
    def write():
        connection = sqlite3.connect("shop.db")
        connection.execute("update t set x = 2")
        connection.commit()
    def read():
        sqlite3.connect("shop.db").execute("select x from t").fetchone()
    for target in (write, read):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
"""


def test_connections_to_one_file_share_a_cell(tmp_path):
    found = _edges(tmp_path, textwrap.dedent(TWO_CONNECTIONS))[("0.1", "0.2")]
    assert ("WR", "file shop.db") in {(letters, first) for letters, first, _ in found}


FRESH_OBJECTS = """
    import io
    import threading

    def work():
        for _ in range(50):
            io.StringIO().write("x")
            next(iter([1]))
            list(open(__file__))
    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
"""


def test_an_address_used_again_is_another_object(tmp_path):
    assert ("0.1", "0.2") not in _edges(tmp_path, textwrap.dedent(FRESH_OBJECTS))


CALLBACKS = """
    import threading
    import weakref

    class Key:
        def __init__(self, n):
            self.n = n
        def __hash__(self):
            return hash(self.n)
        def __eq__(self, other):
            return self.n == other.n
        def __del__(self):
            seen.append(self.n)

    seen, shared, gone = [], [3, 1, 2], {}
    weak = weakref.WeakValueDictionary()
    def work(start):
        shared.sort(key=lambda n: (len(seen), n))
        for n in range(start, start + 3):
            gone[Key(n % 4)] = n
            weak[n] = Key(n)
            max(shared, key=Key(n).__eq__ and (lambda m: -m))
        gone.clear()
        list(filter(lambda n: seen.append(n), shared))
    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("done")
"""


@pytest.mark.parametrize("switch", ["gil", "free"])
def test_c_code_that_calls_back_deadlocks_nowhere(tmp_path, switch):
    (tmp_path / "subject.py").write_text(textwrap.dedent(CALLBACKS))
    client = Client(tmp_path, "script", "subject.py")
    for number in range(1, 31):
        client.run(number, seed=number, strategy=("walk", "pos", "pct")[number % 3], switch=switch)
        # `list modified during sort` and the like are the program's own failures; a hang is ours
        assert "done" in client.output(number) or client.failures(number)
        kinds = {failure.kind for failure in client.failures(number)}
        assert "deadlock" not in kinds
    client.close()
