# SPDX-License-Identifier: Apache-2.0
"""A lock around code that others handed in must let its holder come back."""

import pytest
from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.patches.blocks import covering
from unsnarl.patches.callbacks import calls_callbacks
from unsnarl.patches.drafts import drafts

EMITTER = """
class Emitter:
    def emit(self, event):
        for handler in list(self._handlers[event]):
            self._run(handler, event)
        self._count = len(self._handlers)

    def _run(self, function, event):
        function(event)

    def get(self, key, factory):
        if key not in self._made:
            self._made[key] = factory()
        return self._made[key]

    def close(self):
        self._closed = True
        self.on_close()

    def notify(self):
        hook = self._hooks.pop()
        hook()

    def tidy(self):
        self._drop(self._old)

    def _drop(self, keys):
        for key in keys:
            self._made.pop(key)
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("for handler", True),
        ("self._run(handler", True),
        ("function(event)", True),
        ("self._count =", False),
        ("= factory()", True),
        ("if key not in", True),
        ("return self._made", False),
        ("self.on_close()", True),
        ("self._closed =", False),
        ("hook()", True),
        ("self._drop(", False),
    ],
)
def test_what_is_handed_in_is_seen(line: str, expected: bool) -> None:
    file = source(EMITTER)
    number = line_of(file, line)
    assert calls_callbacks({"a.py": file}, covering(file, number, number)) is expected


def test_it_is_said_that_callbacks_run_under_the_lock() -> None:
    text = "class Bus:\n    def __init__(self):\n        self.calls = []\n\n"
    text += "    def emit(self):\n        for call in self.calls:\n            call()\n"
    line = line_of(source(text), "for call")
    points = [point(line, role, "write", "Bus.calls", function="Bus.emit") for role in (1, 2)]
    said = {one.says for one in drafts(conflict(text, *points)) if one.kind == "lock"}
    assert said
    assert all(("RLock" in one) == one.endswith("; callbacks run under it") for one in said)
    assert any(one.endswith("; callbacks run under it") for one in said)


CACHED = """
def cached(store, lock):
    def wrap(function):
        def inner(key):
            with lock:
                found = store.get(key)
            if found is None:
                found = function(key)
                with lock:
                    store[key] = found
            return found
        return inner
    return wrap
"""


def test_no_lock_that_was_handed_in_is_held_around_a_callback() -> None:
    where = {"function": "cached.<locals>.wrap.<locals>.inner", "locks": ("lock",)}
    look, keep = (line_of(source(CACHED), one) for one in ("store.get", "store[key]"))
    points = [
        point(look, 1, "read", "store", **where),
        point(keep, 2, "write", "store", **where),
        point(keep, 1, "write", "store", **where),
    ]
    made = drafts(conflict(CACHED, *points))
    assert not any(one.choice is not None and one.choice.name == "lock" for one in made)
