# SPDX-License-Identifier: Apache-2.0
"""Checks that come to the same after what another thread has written."""

import ast

import pytest
from tests.unit.test_reports_shapes import at, point, shape

from unsnarl.reports.flow import is_named
from unsnarl.reports.outcomes import is_same_for


def same(test, *values):
    tree = ast.parse(test, mode="eval").body
    return is_same_for(tree, lambda node: is_named(node, "n"), values)


@pytest.mark.parametrize(
    ("test", "values"),
    [
        ("self.n < 0", ("3", "4")),
        ("n < 0", ("69781620600199863…", "20467946694189254…")),
        ("n is None", ("<Session>", "<Session>")),
        ("not n", ("<list of 2>", "<list of 1>")),
        ("n == 'open'", ("'open'", "'open'")),
    ],
)
def test_the_same_outcome(test, values):
    assert same(test, *values)


@pytest.mark.parametrize(
    ("test", "values"),
    [
        ("n > 0", ("1", "0")),
        ("n is None", ("None", "<Session>")),
        ("n", ("<list of 1>", "<list of 0>")),
        ("n", ("<Session>", "<Session>")),  # it may say that it is empty
        ("n == 1", ("<Session>", "<Session>")),
        ("n < limit", ("1", "2")),
        ("check(n)", ("1", "2")),
        ("n < 0", ("'a'", "'b'")),
        ("other < 0", ("1", "2")),
    ],
)
def test_another_one_or_nobody_knows(test, values):
    assert not same(test, *values)


NEXT = """\
if self.factor < 0:
    self.factor = first()
else:
    self.factor = self.factor ** 2
    self.inverse = self.inverse ** 2
"""


def test_a_check_that_still_holds_is_not_what_went_wrong():
    def found(value):
        return shape(
            at(1, "1 read factor", NEXT, value="3"),
            at(4, "2 write factor", NEXT, value=value),
            at(4, "1 write factor", NEXT, value="9"),
            text=NEXT,
        )[0]

    assert found("9") == "lost update"
    assert found("-1") == "check-then-act"


TAKE = "row = self.oldest()\nif row:\n    self._delete(row[0])\n"


def test_to_remove_what_was_found_is_no_update():
    points = (
        at(1, "1 read file data.db", TAKE),
        point("2 write file data.db", "with self.putter:"),
        at(3, "1 write file data.db", TAKE),
    )
    assert shape(*points, text=TAKE)[0] == "check-then-act"
    stored = TAKE.replace("_delete", "_store")
    assert (
        shape(*points[:2], at(3, "1 write file data.db", stored), text=stored)[0] == "lost update"
    )


def test_a_buffer_that_two_threads_fill_by_the_same_call():
    fill = {"part": ".pack_into()"}
    points = (
        point("1 call buffer", "pack_into(FORMAT, buffer, 0, frame)", **fill),
        point("2 call buffer", "pack_into(FORMAT, buffer, 0, frame)", **fill),
        point("1 read buffer", "send(view[:size])"),
    )
    assert shape(*points)[0] == "stale read"
    queue = (
        point("1 call jobs", "jobs.put(job)", part=".put()"),
        point("2 call jobs", "jobs.put(job)", part=".put()"),
        point("1 call jobs", "jobs.get()", part=".get()"),
    )
    assert shape(*queue)[0] != "stale read"
