# SPDX-License-Identifier: Apache-2.0
import collections
import json
import types

import pytest

from unsnarl.probes.python import capture, failures, launcher


def names(source):
    return [step[0] for step in launcher.leading_imports(source.encode())]


def test_imports_at_the_top_are_found_in_order():
    source = '"""doc"""\nfrom __future__ import annotations\nimport b, a.c\nfrom d import e as f\n'
    assert launcher.leading_imports(source.encode()) == [
        ("b", (), 0),
        ("a.c", (), 0),
        ("d", ("e",), 0),
    ]


@pytest.mark.parametrize(
    "statement", ["x = 1", "if True: import q", "try: import q\nexcept: pass", "'text'", "print()"]
)
def test_any_other_statement_ends_the_leading_imports(statement):
    assert names(f"import a\n{statement}\nimport b\n") == ["a"]


def test_relative_imports_keep_their_level():
    assert launcher.leading_imports(b"from . import a\nfrom ..b import c\n") == [
        ("", ("a",), 1),
        ("b", ("c",), 2),
    ]


def test_a_source_that_does_not_parse_has_no_leading_imports():
    assert names("import a\nx = = 1\n") == []


def test_a_long_text_is_cut_in_the_middle():
    text = "begin" + "x" * 10_000 + "end"
    cut = failures.clean(text)
    assert len(cut.encode()) <= failures.TEXT_LIMIT
    assert cut.startswith("begin")
    assert cut.endswith("end")
    assert "[...]" in cut


def test_lone_surrogates_become_valid_text():
    failures.clean("a\ud800b").encode("utf-8")


@pytest.fixture
def notes(monkeypatch):
    found = []
    monkeypatch.setattr(failures._core, "note", lambda text: found.append(json.loads(text)))
    return found


def raised(error):
    try:
        raise error
    except BaseException as caught:
        return caught


def test_an_exception_is_noted_with_its_frames(notes):
    failures.note_exception(raised(ValueError("no")), "0.2")
    failure = notes[0]["failure"]
    assert (failure["kind"], failure["type"], failure["message"]) == (
        "exception",
        "ValueError",
        "no",
    )
    assert failure["thread"] == "0.2"
    assert failure["frames"][-1][0] == __file__
    assert failure["frames"][-1][2] == "raised"
    assert failure["text"].startswith("Traceback (most recent call last):\n")


def test_an_assertion_has_its_own_kind(notes):
    failures.note_exception(raised(AssertionError("x")), "0")
    assert notes[0]["failure"]["kind"] == "assertion"


def test_an_exception_whose_str_fails_is_noted_all_the_same(notes):
    class BadError(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    failures.note_exception(raised(BadError()), "0")
    assert notes[0]["failure"]["type"] == "BadError"


def test_only_instrumented_files_count_as_user_frames(notes, monkeypatch):
    monkeypatch.setattr(failures._files, "listed", {"<user>"})
    code = compile("def call(f): f()", "<user>", "exec")
    space = {}
    exec(code, space)
    try:
        space["call"](lambda: 1 / 0)
    except ZeroDivisionError as error:
        failures.note_exception(error, "0")
    assert notes[0]["failure"]["frames"] == [["<user>", 1, "call"]]


class Plain:
    default = 7

    def __init__(self):
        self.n = 1

    @property
    def trap(self):
        raise AssertionError("a property was run")

    def __getattr__(self, name):
        raise AssertionError("__getattr__ was run")

    def __repr__(self):
        raise AssertionError("__repr__ was run")


class Hashed:
    def __hash__(self):
        raise AssertionError("__hash__ was run")


HASHED = Hashed()


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 5


@pytest.mark.parametrize(
    ("make", "key", "text"),
    [
        (Plain, "n", "1"),
        (Plain, "default", "7"),
        (Plain, "trap", "<property>"),
        (Plain, "nothing", "<unset>"),
        (Slotted, "a", "5"),
        (Slotted, "b", "<unset>"),
        (lambda: [1, 2], 1, "2"),
        (lambda: [1, 2], -1, "2"),
        (lambda: [1, 2], 5, "<unset>"),
        (lambda: {"k": None}, "k", "None"),
        (lambda: {}, "k", "<unset>"),
        (lambda: {("a", 1): 2}, ("a", 1), "2"),
        (lambda: {}, Plain, "<unset>"),
        (lambda: {Plain: 3}, Plain, "3"),
        (lambda: {}, HASHED, ""),
        (lambda: collections.deque([3]), 0, "3"),
        (lambda: types.CellType(4), None, "4"),
        (types.CellType, None, "<unset>"),
        (lambda: [1, [2]], None, "[1, [2]]"),
        (lambda: [Plain()], 0, "<Plain>"),
        (lambda: [[Plain()]], 0, "<list of 1>"),
        (lambda: {"k": "x" * 90}, "k", "'" + "x" * 38 + "…"),
    ],
)
def test_values_are_taken_without_running_code_of_the_target(make, key, text):
    assert capture.value_text(make(), key) == text


def test_a_written_value_is_taken_after_the_write(notes, monkeypatch):
    monkeypatch.setattr(capture, "_values", [])
    monkeypatch.setattr(capture, "_wanted", {16, 17})
    obj = Plain()
    capture._hook(0, 17, "0.1", obj, "n", True, ())
    obj.n = 2
    capture._hook(1, 16, "0.2", obj, "n", False, ())
    capture._hook(2, 99, "0.2", obj, "n", False, ())
    obj.n = 3
    capture.note_values()
    taken = notes[0]["values"]
    assert [(value[0], value[1], value[2], value[3]) for value in taken] == [
        (0, 17, "0.1", "2"),
        (1, 16, "0.2", "2"),
    ]
    assert taken[0][5] == "Plain.n"
