# SPDX-License-Identifier: Apache-2.0
"""Bugs whose accesses are all in C code: hunted, found under the object's name, confirmed."""

from __future__ import annotations

import json

import pytest
from tests.integration.test_proving import unsnarl

# Two threads, each with one call.
ENDING = """
threads = [threading.Thread(target=target, args=args) for target, *args in calls]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
CHAIN = (
    """
import itertools
import threading


class Index:
    def __init__(self):
        self.words = set(range(20))
        self.more = set()

    def search(self):
        return sum(1 for word in itertools.chain(self.words, self.more) if word is not None)

    def add(self, word):
        self.words.add(word)


index = Index()
calls = [(index.search,), (index.add, 99)]
"""
    + ENDING
)
GENERATOR = (
    """
import threading


class Tickets:
    def __init__(self):
        self.last = 0
        self.numbers = self.count()

    def count(self):
        while True:
            self.last += 1
            yield self.last

    def take(self):
        return next(self.numbers)


tickets = Tickets()
calls = [(tickets.take,), (tickets.take,)]
"""
    + ENDING
)
SELECT_THEN_DELETE = (
    """
import sqlite3
import threading


class Jobs:
    def __init__(self):
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create table jobs (id)")
        self.db.executemany("insert into jobs values (?)", [(1,), (2,)])
        self.taken = []

    def take(self):
        row = self.db.execute("select id from jobs order by id").fetchone()
        self.db.execute("delete from jobs where id = ?", row)
        self.taken.append(row[0])


jobs = Jobs()
calls = [(jobs.take,), (jobs.take,)]
"""
    + ENDING
    + "assert sorted(jobs.taken) == [1, 2], jobs.taken\n"
)
ROTATE = (
    """
import collections
import threading


class Ring:
    def __init__(self):
        self.nodes = collections.deque(["a", "b", "c"])
        self.used = []

    def pick(self):
        node = self.nodes[0]
        self.nodes.rotate(-1)
        self.used.append(node)


ring = Ring()
calls = [(ring.pick,), (ring.pick,)]
"""
    + ENDING
    + "assert sorted(ring.used) == ['a', 'b'], ring.used\n"
)
MOVE_TO_END = (
    """
import collections
import threading


class Cache:
    def __init__(self):
        self.data = collections.OrderedDict(a=1, b=2)

    def get(self, key):
        if key in self.data:
            self.data.move_to_end(key)
            return self.data[key]
        return None

    def evict(self):
        self.data.popitem(last=False)


cache = Cache()
calls = [(cache.get, "a"), (cache.evict,)]
"""
    + ENDING
)
POSITION = (
    """
import io
import threading


class Pages:
    def __init__(self):
        self.file = io.BytesIO(b"aaaabbbb")
        self.read = []

    def page(self, number):
        self.file.seek(4 * number)
        self.read.append(self.file.read(4))


pages = Pages()
calls = [(pages.page, 0), (pages.page, 1)]
"""
    + ENDING
    + "assert sorted(pages.read) == [b'aaaa', b'bbbb'], pages.read\n"
)
STARRED = (
    """
import threading


class Kind:
    def __init__(self, name):
        self.name = name

    def fits(self, name):
        return self.name[0] == name[0]


class Dispatcher(dict):
    def candidates(self, name):
        return {key for key in self if isinstance(key, Kind) and key.fits(name)}

    def __missing__(self, name):
        found = [self[key] for key in self.candidates(name)]
        return self.setdefault(name, *found)


table = Dispatcher()
for number, letter in enumerate("abcd"):
    table[Kind(letter)] = number
calls = [(table.__getitem__, name) for name in ("ab", "bc", "cd")]
"""
    + ENDING
)
PROGRAMS = {
    "a comprehension over what setdefault(*found) changes": (STARRED, "Dispatcher"),
    "a set read through itertools.chain": (CHAIN, "Index.words"),
    "a generator entered twice": (GENERATOR, "Tickets.numbers"),
    "select, then delete": (SELECT_THEN_DELETE, "Jobs.db"),
    "deque.rotate": (ROTATE, "Ring.nodes"),
    "OrderedDict.move_to_end": (MOVE_TO_END, "Cache.data"),
    "a position in a file": (POSITION, "Pages.file"),
}


@pytest.mark.parametrize("bug", PROGRAMS)
def test_hunt(bug, tmp_path):
    text, variable = PROGRAMS[bug]
    (tmp_path / "subject.py").write_text(text)
    options = ("--seed", "5", "--fail", "10", "--pass", "10", "--json", "answer.json")
    done = unsnarl(tmp_path, "hunt", *options, "--", "python", "subject.py")
    assert done.returncode == 1, done.stdout + done.stderr
    (failure, *_) = json.loads((tmp_path / "answer.json").read_text())["failures"]
    finding = failure["findings"][0]
    assert finding["status"] == "confirmed"
    assert variable in finding["variables"]
