# SPDX-License-Identifier: Apache-2.0
"""Patches that start a thread later."""

import textwrap

from tests.unit.test_patch_kinds import at, of_kind

WORKER = textwrap.dedent(
    """\
    class Worker:
        def start(self, number):
            self.thread = Thread(target=self.run)
            self.thread.start()
            self.number = number

        def run(self):
            print(self.number)
    """
)


def test_a_thread_is_started_behind_what_it_may_not_be_without() -> None:
    def texts(text: str) -> list[str]:
        late = at(text, "= number", 1, "write", "Worker.number", function="Worker.start")
        early = at(text, "print", 2, "read", "Worker.number", function="Worker.run")
        return of_kind("move", text, early, late, shape="published before initialised")

    last = "        self.number = number\n        self.thread.start()\n\n"
    assert any(last in one for one in texts(WORKER))
    assert texts(WORKER.replace("self.number =", "self.number = self.thread =")) == []
