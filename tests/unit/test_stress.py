# SPDX-License-Identifier: Apache-2.0
"""Programs of calls: serial orders, smaller programs, arguments, the file that is written."""

from __future__ import annotations

import ast
import sys
import threading
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsnarl.errors import UsageError
from unsnarl.probes.shown import shown
from unsnarl.stress import subject as subjects
from unsnarl.stress.arguments import from_examples, from_hint
from unsnarl.stress.generation import DrawnCalls, size_of
from unsnarl.stress.program import CallProgram, MethodCall, ProgramOutcome, differences, key_of
from unsnarl.stress.shrinking import smaller, smallest
from unsnarl.stress.writing import ProgramFile, variable_of

SHOP = """
class Item:
    pass

class LRUCache:
    def __init__(self, size: int): ...
    def get(self, key: str) -> int | None:
        return self._entries[key]
    def put(self, key: str, value: int) -> None:
        self._entries[key] = value
    def borrow(self) -> Item: ...
    def give_back(self, item: Item) -> None: ...
    def load(self, source: threading.Lock) -> None: ...
    async def fetch(self) -> None: ...
    def each(self):
        yield 1
    @property
    def size(self) -> int:
        return self._size
    def __len__(self) -> int: ...
    def _hidden(self) -> None: ...
"""
ADD = MethodCall("add", (("", "2"),))
GET = MethodCall("get")
KINDS = (ADD, GET, MethodCall("clear"))
calls = st.lists(st.sampled_from(KINDS), max_size=2).map(tuple)
threads = st.lists(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3).map(tuple),
                   min_size=2, max_size=3).map(tuple)  # fmt: skip
programs = st.builds(CallProgram, st.just("Sum(2)"), calls, threads, calls)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> subjects.Subject:
    (tmp_path / "stress_shop.py").write_text("import threading\n" + SHOP)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "stress_shop", raising=False)
    return subjects.load("stress_shop.py:LRUCache", None, tmp_path)


def simplest(call: MethodCall) -> tuple[tuple[str, str], ...]:
    return tuple((name, "1") for name, _ in call.arguments)


def test_public_methods_and_properties_are_called(shop: subjects.Subject) -> None:
    names = {one.name for one in shop.methods}
    assert names == {"get", "put", "borrow", "give_back", "load", "size", "__len__"}
    assert [one.name for one in shop.making] == ["size"]


def test_what_a_method_returns_is_given_to_the_one_that_takes_it(shop: subjects.Subject) -> None:
    taking = {one.name: one.takes for one in shop.methods if one.takes}
    assert taking == {"give_back": "borrow"}


def test_a_method_without_known_arguments_is_left_out(shop: subjects.Subject) -> None:
    assert DrawnCalls(shop).left_out == ["load"]


def test_reading_is_distinguished_from_changing(shop: subjects.Subject) -> None:
    reading = {one.name for one in shop.methods if one.reads_only}
    assert "get" in reading
    assert "put" not in reading


def test_a_taken_result_is_that_of_an_earlier_call(shop: subjects.Subject) -> None:
    import random

    drawn = DrawnCalls(shop)
    taking = 0
    for number in range(200):
        program = drawn.program(random.Random(number), size_of(number))
        for _, made in program.parts():
            for at, call in enumerate(made):
                if call.name == "give_back":
                    taking += 1
                    assert call.takes is not None
                    assert call.takes < at
                    assert made[call.takes].name == "borrow"
    assert taking


@pytest.mark.parametrize("spec", ["nothing", "no_such_module:Thing", "stress_shop:Missing"])
def test_a_wrong_name_is_refused_in_words(
    spec: str, shop: subjects.Subject, tmp_path: Path
) -> None:
    with pytest.raises(UsageError):
        subjects.load(spec, None, tmp_path)


@given(programs)
def test_serial_orders_keep_the_order_of_each_thread(program: CallProgram) -> None:
    orders = program.orders()
    counts = Counter({at: len(calls) for at, calls in enumerate(program.threads)})
    assert all(Counter(order) == counts for order in orders)
    assert len(set(orders)) == len(orders)


def test_there_are_as_many_orders_as_merges() -> None:
    assert len(CallProgram("A()", (), ((ADD, ADD), (GET, GET)), ()).orders()) == 6
    assert len(CallProgram("A()", (), ((ADD, ADD), (GET, GET), (ADD, GET)), ()).orders()) == 90


def weight(program: CallProgram) -> tuple[int, int]:
    texts = "".join(text for _, call in program.calls() for _, text in call.arguments)
    simple = texts.count("1") + program.make.count("1")
    return (sum(1 for _ in program.calls()), -simple)


@given(programs)
def test_what_is_smaller_has_fewer_calls_or_simpler_arguments(program: CallProgram) -> None:
    for one in smaller(program, simplest, "Sum(1)"):
        assert weight(one) < weight(program)
        assert len(one.threads) >= 2
        assert all(one.threads)


@given(programs)
def test_nothing_smaller_fails(program: CallProgram) -> None:
    def fails(one: CallProgram) -> bool:
        return sum(call.name == "add" for _, call in one.calls()) >= 1

    if fails(program):
        found = smallest(program, fails, simplest, "Sum(1)")
        assert not any(fails(one) for one in smaller(found, simplest, "Sum(1)"))
        assert sum(1 for _ in found.calls()) <= 3


def test_a_call_goes_with_the_one_whose_result_it_takes() -> None:
    taking = (MethodCall("borrow"), MethodCall("give_back", takes=0), GET)
    program = CallProgram("A()", (), (taking, (GET,)), ())
    found = {one.threads[0] for one in smaller(program, simplest, "A()")}
    assert (GET,) in found
    assert (MethodCall("borrow"), GET) in found
    assert all(call.takes in (None, 0) for made in found for call in made)


def test_arguments_are_texts_of_small_values() -> None:
    assert from_hint(int)[0] == "1"
    assert from_hint(str | None)[0] == "'a'"
    assert "None" in from_hint(str | None)
    assert from_hint(threading.Event) == ()
    assert all(isinstance(ast.literal_eval(one), list) for one in from_hint(list[int]))


def test_examples_are_written_down_or_named() -> None:
    rows = from_examples("put", [("a", 1), (print, 2)])
    assert rows == [("'a'", "1"), ("setup.calls['put'][1][0]", "2")]
    drawn = from_examples("get", st.sampled_from(("x", "y")))
    assert set(drawn) == {("'x'",), ("'y'",)}


def test_objects_go_by_type_and_number() -> None:
    one, other = object(), object()
    assert shown({"a": one, "b": other, "c": one}) == {
        "a": "<object 1>",
        "b": "<object 2>",
        "c": "<object 1>",
    }


@given(st.dictionaries(st.text(max_size=3), st.integers() | st.lists(st.booleans())))
def test_texts_do_not_depend_on_the_order_of_insertion(values: dict[str, Any]) -> None:
    turned = dict(reversed(values.items()))
    assert shown({"x": values}) == shown({"x": turned})
    assert shown(values) == shown(turned)


def test_the_order_of_an_ordered_dict_counts() -> None:
    one = OrderedDict(a=1, b=2)
    other = OrderedDict(b=2, a=1)
    assert shown({"x": one}) != shown({"x": other})


PAIR = CallProgram("Sum()", (), ((ADD,), (ADD,)), (GET,))


def outcome(first: str, second: str, after: str) -> ProgramOutcome:
    return ProgramOutcome({"first 0": first, "second 0": second, "after 0": after})


def test_what_is_masked_is_not_compared() -> None:
    one, other = outcome("1", "2", "3"), outcome("1", "2", "4")
    assert differences(one, other, PAIR) == {"get"}
    assert key_of(one, PAIR, frozenset()) != key_of(other, PAIR, frozenset())
    assert key_of(one, PAIR, frozenset({"get"})) == key_of(other, PAIR, frozenset({"get"}))


def test_two_hangs_do_not_differ() -> None:
    assert differences(ProgramOutcome(hangs=True), ProgramOutcome(hangs=True), PAIR) == frozenset()
    assert differences(ProgramOutcome(hangs=True), outcome("1", "2", "3"), PAIR) == {"add", "get"}


def written(
    serial: list[ProgramOutcome], wrong: ProgramOutcome, program: CallProgram = PAIR
) -> str:
    subject = subjects.Subject(dict, "shop", "Sum", (), ("/work",))
    return ProgramFile(subject, program, wrong, serial, frozenset()).text(Path("/work"))


def test_the_file_compares_what_serial_orders_gave() -> None:
    text = written([outcome("None", "None", "4")], outcome("None", "None", "2"))
    assert "        {'after: get()': 4},\n" in text
    assert "    def first():\n        sum.add(2)\n" not in text  # would hide the function
    assert "    def first():\n        sum_1.add(2)\n" in text
    compile(text, "stress_sum.py", "exec")


def test_expected_exceptions_are_compared_and_others_fail_by_themselves() -> None:
    serial = [outcome("raises KeyError", "2", "3")]
    text = written(serial, outcome("raises KeyError", "raises ValueError", "3"))
    assert "attempt(lambda: sum_1.add(2), 'KeyError')" in text
    assert "seen['second: add(2)'] = sum_1.add(2)" in text
    compile(text, "stress_sum.py", "exec")


def test_objects_are_counted_anew_in_the_file() -> None:
    serial = [ProgramOutcome({"first 0": "None", "second 0": "<Item 7>", "after 0": "[<Item 7>]"})]
    text = written(serial, outcome("None", "<Item 1>", "[<Item 2>]"))
    assert "{'second: add(2)': '<Item 1>', 'after: get()': '[<Item 1>]'}" in text
    assert "from unsnarl.probes.shown import shown" in text


def test_a_variable_is_no_builtin_and_no_keyword() -> None:
    names = ["LRUCache", "Pool", "Sum", "Class", "thing"]
    assert [variable_of(one) for one in names] == [
        *("lru_cache", "pool", "sum_1", "class_1", "thing_1")
    ]
