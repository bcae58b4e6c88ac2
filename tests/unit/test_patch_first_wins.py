# SPDX-License-Identifier: Apache-2.0
"""The first entry stays; a signal is taken back before the work, not after it."""

import textwrap

import pytest
from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.patches.drafts import drafts

CACHE = textwrap.dedent(
    """\
    class Cache:
        def __init__(self):
            self.made = {}

        def find(self, key):
            if key not in self.made:
                value = self.make(key)
                self.made[key] = value
            return self.made[key]
    """
)


def made_twice(text: str, shape: str = "check-then-act") -> list[str]:
    where = {"function": "Cache.find"}
    look, make = line_of(source(text), "not in"), line_of(source(text), "made[key] =")
    points = [
        point(look, 1, "read", "Cache.made", **where),
        point(make, 2, "write", "Cache.made", **where),
        point(make, 1, "write", "Cache.made", **where),
    ]
    found = drafts(conflict(text, *points, shape=shape))
    # Both threads do the work: a lock comes first.
    assert found[0].kind == "lock"
    return [draft.texts["a.py"] for draft in found if draft.kind == "setdefault"]


def test_the_first_entry_stays() -> None:
    (text,) = made_twice(CACHE)
    assert "            value = self.made.setdefault(key, value)\n" in text


def test_the_value_may_be_made_there() -> None:
    text = CACHE.replace("self.made[key] = value", "self.made[key] = str(key)")
    assert "            self.made.setdefault(key, str(key))\n" in made_twice(text)[0]


def test_an_entry_that_is_to_be_replaced_is_replaced() -> None:
    assert not made_twice(CACHE.replace("made[key] = value", "made[key] = value  # again"))
    assert not made_twice(CACHE, shape="lost update")


WORKER = textwrap.dedent(
    """\
    class Worker:
        def run(self):
            while True:
                self.ready.wait()
                self.drain()
                self.ready.clear()
    """
)


@pytest.mark.parametrize("between", ["self.drain()", "if self.done:\n                return"])
def test_a_signal_is_cleared_before_the_work(between: str) -> None:
    text = WORKER.replace("self.drain()", between)
    clear = line_of(source(text), "clear()")
    points = [
        point(clear, 1, "call", "Worker.ready", function="Worker.run"),
        point(1, 2, "call", "Worker.ready", function="Worker.put"),
    ]
    found = drafts(conflict(text, *points, shape="missed signal"))
    texts = [one.texts["a.py"] for one in found if one.kind == "move"]
    wanted = "self.ready.wait()\n            self.ready.clear()\n            self.drain()\n"
    assert texts[0].endswith(wanted) if "drain" in between else not texts


LOCKS = textwrap.dedent(
    """\
    import threading

    class Cache:
        def find(self, key):
            lock = self.locks.get(key)
            if lock is None:
                lock = self.locks[key] = threading.Lock()
            with lock:
                if key not in self.made:
                    self.made[key] = self.make(key)
            return self.made[key]
    """
)


def under(first: str, second: str, text: str = LOCKS) -> list[str]:
    where = {"function": "Cache.find"}
    look, make = line_of(source(text), "not in"), line_of(source(text), "made[key] =")
    found = drafts(
        conflict(
            text,
            point(look, 1, "read", "Cache.made", locks=(first,), **where),
            point(make, 2, "write", "Cache.made", locks=(second,), **where),
            point(make, 1, "write", "Cache.made", locks=(first,), **where),
            shape="lost update",
        )
    )
    assert any(draft.kind == "lock" for draft in found)
    return [draft.texts["a.py"] for draft in found[:1] if draft.kind == "setdefault"]


def test_a_lock_that_two_threads_made_is_made_once() -> None:
    (text,) = under("lock", "lock #2")
    assert "            lock = self.locks.setdefault(key, threading.Lock())\n" in text
    alone = LOCKS.replace("lock = self.locks[key] =", "self.locks[key] =")
    (text,) = under("Cache.locks", "Cache.locks #2", alone)
    assert "            self.locks.setdefault(key, threading.Lock())\n" in text


def test_one_lock_or_two_of_different_names_were_not_made_twice() -> None:
    assert not under("lock", "lock")
    assert not under("lock", "Cache.other")
    assert not under("lock", "lock #2", LOCKS.replace("self.locks[key] =", "self.lock ="))
