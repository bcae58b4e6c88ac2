# SPDX-License-Identifier: Apache-2.0
"""What somebody hands in: a unified diff, a line's name, an order of two lines."""

from __future__ import annotations

import difflib

import pytest

from unsnarl.errors import UsageError
from unsnarl.workflows.line_name import LineName
from unsnarl.workflows.pair import _choices, _Line
from unsnarl.workflows.unified_diff import apply_diff

OLD = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n-- k\nl\n"


def diff(old, new, name="src/x.py", context=2):
    lines = [text.splitlines(keepends=True) for text in (old, new)]
    return "".join(difflib.unified_diff(*lines, f"a/{name}", f"b/{name}", n=context))


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "x.py").write_text(OLD)
    return tmp_path


@pytest.mark.parametrize(
    "new",
    [
        OLD.replace("c\n", "C\n"),
        OLD.replace("c\n", "").replace("j\n", "j\nJ\n"),
        "new\n" + OLD,
        OLD + "new\n",
        OLD.replace("-- k\n", ""),
        OLD.replace("b\n", "\n"),
    ],
)
def test_a_diff_gives_the_new_text_and_writes_nothing(project, new):
    file = project / "src" / "x.py"
    assert apply_diff(diff(OLD, new), project) == {file.resolve(): new}
    assert file.read_text() == OLD


def test_lines_that_have_moved_are_found(project):
    patch = diff(OLD, OLD.replace("h\n", "H\n"))
    moved = "1\n2\n3\n" + OLD
    (project / "src" / "x.py").write_text(moved)
    (new,) = apply_diff(patch, project).values()
    assert new == moved.replace("h\n", "H\n")


@pytest.mark.parametrize(
    "patch",
    [
        "no diff",
        diff("x\ny\n", "x\nz\n"),
        diff(OLD, "new\n" + OLD, "src/other.py"),
        diff(OLD, "new\n" + OLD, "../../x.py"),
    ],
)
def test_what_does_not_fit_is_refused(project, patch):
    with pytest.raises(UsageError):
        apply_diff(patch, project)


def test_a_line_is_named_by_the_end_of_its_path():
    line = LineName.parse("./pool/queue.py:12")
    assert line.names("src/pool/queue.py", 12) and line.names("pool/queue.py", 12)
    assert not line.names("pool/queue.py", 13) and not line.names("other_pool/queue.py", 12)
    for text in ("queue.py", "queue.py:", ":3", "queue.py:x"):
        with pytest.raises(UsageError):
            LineName.parse(text)


def test_threads_that_do_both_lines_wait_for_each_other_and_if_that_is_a_circle_in_turn():
    read, write = _Line((1,), (1,), ("0.1", "0.2")), _Line((2,), (2,), ("0.1", "0.2"))
    every, in_turn = _choices(read, write)
    assert [(rule.until.path, rule.hold.path) for rule in every] == [("0.1", "0.2"), ("0.2", "0.1")]
    assert [(rule.until.path, rule.hold.path) for rule in in_turn] == [("0.1", "0.2")]


def test_threads_of_their_own_need_no_names():
    ((rule,),) = _choices(_Line((1,), (1,), ("0",)), _Line((2,), (3,), ("0.1",)))
    assert rule.hold.points == (3,) and rule.until.points == (1,) and rule.hold.path is None
    with pytest.raises(UsageError):
        _choices(_Line((1,), (1,), ("0",)), _Line((2,), (2,), ("0",)))
