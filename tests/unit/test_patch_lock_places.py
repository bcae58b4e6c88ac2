# SPDX-License-Identifier: Apache-2.0
"""Whose a new lock is, whom it may be reached through, and what it must not be held around."""

import re
import textwrap

import pytest
from tests.unit.test_patch_kinds import at, of_kind

AROUND = re.compile(r"with .*lock:\n +if ")

CACHES = textwrap.dedent(
    """\
    import threading


    class Memory(Base):
        def __init__(self):
            self.entries = {}

        def get(self, key):
            return self.entries.get(key)

        def has(self, key):
            return key in self.entries

        def set(self, key, value):
            self.entries[key] = value


    class Views:
        def __init__(self, cache):
            self.cache = cache

        def show(self, key):
            found = self.cache.get(key)
            if found is None:
                found = self.cache.has(key)
            return found
    """
)


def shown(text: str) -> list[str]:
    stack = ("a.py:%d in Views.show",)
    lines = text.splitlines()
    first, last = (
        1 + next(i for i, one in enumerate(lines) if part in one)
        for part in ("self.cache.get", "self.cache.has")
    )
    variable = "Memory.entries"
    return of_kind(
        "lock",
        text,
        at(
            text,
            "entries.get",
            1,
            "read",
            variable,
            function="Memory.get",
            stack=(stack[0] % first,),
        ),
        at(text, "entries[key] =", 2, "write", variable, function="Memory.set"),
        at(
            text,
            "in self.entries",
            1,
            "read",
            variable,
            function="Memory.has",
            stack=(stack[0] % last,),
        ),
    )


def test_what_may_be_of_another_class_lends_no_lock() -> None:
    assert not any("with self.cache." in one for one in shown(CACHES))


def test_what_is_always_made_as_one_does() -> None:
    assert any(
        "with self.cache._lock:" in one for one in shown(CACHES.replace("= cache", "= Memory()"))
    )
    alone = CACHES.replace("(Base)", "")
    assert any("with self.cache._lock:" in one for one in shown(alone))


def test_what_is_made_as_others_too_does_not() -> None:
    both = CACHES.replace(
        "self.cache = cache", "self.cache = Memory()\n        self.cache = cache or self.cache"
    )
    assert not any("with self.cache." in one for one in shown(both))


BUFFER = textwrap.dedent(
    """\
    import threading


    class Buffer:
        def __init__(self):
            self.lines = []
            self.lock = threading.RLock()

        def flush(self):
            if self.lines:
                if self.lock.acquire(blocking=False):
                    self.send(self.lines)
                    self.lock.release()
                self.lines = []
    """
)


def held(text: str) -> list[str]:
    where = {"function": "Buffer.flush"}
    return of_kind(
        "lock",
        text,
        at(text, "if self.lines", 1, "read", "Buffer.lines", **where),
        at(text, " " * 12 + "self.lines = []", 2, "write", "Buffer.lines", **where),
    )


def test_nobody_waits_for_a_lock_around_what_only_tries_to_take_one() -> None:
    assert not any(map(AROUND.search, held(BUFFER)))
    plain = BUFFER.replace("if self.lock.acquire(blocking=False):", "if True:")
    assert any(map(AROUND.search, held(plain.replace("self.lock.release()", "pass"))))


def test_no_lock_is_taken_around_what_takes_and_releases_it_by_hand() -> None:
    text = BUFFER.replace("blocking=False", "")
    assert not any("with self.lock:" in one for one in held(text))


QUEUE = textwrap.dedent(
    """\
    import queue


    class Unique(queue.Queue):
        def put(self, item, block=True, timeout=None):
            if item != self.last:
                super().put(item, block, timeout)
                self.last = item
    """
)


def put(text: str) -> list[str]:
    return of_kind(
        "lock",
        text,
        at(text, "if item", 1, "read", "Unique.last", function="Unique.put"),
        at(text, "self.last = item", 2, "write", "Unique.last", function="Unique.put"),
    )


def test_whoever_may_wait_for_room_holds_no_lock() -> None:
    limited = QUEUE.replace("put(item, block, timeout)\n", "put(item, timeout=timeout)\n")
    for text in (QUEUE, limited):
        assert not any(map(AROUND.search, put(text)))
    appended = QUEUE.replace("super().put(item, block, timeout)", "self.items.append(item)")
    assert any(map(AROUND.search, put(appended)))


COLUMNS = textwrap.dedent(
    """\
    class Table:
        def columns(self):
            if self.known is None:
                self.known = self.load()
            return self.known
    """
)


@pytest.mark.parametrize(("call", "kind"), [("self.load()", "RLock"), ("load()", "Lock")])
def test_a_lock_of_all_objects_may_be_taken_again_by_what_one_of_them_calls(
    call: str, kind: str
) -> None:
    text = COLUMNS.replace("self.load()", call)
    where = {"function": "Table.columns"}
    texts = of_kind(
        "lock",
        text,
        at(text, "is None", 1, "read", "Table.known", **where),
        at(text, "self.known = ", 2, "write", "Table.known", **where),
    )
    assert f"    _lock = threading.{kind}()\n" in texts[0]


ZIP = textwrap.dedent(
    """\
    def pairs(sources, out):
        waiting = [[] for _ in sources]
        done = False

        def take(i):
            def on_next(x):
                waiting[i].append(x)
                if all(waiting):
                    out([one.pop(0) for one in waiting])

            sources[i].subscribe(on_next)

        for i in range(len(sources)):
            take(i)
    """
)


def zipped(text: str) -> list[str]:
    where = {"function": "pairs.<locals>.take.<locals>.on_next"}
    return of_kind(
        "lock",
        text,
        at(text, "waiting[i].append", 1, "write", "waiting", **where),
        at(text, "all(waiting)", 2, "read", "waiting", **where),
        at(text, "one.pop", 2, "write", "waiting", **where),
    )


def test_variables_of_a_call_have_a_lock_of_that_call() -> None:
    first = zipped(ZIP)[0]
    assert "    waiting = [[] for _ in sources]\n    lock = threading.RLock()\n    done" in first
    assert "            with lock:\n                waiting[i].append(x)\n" in first
    assert "_lock = " not in first


def test_variables_of_the_module_have_one_of_the_module() -> None:
    text = ZIP.replace("    waiting = [[] for _ in sources]\n", "")
    texts = zipped(f"waiting = []\n\n\n{text}")
    assert texts
    assert not any("    lock = threading" in one for one in texts)


DOCUMENTED = '"""About it."""\n\nclass Counter:\n    def add(self):\n        self.n = self.n + 1\n'


def test_a_new_import_stands_two_lines_before_a_class() -> None:
    texts = of_kind(
        "lock",
        DOCUMENTED,
        at(DOCUMENTED, "self.n", 1, "read", "Counter.n", function="Counter.add"),
        at(DOCUMENTED, "self.n", 2, "write", "Counter.n", function="Counter.add"),
    )
    assert texts[0].startswith('"""About it."""\n\nimport threading\n\n\nclass Counter:\n')
    for text in texts:
        assert "\n\n\n\n" not in text
