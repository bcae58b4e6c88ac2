# SPDX-License-Identifier: Apache-2.0
"""A lock around code that others handed in must let its holder come back."""

import pytest
from tests.unit.conflicts import line_of, source

from unsnarl.patches.blocks import covering
from unsnarl.patches.callbacks import calls_callbacks

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
