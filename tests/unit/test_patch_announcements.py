# SPDX-License-Identifier: Apache-2.0
"""Announcements behind the work that they are about."""

import textwrap
from typing import Any

from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.model.report import FindingPoint
from unsnarl.patches.drafts import drafts

EARLY = "published before initialised"


def at(text: str, part: str, role: int, op: str, variable: str, **more: Any) -> FindingPoint:
    return point(line_of(source(text), part), role, op, variable, **more)


def moved(text: str, *points: FindingPoint, **more: Any) -> list[str]:
    made = drafts(conflict(text, *points, **more))
    return [draft.texts["a.py"] for draft in made if draft.kind == "move"]


BATCH = textwrap.dedent(
    """\
    class Batch:
        def fail(self, error):
            self.status = 1

            # Whoever waits.
            for future in self.futures:
                future.set_exception(error)

            succeeded = False
            if self.done is not None:
                self.done(succeeded)

            return

        def pause(self, succeeded):
            self.paused = True
    """
)


def batch_points(text: str) -> tuple[FindingPoint, ...]:
    """What both lines lead to is in other functions: the calls say where to look."""
    told = f"a.py:{line_of(source(text), 'set_exception')} in Batch.fail"
    done = f"a.py:{line_of(source(text), 'self.done(')} in Batch.fail"
    last = line_of(source(text), "self.paused")
    return (
        point(900, 1, "write", "Future.state", function="Future.set", stack=(told,)),
        point(901, 2, "read", "Future.state", function="Future.result"),
        point(last, 2, "read", "Batch.paused", function="Batch.resume"),
        point(last, 1, "write", "Batch.paused", function="Batch.pause", stack=(done,)),
    )


def test_a_loop_that_tells_others_moves_with_its_paragraph() -> None:
    (text,) = moved(BATCH, *batch_points(BATCH), shape=EARLY)
    assert text == textwrap.dedent(
        """\
        class Batch:
            def fail(self, error):
                self.status = 1

                succeeded = False
                if self.done is not None:
                    self.done(succeeded)

                # Whoever waits.
                for future in self.futures:
                    future.set_exception(error)

                return

            def pause(self, succeeded):
                self.paused = True
        """
    )


def test_an_order_makes_nothing_atomic() -> None:
    assert not moved(BATCH, *batch_points(BATCH), shape="check-then-act", kind="order")


def test_what_depends_on_it_is_not_passed() -> None:
    text = BATCH.replace("self.done(succeeded)", "self.done(future)")
    assert not moved(text, *batch_points(text), shape=EARLY)


WORKER = textwrap.dedent(
    """\
    class Pool:
        def work(self):
            while True:
                message = self.queue.get()
                self.queue.task_done()
                if message is None:
                    continue
                self.handle(message)
    """
)


def worker_points(text: str) -> tuple[FindingPoint, ...]:
    where = {"function": "Pool.work"}
    return (
        at(text, "task_done", 1, "call", "Pool.queue", **where),
        at(text, "class", 2, "read", "Pool.results", function="Pool.wait"),
        at(text, "self.handle", 1, "write", "Pool.results", **where),
    )


def test_it_is_told_before_what_leaves_too() -> None:
    (text,) = moved(WORKER, *worker_points(WORKER), kind="order")
    assert text == textwrap.dedent(
        """\
        class Pool:
            def work(self):
                while True:
                    message = self.queue.get()
                    if message is None:
                        self.queue.task_done()
                        continue
                    self.handle(message)
                    self.queue.task_done()
        """
    )


def test_what_raises_does_not_tell() -> None:
    text = WORKER.replace("continue", "raise ValueError")
    assert not moved(text, *worker_points(text), kind="order")


SOCKET = textwrap.dedent(
    """\
    class Socket:
        def run(self):
            while self.connected:
                self.connected = self.handle(self.read())

        def handle(self, event):
            if event is None:
                self.event.set()
                return False
            return True

        def receive(self):
            while self.connected:
                self.event.wait()
                self.event.clear()
    """
)


def said_again(text: str) -> list[str]:
    points = (
        point(
            line_of(source(text), "event.set()"), 1, "release", "",
            function="Socket.handle", text="event.set()",
        ),
        at(text, "while self.connected", 2, "read", "Socket.connected", function="Socket.receive"),
        at(text, "= self.handle", 1, "write", "Socket.connected", function="Socket.run"),
        at(text, "self.event.wait()", 2, "wait", "", function="Socket.receive"),
    )  # fmt: skip
    made = drafts(conflict(text, *points, shape="missed signal"))
    return [draft.texts["a.py"] for draft in made if draft.kind == "event"]


def test_an_event_that_comes_before_the_change_is_set_once_more_behind_it() -> None:
    (text,) = said_again(SOCKET)
    change = "            self.connected = self.handle(self.read())\n"
    assert text == SOCKET.replace(change, f"{change}            self.event.set()\n")


def test_an_event_of_something_else_is_not_set_again() -> None:
    assert not said_again(SOCKET.replace("self.event.set()", "event.set()"))
    assert not said_again(SOCKET.replace("= self.handle(self.read())", "= self.handle"))


def test_what_announces_need_not_be_a_point() -> None:
    """Of an order alone, the calls that led to what came too late say where to look."""
    *_, late = batch_points(BATCH)
    early = point(late.line, 2, "read", "Batch.paused", function="Batch.resume")
    wanted = moved(BATCH, *batch_points(BATCH), shape=EARLY)
    assert moved(BATCH, early, late, shape=EARLY, kind="order") == wanted
    assert not moved(BATCH, early, late, shape="lost update", kind="order")
    quiet = BATCH.replace("future.set_exception(error)", "future.look(error)")
    assert not moved(quiet, early, late, shape=EARLY, kind="order")
