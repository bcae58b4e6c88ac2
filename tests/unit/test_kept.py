# SPDX-License-Identifier: Apache-2.0
"""Kept interleavings: their files, and what they say of the code as it is now."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from unsnarl.errors import UsageError
from unsnarl.model.constraint import Actor
from unsnarl.model.event import Op
from unsnarl.replay.anchors import Anchor, AnchoredConstraint, AnchoredEvent, AnchoredSchedule
from unsnarl.replay.constraints import Constrained
from unsnarl.replay.kept import VERSION, Kept, kept_file, kept_files, orders_of, read_kept, text_of
from unsnarl.replay.regress import Regressed, _state, without_node
from unsnarl.reports.replay_text import kept_statement
from unsnarl.workflows.regress import regress_code

SITE = "/home/me/.venv/lib/python3.11/site-packages/pool/core.py"


def schedule() -> AnchoredSchedule:
    anchors = (
        Anchor("queue.py", "Queue.size", 31, 'return self.size["a\\"]', 0, "size", Op.READ),
        Anchor(SITE, "Pool.get", 12, "with self.lock:", 1, "", Op.ACQUIRE, 4),
    )
    early, late = AnchoredEvent("0.2", 0, 3, 1, 2), AnchoredEvent("0.1", 1, 1, 0, 1)
    return AnchoredSchedule(
        version=1,
        run=7,
        signature="KeyError in queue.py:f",
        switch="gil",
        seed=1,
        python="3.11",
        anchors=anchors,
        segments=(),
        constraints=(AnchoredConstraint(early, late, late),),
        actors=((Actor("0.2"), Actor("0.1", True, 2)),),
    )


def kept() -> Kept:
    return Kept(
        version=VERSION,
        shows='Thread-2 reads "size" too early: ✗',
        failure="KeyError in queue.py:f",
        command=("python", "-m", "pytest", "tests/test_queue.py::test_a[x-1]"),
        orders=orders_of(schedule()),
        include=("pool",),
    )


def test_a_file_gives_back_what_was_kept(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(text_of(kept(), "size-1234"), encoding="utf-8")
    assert read_kept(file) == kept()


def test_a_kept_schedule_has_the_constraints_and_no_lines_of_this_machine():
    found, before = kept().schedule, schedule()
    assert found.constraints == before.constraints
    assert found.actors == before.actors
    assert [one.line for one in found.anchors] == [0, 0]
    assert [one.file for one in found.anchors] == ["queue.py", "pool/core.py"]
    assert "/home" not in text_of(kept(), "size-1234")


@pytest.mark.parametrize(
    "content", ["", "version = 1", "no toml", text_of(replace(kept(), version=99), "x")]
)
def test_a_file_that_is_none_is_refused_by_name(tmp_path, content):
    file = tmp_path / "one.toml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=r"one\.toml"):
        read_kept(file)


def test_an_operation_that_is_none_is_refused(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(text_of(kept(), "x").replace('does = "read"', 'does = "look"'))
    with pytest.raises(UsageError, match=r"one\.toml"):
        read_kept(file)


def test_kept_files_have_a_folder_of_their_own(tmp_path):
    file = kept_file(tmp_path, "queue-drained-twice")
    file.parent.mkdir(parents=True)
    file.write_text("")
    assert kept_files(tmp_path) == [file]
    with pytest.raises(UsageError):
        kept_file(tmp_path, "../elsewhere")


TRIED = Constrained(run=0, constraints=2, runs=3)


@pytest.mark.parametrize(
    ("found", "ends", "avoided", "state"),
    [
        (TRIED, [True], False, "fails"),
        (TRIED, [False], False, "differs"),
        (replace(TRIED, kept=3), [], False, "passes"),
        (replace(TRIED, released=1), [], False, "passes"),
        (TRIED, [], True, "passes"),
        (TRIED, [], False, "unreached"),
        (replace(TRIED, gone=("f, a.py [x]",), kept=3), [], True, "gone"),
    ],
)
def test_a_state_is_what_the_runs_under_the_orders_say(found, ends, avoided, state):
    assert _state(found, ends, avoided=avoided) == state


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["passes", "passes"], 0),
        (["passes", "fails", "gone"], 1),
        (["differs"], 1),
        (["passes", "gone"], 4),
        (["unreached"], 4),
        ([], 0),
    ],
)
def test_one_that_fails_decides(states, code):
    found = [Regressed("a.toml", "", state, TRIED) for state in states]
    assert regress_code(found) == code


def test_it_says_when_it_no_longer_applies():
    gone = replace(TRIED, gone=("Queue.size, queue.py [return self.size]",))
    assert kept_statement(Regressed("a.toml", "", "gone", gone)).startswith("no longer applies")


@pytest.mark.parametrize(
    ("command", "collects", "node"),
    [
        ("pytest t.py::test_a", "pytest t.py", "t.py::test_a"),
        ("python -m pytest -q t.py::T::test[x]", "python -m pytest -q t.py", "t.py::T::test[x]"),
        ("pytest t.py", "pytest t.py", ""),
        ("pytest t.py::test_a t.py::test_b", "pytest t.py::test_a t.py::test_b", ""),
        ("pytest --deselect=t.py::test_b t.py", "pytest --deselect=t.py::test_b t.py", ""),
        ("python tool.py a::b", "python tool.py a::b", ""),
    ],
)  # fmt: skip
def test_tests_of_one_file_have_one_command(command, collects, node):
    assert without_node(command.split()) == (tuple(collects.split()), node)
