# SPDX-License-Identifier: Apache-2.0
"""Whole methods under the object's lock."""

import textwrap

from tests.unit.conflicts import line_of, point, source
from tests.unit.test_patch_kinds import at, of_kind

HANDED_OUT = textwrap.dedent(
    """\
    class File:
        def __init__(self):
            self.handle = None

        def close(self):
            self.handle.end()
            self.handle = None

    class Shared(File):
        def __init__(self):
            super().__init__()
            self.users = 0

        def open(self):
            \"\"\"One more user.\"\"\"
            if not self.users:
                self.handle = make()
            self.users += 1
            return self.handle

        def leave(self):
            if self.users == 1:
                self.close()
            self.users -= 1

    def use(shared):
        shared.open().write()
    """
)


def test_whole_methods_are_held_where_the_object_hands_out_what_fails() -> None:
    leave = line_of(source(HANDED_OUT), "self.close()")
    used = line_of(source(HANDED_OUT), "shared.open().write()")
    closing = {"function": "File.close", "stack": (f"a.py:{leave} in Shared.leave",)}
    texts = of_kind(
        "lock",
        HANDED_OUT,
        at(HANDED_OUT, "self.handle.end()", 1, "call", "handle", **closing),
        at(HANDED_OUT, "return self.handle", 2, "read", "Shared.handle", function="Shared.open"),
        point(used, 2, "call", "handle", function="use"),
        at(HANDED_OUT, "        self.handle = None", 1, "write", "Shared.handle", **closing),
    )
    wanted = (
        "        with self._lock:\n"
        "            if self.users == 1:\n"
        "                self.close()\n"
        "            self.users -= 1\n"
    )
    whole = [one for one in texts if wanted in one]
    assert whole
    assert (
        '"""One more user."""\n        with self._lock:\n            if not self.users:' in whole[0]
    )
    assert "        super().__init__()" in whole[0] and "            super()" not in whole[0]
