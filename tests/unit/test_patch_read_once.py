# SPDX-License-Identifier: Apache-2.0
"""Variables that are read once, in every function of a finding that checks and uses them."""

import textwrap

from tests.unit.conflicts import point
from tests.unit.test_patch_kinds import at, of_kind

BOTH = textwrap.dedent(
    """\
    class Client:
        def close(self):
            if self.sock:
                self.sock.close()
                self.sock = None

        def run(self):
            if self.sock:
                sock_then = self.sock
                self.sock = None
                sock_then.shutdown()
    """
)


def test_the_same_mistake_in_the_other_function_is_mended_too() -> None:
    texts = of_kind(
        "local-copy",
        BOTH,
        at(BOTH, "if self.sock", 1, "read", "Client.sock", function="Client.close"),
        point(10, 2, "write", "Client.sock", function="Client.run"),
        at(BOTH, "self.sock.close", 1, "read", "Client.sock", function="Client.close"),
    )
    assert texts[0].count("        sock = self.sock\n        if sock:\n") == 2
    assert "            sock_then = sock\n            self.sock = None\n" in texts[0]
    assert texts[1].count("sock = self.sock\n        if sock:\n") == 1


def test_a_count_that_changes_later_is_not_copied() -> None:
    text = (
        "class Client:\n    def close(self):\n"
        "        if self.sock:\n            self.sock.close()\n"
        "        self.sock -= 1\n"
    )
    assert not of_kind(
        "local-copy",
        text,
        at(text, "if self.sock", 1, "read", "Client.sock", function="Client.close"),
        at(text, "self.sock -= 1", 2, "write", "Client.sock", function="Client.close"),
        at(text, "self.sock.close", 1, "read", "Client.sock", function="Client.close"),
    )
