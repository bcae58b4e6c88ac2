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
