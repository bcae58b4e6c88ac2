# SPDX-License-Identifier: Apache-2.0
"""What a capture notes of an access: the cell, its name, the locks."""

import collections
import multiprocessing
import os
import sys
import threading
import types

import pytest

from unsnarl.probes.python import capture, failures, naming, process_locks

READ, WRITE, CALL = 16, 17, 26


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(failures._files, "listed", {__file__})
    monkeypatch.setattr(capture, "_wanted", {READ, WRITE, CALL})
    for name in ("_values", "_written"):
        monkeypatch.setattr(capture, name, [])
    for name in ("_locks", "_lock_names", "_objects"):
        monkeypatch.setattr(capture, name, {})
    monkeypatch.setattr(naming, "_nameless", collections.Counter())


class Owner:
    shared: list[int] = []  # noqa: RUF012  a class attribute on purpose

    def __init__(self):
        self.lock = threading.Lock()
        self.ready = threading.Condition()
        self.items = [1, 2]
        self.table = {"a": 1}
        self.locks = [threading.Lock(), threading.Lock()]
        self.part = None


class Slotted:
    __slots__ = ("items",)

    def __init__(self):
        self.items = [1]


class Table(dict):
    def __getitem__(self, key):
        raise AssertionError("__getitem__ was run")

    def __len__(self):
        raise AssertionError("__len__ was run")


def name_of(wanted, **names):
    """The name that a frame with these local names gives."""
    frame = types.SimpleNamespace(f_locals=names, f_globals={}, f_code=name_of.__code__)
    return naming.name_of(wanted, [frame]).text


def test_the_nearest_frame_names_an_object():
    owner, alone = Owner(), [0]
    frames = list(naming.instrumented_frames(sys._getframe()))
    assert naming.name_of(alone, frames) == ("alone", None)
    assert naming.name_of(owner.items, frames) == ("Owner.items", owner)
    assert naming.name_of([5], frames) == ("", None)


def test_objects_are_found_behind_others():
    outer, inner = Owner(), Owner()
    outer.part = inner
    assert name_of(inner.items, self=outer) == "Owner.items"
    assert name_of(outer.locks[1], self=outer) == "Owner.locks[1]"
    assert name_of(inner.locks[1], pair=[inner.locks[0], inner.locks[1]]) == "pair[1]"
    assert name_of(inner.lock, locks={"a": inner.lock}) == "locks['a']"
    assert name_of(Owner.shared, self=outer) == "Owner.shared"
    slotted = Slotted()
    assert name_of(slotted.items, self=slotted) == "Slotted.items"


def test_an_object_without_a_name_is_searched_for_a_few_times_only(monkeypatch):
    searches = []
    monkeypatch.setattr(naming, "_searched", lambda *_: searches.append(1) or naming.Name())
    for _ in range(10):
        name_of(Owner.shared)
    assert len(searches) == naming._MOST_FAILED_SEARCHES


def test_a_condition_names_its_lock():
    owner = Owner()
    assert name_of(owner.ready._lock, self=owner) == "Owner.ready"


def test_a_lock_of_multiprocessing_names_what_stands_for_it():
    owner, gate = Owner(), object()
    lock = multiprocessing.Lock()
    lock._semlock = process_locks.SemLock(1, 1, 1, f"/unsnarl-test-{os.getpid()}", True)
    lock._semlock.gate = gate
    assert name_of(gate, lock=lock) == "lock"
    owner.part = lock
    assert name_of(gate, self=owner) == "Owner.part"
    assert name_of(gate, lock=multiprocessing.Lock()) == ""


# In a file of its own: the names of this function are not the target's.
TAKEN = """
def taken(obj, key, *, point=READ, locks=()):
    capture._hook(0, point, "0.1", obj, key, point != READ, list(locks))
    return capture._values[-1]
"""
space = {"READ": READ, "capture": capture}
exec(compile(TAKEN, "<taken>", "exec"), space)
taken = space["taken"]


def test_an_element_is_noted_apart_from_its_container():
    owner = Owner()
    assert taken(owner.table, "a")[5:8] == ["Owner.table", [], [2, "['a']", 1]]
    assert taken(owner.table, None)[5:8] == ["Owner.table", [], [2, "", 1]]
    assert taken(owner.items, -1)[5:8] == ["Owner.items", [], [3, "[1]", 1]]
    assert taken(owner.items, slice(1))[7][1] == ""
    assert taken(owner, "items")[5:8] == ["Owner.items", [], [1, "", 1]]


def test_an_attribute_of_the_class_belongs_to_the_class():
    one, other = Owner(), Owner()
    assert taken(one, "shared")[7] == taken(other, "shared")[7]
    assert taken(one, "items")[7] != taken(other, "items")[7]


def test_a_call_into_a_library_names_the_object_and_has_no_value():
    config = collections.ChainMap()
    value = taken(config, "get", point=CALL)
    assert (value[3], value[5]) == ("", "config")


def test_a_container_given_to_a_library_is_shown_after_the_call():
    numbers = [2]
    value = taken(numbers, None, point=CALL)
    numbers.append(3)
    capture._settle()
    assert (value[3], value[5]) == ("[2, 3]", "numbers")


def test_locks_have_numbers_and_sections(monkeypatch):
    told = []
    monkeypatch.setattr(capture._core, "note", told.append)
    one, other = Owner(), Owner()
    taken(one, "items", locks=[(one.lock, 5)])
    taken(one, "items", locks=[(other.lock, 6), (one.lock, 7)])
    taken(one, "items", locks=[(threading.Lock(), 8)])
    capture.note_values()
    values = capture.json.loads(told[0])["values"]
    assert [value[6] for value in values] == [[[1, 5]], [[2, 6], [1, 7]], [[3, 8]]]
    assert [value[4] for value in values] == [
        ["Owner.lock"],
        ["Owner.lock", "Owner.lock"],
        [capture.UNNAMED],
    ]


@pytest.mark.parametrize(
    ("value", "key", "text"),
    [
        (Table(a=5), "a", "5"),
        (collections.OrderedDict(a=5), "a", "5"),
        (collections.OrderedDict(a=5), None, "<OrderedDict of 1>"),
        ([0] * 9, None, "<list of 9>"),
        (Table(a=5), None, "<Table of 1>"),
    ],
)
def test_containers_are_asked_as_their_builtin_base(value, key, text):
    assert capture.value_text(value, key) == text
