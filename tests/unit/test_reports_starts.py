# SPDX-License-Identifier: Apache-2.0
"""The line that started a thread before what it needs was set."""

import pytest

from unsnarl.model.report import FindingPoint
from unsnarl.reports.starts import start_line, with_start

WORKER = """\
class Worker:
    def start(self, number):
        def run():
            other.start()
        self.thread = Thread(target=run)
        self.thread.start()
        self.number = number
        self.done()
"""


def point(thread, line, op, variable="Worker.number"):
    return FindingPoint("m.py", line, "Worker.start", thread, 1, op, variable, "body", 1.0)


def steps(*points):
    found = with_start(points, lambda _: WORKER, lambda _, line: WORKER.splitlines()[line - 1])
    return [(one.thread, one.line, one.op) for one in found]


def test_the_start_comes_before_the_access_that_was_too_early():
    points = point("0.2", 20, "read"), point("0", 7, "write")
    assert steps(*points) == [("0", 6, "enter"), ("0.2", 20, "read"), ("0", 7, "write")]


@pytest.mark.parametrize(
    "points",
    [
        (point("0.2", 20, "read"), point("0.1", 7, "write")),  # by another thread
        (point("0.2.1", 20, "read"), point("0", 7, "write")),  # started by somebody else
        (point("0", 7, "write"), point("0.2", 20, "read")),  # in time
        (point("0.2", 20, "read"), point("0", 7, "write", "other")),
        (point("0.2", 20, "read"), point("0", 7, "read")),
    ],
)
def test_there_is_no_such_start(points):
    assert len(steps(*points)) == 2


def test_a_start_is_in_the_same_function_and_the_only_one():
    assert start_line(WORKER, 7) == 6
    assert start_line(WORKER, 5) == 0
    twice = WORKER.replace("self.done()", "more.start()")
    assert start_line(twice, 8) == 6 and start_line(f"{twice}        last()\n", 9) == 0
    assert start_line("int main(void) {", 1) == 0


def test_a_long_explanation_stays_as_it_is():
    rest = [point("0", line, "write", f"v{line}") for line in range(30, 37)]
    points = point("0.2", 20, "read"), point("0", 7, "write"), *rest
    assert len(steps(*points)) == len(points)
