# SPDX-License-Identifier: Apache-2.0
"""A signal that is taken back: one more look at all that was looked at."""

import textwrap

import pytest
from tests.unit.test_patch_kinds import at, of_kind

WORKERS = textwrap.dedent(
    """\
    class Workers:
        def work(self):
            while True:
                self.ready.wait()
                if self.stopped:
                    break
                try:
                    job = self.jobs.get_nowait()
                except queue.Empty:
                    if self.closed and not self.left:
                        break
                    else:
                        self.ready.clear()
                    continue
                job()

        def close(self):
            self.closed = True
            self.ready.set()
    """
)


def looked_again(text: str, variable: str = "Workers.closed") -> list[str]:
    seen = "closed and" if "closed and" in text else "not self.closed"
    return of_kind(
        "recheck",
        text,
        at(text, seen, 1, "read", variable, function="Workers.work"),
        at(text, "closed = True", 2, "write", variable, function="Workers.close"),
        at(text, "ready.clear", 1, "acquire", "", function="Workers.work"),
    )


def test_all_that_was_looked_at_is_looked_at_behind_the_clear() -> None:
    (text,) = looked_again(WORKERS)
    assert (
        "                    self.ready.clear()\n"
        "                    if (\n"
        "                        self.stopped\n"
        "                        or not self.jobs.empty()\n"
        "                        or (self.closed and not self.left)\n"
        "                    ):\n"
        "                        self.ready.set()\n"
        "                continue\n"
    ) in text


PLAIN = textwrap.dedent(
    """\
    class Workers:
        def work(self):
            while True:
                self.ready.wait()
                while self.jobs:
                    self.jobs.popleft()()
                if not self.closed:
                    self.ready.clear()
                    continue
                return

        def close(self):
            self.closed = True
            self.ready.set()
    """
)


def test_what_a_branch_and_a_loop_ask_is_asked_again() -> None:
    (text,) = looked_again(PLAIN)
    assert (
        "                if self.jobs or self.closed:\n                    self.ready.set()\n"
        in text
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self.ready.wait()", "self.other.wait()"),  # it is no signal of this loop
        ("queue.Empty", "KeyError"),  # what was missing is not known
        ("self.closed and not self.left", "self.closed and not job"),  # a local name is stale
        ("self.closed and not self.left", "self.closed and self.take()"),  # that does something
        ("while True:", "if True:"),
    ],
)
def test_where_it_cannot_be_asked_again_nothing_is_offered(old: str, new: str) -> None:
    assert old in WORKERS
    assert looked_again(WORKERS.replace(old, new)) == []


def test_what_is_not_at_fault_is_no_reason() -> None:
    assert looked_again(PLAIN, "Workers.name") == []
