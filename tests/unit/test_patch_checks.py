# SPDX-License-Identifier: Apache-2.0
"""What a draft may change, and how far one that is wrong is run."""

import ast
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.conflicts import source

from unsnarl.execution.budget import Budget
from unsnarl.model.report import PatchChecks
from unsnarl.patches.checks import _plain, changed_parts, same_but_for
from unsnarl.patches.source import SourceFile, UnpatchableError
from unsnarl.patches.trying import CONSTRAINED, VARYING, PatchRunner, _along, is_kept_on
from unsnarl.replay.replayer import LOOSER, Replayer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("==== 1 passed in 0.12s =====", "=== 1 passed in 34.50s ===="),
        ("==== 1 passed in 9.98s =====", "=== 1 passed in 61.20s (0:01:01) ==="),
        ("<Account at 0x7f00>", "<Account at 0x10>"),
    ],
)
def test_times_and_what_fills_their_lines_are_no_difference(one, other):
    assert VARYING.sub("", one) == VARYING.sub("", other)


def test_a_count_is_a_difference():
    assert VARYING.sub("", "3 lost of 10") != VARYING.sub("", "2 lost of 10")


PARTS = '''
import os

TEXT = """
one
two"""


@staticmethod
def first(box):
    box.n += 1


a = 1; b = [
    2,
]


class Box:
    def take(self):
        return self.n
'''


def edited(*pairs: tuple[str, str]) -> tuple[SourceFile, str]:
    file = source(PARTS)
    text = file.text
    for old, new in pairs:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return file, text


@pytest.mark.parametrize(
    "pairs",
    [
        [("import os\n", "import threading\nimport os\n")],
        [("    box.n += 1\n", "    with box.lock:\n        box.n += 1\n")],
        [
            ("import os\n", "import threading\nimport os\n"),
            ("        return self.n\n", "        with self.lock:\n            return self.n\n"),
        ],
    ],
)
def test_what_was_added_is_all_that_differs(pairs):
    file, text = edited(*pairs)
    same_but_for(file, text, ["import threading", "with box.lock:", "with self.lock:"])


@pytest.mark.parametrize(
    "pairs",
    [
        [("one\ntwo", "one\nimport threading\ntwo")],  # inside of a string
        [("box.n += 1", "box.n += 2")],
        [("    2,\n", "")],
        [
            ("import os\n", ""),
            ("        return self.n", "        import os\n        return self.n"),
        ],
        [("import os\n", "import threading\n")],
        [("    box.n += 1\n", "    with box.lock:\n    box.n += 1\n")],
        [('two"""', "two")],
    ],
)
def test_anything_else_is_refused(pairs):
    file, text = edited(*pairs)
    with pytest.raises(UnpatchableError):
        same_but_for(file, text, ["import threading", "with box.lock:"])


def test_only_statements_that_differ_are_compared():
    file, text = edited(("    box.n += 1\n", "    with box.lock:\n        box.n += 1\n"))
    ((old, new),) = changed_parts(file, text)
    assert old == "@staticmethod\ndef first(box):\n    box.n += 1\n"
    assert new.startswith("@staticmethod\n") and new.endswith("        box.n += 1\n")


@given(
    st.lists(st.tuples(st.integers(0, 25), st.sampled_from(["x = 1", "with x:", '"""', "n", ""]))),
    st.sets(st.integers(0, 25)),
)
def test_parts_that_differ_are_judged_like_the_whole(inserted, indented):
    file = source(PARTS)
    lines = [f"    {line}" if at in indented else line for at, line in enumerate(file.lines)]
    for at, text in inserted:
        lines.insert(min(at, len(lines)), f"{text}\n")
    text, added = "".join(lines), frozenset({"x = 1", "with x:"})
    try:
        whole = _plain(ast.parse(text), added) == _plain(ast.parse(file.text), added)
    except SyntaxError:
        whole = False
    try:
        same_but_for(file, text, added)
        parts = True
    except UnpatchableError:
        parts = False
    assert parts == whole


class ScriptedReplayer:
    """Trials under free switching fail from the given one on."""

    def __init__(self, first_bad: int, kind: str = "free") -> None:
        self.schedule = SimpleNamespace(constraints=("order",))
        self._bad_kind = kind
        self.made: list[str] = []
        self._first_bad = first_bad

    def fails(self, one: Any) -> bool:
        return bool(one.label != "pass")

    def follow(self, times: int) -> list[Any]:
        return self._run("follow", times, lambda made: False)

    def freely_constrained_trials(self, runs: int, until: Any) -> list[Any]:
        return self._run("free", runs, until)

    def constrained_trials(self, runs: int, until: Any) -> list[Any]:
        return self._run("constrained", runs, until)

    def lifted_trials(self, runs: int, until: Any) -> list[Any]:
        return self._run("lifted", runs, until)

    def _run(self, kind: str, runs: int, until: Any) -> list[Any]:
        found: list[Any] = []
        for number in range(1, runs + 1):
            bad = kind == self._bad_kind and number >= self._first_bad
            self.made.append(kind)
            found.append(SimpleNamespace(label="fail" if bad else "pass"))
            if until(found):
                break
        return found


@pytest.mark.parametrize(("first_bad", "made"), [(1, 2), (3, 4), (99, 1 + 3 * CONSTRAINED)])
def test_a_patch_is_run_up_to_its_first_bad_trial(first_bad: int, made: int) -> None:
    replayer = ScriptedReplayer(first_bad)
    found = _along(replayer)  # type: ignore[arg-type]
    assert len(replayer.made) == len(found) == made


def test_a_patch_fails_where_its_threads_are_held_before_their_locks() -> None:
    replayer = ScriptedReplayer(2, "lifted")
    found = _along(replayer)  # type: ignore[arg-type]
    assert [one.label for one in found].count("fail") == 1
    assert replayer.made[-2:] == ["lifted"] * 2


def hung(kind: str) -> Any:
    failure = SimpleNamespace(kind=kind, message="still running after 10 s")
    plan = SimpleNamespace(strategy="replay")
    return SimpleNamespace(label="hang", plan=plan, run=SimpleNamespace(failures=[failure]))


class HungReplayer(ScriptedReplayer):
    """Following the schedule itself ends in a hang."""

    def __init__(self, kind: str, constraints: tuple[str, ...]) -> None:
        super().__init__(first_bad=99)
        self.schedule = SimpleNamespace(constraints=constraints)
        self._hung = hung(kind)

    def follow(self, times: int) -> list[Any]:
        return [self._hung]


def test_a_loop_that_the_failure_ended_does_not_speak_against_a_patch() -> None:
    """`while importer.is_alive(): look()`: a schedule that ends in the failure stays in there."""
    found = _along(HungReplayer("hang", ("order",)))  # type: ignore[arg-type]
    assert [one.label for one in found] == ["pass"] * 3 * CONSTRAINED


@pytest.mark.parametrize(("kind", "constraints"), [("deadlock", ("order",)), ("hang", ())])
def test_a_hang_counts_if_it_is_a_deadlock_or_nothing_else_is_tried(
    kind: str, constraints: tuple[str, ...]
) -> None:
    found = _along(HungReplayer(kind, constraints))  # type: ignore[arg-type]
    assert [one.label for one in found] == ["hang"]


def test_a_run_that_ends_was_not_kept_on() -> None:
    assert is_kept_on(hung("hang")) and not is_kept_on(hung("deadlock"))
    assert not is_kept_on(SimpleNamespace(label="fail"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("is_patient", "made"), [(True, 1 + len(LOOSER)), (False, 1)])
def test_what_hangs_is_followed_more_loosely_only_with_patience(
    monkeypatch: pytest.MonkeyPatch, is_patient: bool, made: int
) -> None:
    """Each of them takes a whole time limit."""
    plans: list[int] = []

    def run(asked: list[int], until: Any = None) -> list[Any]:
        plans.extend(asked)
        return [hung("hang") for _ in asked]

    monkeypatch.setattr(Replayer, "_plan", lambda _, looseness: looseness)
    monkeypatch.setattr(Replayer, "fails", lambda _, trial: False)
    replayer = Replayer.__new__(Replayer)
    replayer._first, replayer._resolved, replayer._is_patient = None, {}, is_patient
    replayer.schedule = SimpleNamespace(segments=(1,))  # type: ignore[assignment]
    replayer._trials = SimpleNamespace(run=run)  # type: ignore[assignment]
    replayer._choose()
    assert len(plans) == made


@pytest.mark.parametrize(
    ("spent", "made", "late"),
    [(9.0, 50, False), (11.0, 200, False), (11.0, 50, True)],
)
def test_a_patch_is_given_up_when_its_pace_does_not_suffice(
    spent: float, made: int, late: bool
) -> None:
    clock = [0.0]
    runner = PatchRunner.__new__(PatchRunner)
    runner._budget = budget = Budget(20.0, clock=lambda: clock[0])
    with budget.beginning(10.0):
        clock[0] = spent
        assert runner._is_late(0.0, made, 260) is late


@pytest.mark.parametrize(
    ("switch", "runs", "known", "again"),
    [
        ("gil", 200, PatchChecks(260, serial=True), True),
        ("gil", 300, PatchChecks(260, serial=True), False),  # so rare a failure takes more
        ("gil", 200, PatchChecks(259, serial=True), False),  # one ended in another failure
        ("free", 200, PatchChecks(200, serial=True), True),
        ("gil", 200, PatchChecks(260, fail=1, serial=True), False),
    ],
)
def test_fresh_runs_of_a_patch_are_not_made_again_for_another_failure(
    monkeypatch: pytest.MonkeyPatch, switch: Any, runs: int, known: PatchChecks, again: bool
) -> None:
    made: list[PatchChecks | None] = []
    runner = PatchRunner.__new__(PatchRunner)
    runner._switch = switch
    monkeypatch.setattr(PatchRunner, "run", lambda *one: made.append(one[-1]))
    runner.run_on_others(None, {}, runs, known)  # type: ignore[arg-type]
    assert made == ([known] if again else [])
