# SPDX-License-Identifier: Apache-2.0
"""A thread that is asked to stop is waited for, where that can end and nothing is held."""

import textwrap

import pytest
from tests.unit.test_patch_kinds import at, of_kind

TICKER = textwrap.dedent(
    """\
    class Ticker:
        def __init__(self, out):
            self.out = out
            self.running = True
            self.thread = threading.Thread(target=self.tick)

        def start(self):
            self.thread.start()

        def tick(self):
            while self.running:
                self.out.write(".")
                time.sleep(0.1)

        def stop(self):
            self.running = False
            self.out.close()
    """
)


def joined(text: str, flag: str = "self.running = False") -> list[str]:
    asks = "while self.running" if "while self.running" in text else "while "
    return of_kind(
        "join",
        text,
        at(text, asks, 1, "read", "Ticker.running", function="Ticker.tick"),
        at(text, flag, 2, "write", "Ticker.running", function="Ticker.stop"),
        at(text, "self.out.close", 2, "call", "Ticker.out", function="Ticker.stop"),
        at(text, "self.out.write", 1, "call", "Ticker.out", function="Ticker.tick"),
    )


def test_it_is_joined_before_what_it_uses_is_closed() -> None:
    (text,) = joined(TICKER)
    assert (
        "        self.running = False\n"
        "        if self.thread.is_alive():\n"
        "            self.thread.join()\n"
        "        self.out.close()\n"
    ) in text


def test_a_thread_that_may_not_be_there_is_asked_for() -> None:
    made = "self.thread = threading.Thread(target=self.tick)\n"
    text = TICKER.replace(made, "self.thread = None\n")
    text = text.replace("        self.thread.start()", f"        {made}        self.thread.start()")
    (text,) = joined(text)
    assert "        if self.thread is not None:\n            self.thread.join()\n" in text


def test_an_event_asks_as_well() -> None:
    text = TICKER.replace("self.running = True", "self.over = threading.Event()")
    text = text.replace("while self.running:", "while not self.over.is_set():")
    text = text.replace("self.running = False", "self.over.set()")
    (text,) = joined(text, "self.over.set()")
    assert "        self.over.set()\n        if self.thread.is_alive():\n" in text


def test_an_event_that_it_waits_for_is_set_before() -> None:
    text = TICKER.replace("time.sleep(0.1)", "self.more.wait()")
    (text,) = joined(text)
    assert "        self.running = False\n        self.more.set()\n        if self.thread" in text


LOCAL = textwrap.dedent(
    """\
    def bar(out):
        def draw():
            while thread:
                out.write("|")

        if out.isatty():
            thread = threading.Thread(target=draw)
            thread.start()
        try:
            yield
        finally:
            thread = None
        out.write("done")
    """
)


def test_a_request_that_drops_the_thread_keeps_it_to_be_joined() -> None:
    (text,) = of_kind(
        "join",
        LOCAL,
        at(LOCAL, "while thread", 1, "read", "thread", function="bar.<locals>.draw"),
        at(LOCAL, "thread = None", 2, "write", "thread", function="bar"),
        at(LOCAL, '"done"', 2, "call", "out", function="bar"),
        at(LOCAL, '"|"', 1, "call", "out", function="bar.<locals>.draw"),
    )
    assert "    thread = None\n    if out.isatty():\n" in text
    assert (
        "        stopped = thread\n"
        "        thread = None\n"
        "        if stopped is not None:\n"
        "            stopped.join()\n"
    ) in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # The thread needs the lock in its last turn, perhaps.
        (
            "        self.running = False",
            "        with self.lock:\n            self.running = False",
        ),
        # Nobody ends such a turn.
        ("time.sleep(0.1)", "self.jobs.get()"),
        # It stops itself.
        ("time.sleep(0.1)", "self.stop()"),
        # Something is joined already.
        ("        self.out.close()", "        self.out.close()\n        self.thread.join()"),
        # The loop asks for something else.
        ("while self.running:", "while self.ready:"),
        # Nobody knows whether there is a thread.
        (
            "        self.thread = threading.Thread",
            "        if out:\n            self.thread = Thread",
        ),
        # What is asked is no thread.
        ("threading.Thread(target=self.tick)", "Timer(target=self.tick)"),
    ],
)
def test_where_the_wait_may_not_end_nothing_is_offered(old: str, new: str) -> None:
    assert old in TICKER
    assert joined(TICKER.replace(old, new)) == []


def test_what_came_before_the_request_is_no_reason() -> None:
    points = [
        at(TICKER, "self.out.write", 1, "call", "Ticker.out", function="Ticker.tick"),
        at(TICKER, "self.running = False", 2, "write", "Ticker.running", function="Ticker.stop"),
        at(TICKER, "self.out.close", 2, "call", "Ticker.out", function="Ticker.stop"),
    ]
    assert of_kind("join", TICKER, *points) == []
