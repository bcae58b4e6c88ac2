# SPDX-License-Identifier: Apache-2.0
"""Patches of what is asked of a queue, and taken from it."""

import textwrap

from tests.unit.test_patch_kinds import at, of_kind

POOL = textwrap.dedent(
    """\
    class Pool:
        def join(self):
            if not self.tasks.empty():
                self.tasks.join()

        def work(self):
            task = self.tasks.get()
            task()
            self.tasks.task_done()
    """
)


def asked(text: str) -> list[str]:
    return of_kind(
        "queue",
        text,
        at(text, "get()", 1, "call", "Pool.tasks", function="Pool.work"),
        at(text, "empty()", 2, "call", "Pool.tasks", function="Pool.join"),
    )


def test_a_queue_that_is_empty_may_have_unfinished_tasks() -> None:
    (text,) = asked(POOL)
    assert "        if self.tasks.unfinished_tasks > 0:\n" in text
    (text,) = asked(POOL.replace("not self.tasks.empty()", "self.tasks.empty() or self.off"))
    assert "        if self.tasks.unfinished_tasks == 0 or self.off:\n" in text


def test_only_where_somebody_says_what_is_done() -> None:
    assert asked(POOL.replace("self.tasks.task_done()", "pass")) == []


FUTURE = textwrap.dedent(
    """\
    class Future:
        def get(self, timeout):
            if self.result is None:
                self.result = self.queue.get(True, timeout)
            return self.result
    """
)


def taken(text: str) -> list[str]:
    where = {"function": "Future.get"}
    return of_kind(
        "queue",
        text,
        at(text, "if self.", 1, "read", "Future.result", **where),
        at(text, "= self.queue", 2, "write", "Future.result", **where),
        at(text, "= self.queue", 1, "wait", "Future.queue", **where),
    )


def test_what_all_readers_want_is_put_back() -> None:
    (text,) = taken(FUTURE)
    assert "get(True, timeout)\n            self.queue.put(self.result)\n        return" in text


def test_an_item_for_one_reader_is_not_put_back() -> None:
    assert taken(FUTURE.replace("if self.result is None:", "if self.open:")) == []
