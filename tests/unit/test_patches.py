# SPDX-License-Identifier: Apache-2.0
"""Patches are written into the text: what is not meant stays as it is, to the byte."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.execution.budget import Budget
from unsnarl.model.report import Fix, PatchChecks, SourceLine
from unsnarl.patches.blocks import LineSpan, covering
from unsnarl.patches.checks import check_holdable, same_but_for
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.drafts import drafts
from unsnarl.patches.locks import LockChoice
from unsnarl.patches.regions import Draft, lock_draft
from unsnarl.patches.search import PatchSearch, unified
from unsnarl.patches.source import LineEdits, UnpatchableError
from unsnarl.patches.trying import Tried, ends_well
from unsnarl.reports.fixes import try_notes

NEW = LockChoice("", "_lock", "a.py", is_new=True)
BANK = '''
import threading


class Account:
    """One account."""

    def __init__(self, balance):
        self.balance = balance

    def pay(self, amount):
        if self.balance >= amount:  # enough?
            self.balance -= amount
            return True
        return False


def main(account, amounts):
    for amount in amounts:
        account.pay(amount)
'''


def held(text: str | bytes, first: str, last: str = "", choice: LockChoice = NEW) -> str:
    """The file with the lock around the lines that have these parts."""
    file = source(text)
    span = LineSpan("a.py", line_of(file, first), line_of(file, last or first))
    return lock_draft({"a.py": file}, [span], choice).texts["a.py"]


def test_a_new_lock_is_born_in_the_class() -> None:
    choice = LockChoice("Account", "_lock", "a.py", is_new=True)
    text = held(BANK, "if self.balance", "self.balance -=", choice)
    assert "        self._lock = threading.Lock()\n        self.balance = balance\n" in text
    assert (
        "        with self._lock:\n"
        "            if self.balance >= amount:  # enough?\n"
        "                self.balance -= amount\n"
        "                return True\n"
        "        return False\n"
    ) in text


def test_a_new_lock_of_the_module_comes_behind_the_imports() -> None:
    text = held(BANK, "account.pay")
    assert "import threading\n\n_lock = threading.Lock()\n" in text
    assert "        with _lock:\n            account.pay(amount)\n" in text


def test_threading_is_imported_if_it_is_missing() -> None:
    text = held('"""Text."""\nfrom __future__ import annotations\nx = 1\nx += 1\n', "x += 1")
    assert text == (
        '"""Text."""\nfrom __future__ import annotations\n\nimport threading\n\n'
        "_lock = threading.Lock()\n\nx = 1\nwith _lock:\n    x += 1\n"
    )


def test_names_imported_from_threading_are_used() -> None:
    text = held("from threading import Lock as L\nx = 1\n", "x = 1")
    assert "_lock = L()\n" in text


OWN = """
import threading


class Log:
    def __init__(self):
        self.lock = threading.Lock()
        self.lines = []
        self.closed = False

    def write(self, line):
        if self.closed:
            return
        with self.lock:  # short
            self.lines.append(line)

    def count(self):
        n = 0
        with self.lock:
            n += len(self.lines)
        return n
"""
LOCK = LockChoice("Log", "lock")


def test_a_region_that_holds_the_lock_partly_is_extended() -> None:
    text = held(OWN, "if self.closed", "self.lines.append", LOCK)
    assert (
        "        with self.lock:\n"
        "            if self.closed:\n"
        "                return\n"
        "            self.lines.append(line)\n"
    ) in text
    assert text.count("with self.lock") == 2


def test_a_with_next_to_the_region_is_joined() -> None:
    text = held(OWN, "n = 0", choice=LOCK)
    assert "        with self.lock:\n            n = 0\n            n += len(self.lines)\n" in text


def test_what_is_under_the_lock_already_is_no_patch() -> None:
    with pytest.raises(UnpatchableError, match="held there already"):
        held(OWN, "n += len", choice=LOCK)


def test_an_inner_with_of_several_locks_keeps_the_others() -> None:
    text = held(
        "def f(log):\n    a = log.x\n    with log.lock, b:\n        log.x = a\n",
        "a = log.x",
        "log.x = a",
        LockChoice("", "log.lock", "a.py"),
    )
    assert text == (
        "def f(log):\n    with log.lock:\n        a = log.x\n"
        "        with b:\n            log.x = a\n"
    )


def test_the_lock_of_another_object_is_reached_through_it() -> None:
    more = OWN + "\n\nclass User:\n    def work(self):\n        self.log.write('a')\n"
    text = held(more, "self.log.write", choice=LOCK)
    assert "        with self.log.lock:\n            self.log.write('a')\n" in text


def test_no_lock_is_reached_through_a_variable_at_fault() -> None:
    more = OWN + "\n\nclass User:\n    def work(self):\n        self.log.write('a')\n"
    file = source(more)
    at = line_of(file, "self.log.write")
    with pytest.raises(UnpatchableError, match="at fault"):
        lock_draft({"a.py": file}, [LineSpan("a.py", at, at)], LOCK, frozenset({"log"}))


def test_a_lock_becomes_reentrant() -> None:
    text = held(OWN, "if self.closed", choice=LockChoice("Log", "lock", reentrant=True))
    assert "self.lock = threading.RLock()\n" in text


@pytest.mark.parametrize(
    "call",
    ["t.join()", "t.join(timeout=1)", "q.get()", "e.wait()", "time.sleep(1)", "f.result()",
     "yield 1", "pool.shutdown()"],
)  # fmt: skip
def test_no_lock_is_held_around_what_waits(call: str) -> None:
    with pytest.raises(UnpatchableError, match="held"):
        held(f"def f():\n    x = 1\n    {call}\n    x = 2\n", "x = 1", "x = 2")


@pytest.mark.parametrize("call", ["', '.join(x)", "d.get('a')", "g(lambda: t.join())"])
def test_what_only_looks_like_waiting_may_be_held(call: str) -> None:
    assert "with _lock:" in held(f"def f():\n    x = {call}\n", "x = ")


def test_a_condition_may_be_waited_for_under_its_own_lock() -> None:
    statements = tuple(ast.parse("self.ready.wait()").body)
    check_holdable(statements, "a.py:1", "self.ready")
    with pytest.raises(UnpatchableError):
        check_holdable(statements, "a.py:1", "self.lock")


def test_strings_over_several_lines_keep_their_text() -> None:
    text = held(
        'def f():\n    a = """one\n  two\n"""\n    # why\n\n    b = f"""x\n{a}\ny"""\n',
        "a = ",
        "b = ",
    )
    assert (
        'with _lock:\n        a = """one\n  two\n"""\n        # why\n\n'
        '        b = f"""x\n{a}\ny"""\n'
    ) in text
    assert text.count('"""') == 4


def test_tabs_line_ends_and_encodings_stay() -> None:
    data = "# -*- coding: latin-1 -*-\r\ndef f():\r\n\tx = 'é'\r\n\tx += 'ü'\r\n".encode("latin-1")
    file = source(data)
    draft = lock_draft({"a.py": file}, [LineSpan("a.py", 4, 4)], NEW)
    new = file.encoded(draft.texts["a.py"])
    assert b"\twith _lock:\r\n\t\tx += '\xfc'\r\n" in new
    assert b"\n" not in new.replace(b"\r\n", b"")


def test_statements_of_one_line_stay_together() -> None:
    text = held("def f():\n    a = 1; b = 2\n    c = 3\n", "b = 2")
    assert "    with _lock:\n        a = 1; b = 2\n    c = 3\n" in text


def test_a_block_in_the_line_of_its_header_is_taken_whole() -> None:
    text = held("def f(x):\n    if x: y = 1\n    return x\n", "y = 1")
    assert "    with _lock:\n        if x: y = 1\n" in text


def test_decorators_move_with_their_function_and_docstrings_stay() -> None:
    text = held("def f():\n    @cache\n    def g():\n        pass\n    g()\n", "def g", "    g()")
    assert (
        "    with _lock:\n        @cache\n        def g():\n            pass\n        g()\n" in text
    )
    text = held('def f():\n    """Text."""\n    a = 1\n', "Text", "a = 1")
    assert '    """Text."""\n    with _lock:\n        a = 1\n' in text


def test_what_differs_in_more_than_was_wanted_is_refused() -> None:
    file = source("a = 1\nb = 2\n")
    same_but_for(file, "with x:\n    a = 1\nb = 2\n", ["with x:"])
    for text in ("with x:\n    a = 1\n", "a = 1\nb = 3\n", "with y:\n    a = 1\nb = 2\n", "a = \n"):
        with pytest.raises(UnpatchableError):
            same_but_for(file, text, ["with x:"])


def test_a_diff_says_where_a_file_has_no_last_line_end() -> None:
    file = source("def f():\n    a = 1")
    draft = Draft("lock", "", {"a.py": "def f():\n    with x:\n        a = 1"}, 1)
    assert unified(draft, {"a.py": file}).count("\\ No newline at end of file\n") == 2


def test_a_diff_of_a_file_elsewhere_has_the_headers_that_patch_takes() -> None:
    draft = Draft("lock", "", {"/src/a.py": "a = 2\n"}, 1)
    assert unified(draft, {"/src/a.py": source("a = 1\n")}).startswith(
        "--- a/src/a.py\n+++ b/src/a.py\n"
    )


# Random programs: whatever is wrapped, the program means the same.

NAMES = st.sampled_from(["a", "b", "c"])
SIMPLE = st.one_of(
    st.builds("{} = {}".format, NAMES, NAMES),
    st.builds('{} = """x\n  y\n"""'.format, NAMES),
    st.builds("{} = (1,\n2)  # text".format, NAMES),
    st.builds("{0} = 1; {0} += 2".format, NAMES),
    st.builds("{} = {} + \\\n  1".format, NAMES, NAMES),
    st.just("# a comment"),
    st.just(""),
)
HEADERS = st.sampled_from(
    ["if a:", "while b:", "for a in b:", "with c:", "def f(a):", "class A:", "with a, c:", "try:"]
)


def indented(text: str, unit: str) -> str:
    """As a block; lines within strings and brackets keep their own indentation."""
    first, *rest = text.split("\n") if '"""' in text or "(" in text or "\\" in text else [text]
    return "\n".join([unit + first, *rest])


def block(lines: list[str], unit: str, depth: int) -> str:
    return "\n".join(indented(line, unit * depth) for line in lines)


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, str]:
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        depth = draw(st.integers(0, 2))
        lines = draw(st.lists(SIMPLE, min_size=1, max_size=4))
        headers = draw(st.lists(HEADERS, min_size=depth, max_size=depth))
        parts += [unit * at + header for at, header in enumerate(headers)]
        parts += [block([*lines, "pass"], unit, depth)]
        for at in reversed(range(depth)):
            if headers[at] == "try:":
                parts += [f"{unit * at}finally:", f"{unit * (at + 1)}a = 9"]
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return "\n".join(parts).replace("\n", end) + end, unit


@given(programs(), st.data())
def test_wrapping_keeps_what_a_program_means(made: tuple[str, str], data: st.DataObject) -> None:
    text, _ = made
    file = source(text.encode())
    first = data.draw(st.integers(1, len(file.lines)))
    last = data.draw(st.integers(first, len(file.lines)))
    try:
        run = covering(file, first, last)
    except UnpatchableError:
        return
    edits = LineEdits(file)
    edits.wrap(run.first, run.last, "with the_lock:")
    new = edits.text()
    same_but_for(file, new, ["with the_lock:"])
    wrapped = [node for node in ast.walk(ast.parse(new)) if isinstance(node, ast.With)]
    mine = next(one for one in wrapped if ast.unparse(one.items[0]) == "the_lock")
    assert [ast.dump(one) for one in mine.body] == [ast.dump(one) for one in run.statements]
    kept = [line.strip() for line in new.splitlines() if line.strip() != "with the_lock:"]
    assert kept == [line.strip() for line in file.text.splitlines()]


# From a finding to drafts.


ITERATED = """\
import threading


class Seen:
    def __init__(self):
        self.lock = threading.Lock()
        self.hosts = {}
        self.count = 0

    def add(self, host):
        with self.lock:
            self.count += 1
        self.hosts[host] = 1

    def names(self):
        found = []
        for host in self.hosts.items():
            found.append(host)
        return found
"""


def iterated(message: str = "") -> Conflict:
    return conflict(
        ITERATED,
        point(17, 1, "read", "Seen.hosts", function="Seen.names"),
        point(13, 2, "write", "Seen.hosts['a']", function="Seen.add"),
        point(17, 1, "read", "Seen.hosts", function="Seen.names"),
        message=message,
    )


def test_every_access_at_fault_must_be_under_the_lock() -> None:
    made = drafts(iterated())
    assert made
    for draft in made:
        for line in (17, 13):
            assert any(span.covers(LineSpan("a.py", line, line)) for span in draft.spans)
    assert {(17, 17), (13, 13)} <= {(one.first, one.last) for one in made[0].spans}
    assert made[0].choice == LockChoice("Seen", "lock")
    text = made[0].texts["a.py"]
    assert "            self.count += 1\n            self.hosts[host] = 1\n" in text
    assert "        with self.lock:\n            for host in self.hosts.items():\n" in text


def test_a_changed_container_is_copied_before_the_iteration() -> None:
    first = drafts(iterated("RuntimeError: dictionary changed size during iteration"))[0]
    assert first.kind == "copy"
    assert "        for host in list(self.hosts.items()):\n" in first.texts["a.py"]


def test_a_wait_is_put_into_a_loop() -> None:
    text = (
        "class Shop:\n    def take(self):\n        with self.full:\n            if not self.shelf:"
        "  # wait\n                self.full.wait()\n            return self.shelf.pop()\n"
    )
    here = {"function": "Shop.take"}
    made = drafts(
        conflict(
            text,
            point(4, 1, "read", "Shop.shelf", **here),
            point(6, 2, "write", "Shop.shelf", **here),
        )
    )
    assert made[0].kind == "recheck"
    assert "            while not self.shelf:  # wait\n" in made[0].texts["a.py"]


def test_a_check_before_the_condition_comes_under_its_lock() -> None:
    text = (
        "class Box:\n    def get(self):\n        if not self.full:\n            with self.some:\n"
        "                self.some.wait()\n        return self.item\n"
    )
    where = {"function": "Box.get"}
    made = drafts(conflict(text, point(3, 1, "read", "Box.full", **where)))
    assert (
        "        with self.some:\n            while not self.full:\n"
        "                self.some.wait()\n"
    ) in made[0].texts["a.py"]


NESTED = """\
def move(one, two):
    with one.lock:
        with two.lock:  # both
            one.n -= 1
"""


def test_locks_are_taken_in_one_order() -> None:
    where = {"function": "move"}
    made = drafts(
        conflict(
            NESTED,
            point(2, 1, "acquire", "one.lock", **where),
            point(3, 1, "wait", "two.lock", **where),
            point(3, 2, "wait", "one.lock", **where),
            kind="deadlock",
        )
    )
    texts = [one.texts["a.py"] for one in made if one.kind == "lock-order"]
    assert texts[0].startswith("def move(one, two):\n    with two.lock:\n        with one.lock:")
    assert texts[1] == (
        "def move(one, two):\n"
        "    first_lock, second_lock = sorted((one.lock, two.lock), key=id)\n"
        "    with first_lock:\n        with second_lock:  # both\n            one.n -= 1\n"
    )


ORDERED = """\
import threading


def run(work):
    result = None

    def first():
        nonlocal result
        result = work()

    def second():
        print(result)

    threads = [threading.Thread(target=first)]
    for thread in threads:
        thread.start()
    second()
"""


def ordered(kind: str, scope: Any = "once") -> Conflict:
    begin = SourceLine("a.py", 9, "run.<locals>.first")
    end = SourceLine("a.py", 12, "run.<locals>.second")
    return conflict(
        ORDERED,
        point(12, 1, "read", "result", function="run.<locals>.second"),
        point(9, 2, "write", "result", function="run.<locals>.first"),
        kind=kind,
        fix=Fix("order", begin, end, scope=scope, runs=1),
    )


def test_an_event_is_waited_for() -> None:
    made = [one for one in drafts(ordered("order")) if one.kind == "event"]
    text = made[0].texts["a.py"]
    assert "def run(work):\n    ready = threading.Event()\n    result = None\n" in text
    assert "        result = work()\n        ready.set()\n" in text
    assert "    def second():\n        ready.wait()\n        print(result)\n" in text


def test_what_must_come_first_in_every_turn_has_a_semaphore() -> None:
    made = [one for one in drafts(ordered("order", "turns")) if one.kind == "event"]
    text = made[0].texts["a.py"]
    assert "def run(work):\n    ready = threading.Semaphore()\n    result = None\n" in text
    assert "        result = work()\n        ready.release()\n" in text
    assert "    def second():\n        ready.acquire()\n        print(result)\n" in text


def test_an_order_is_no_fix_of_an_atomicity_violation() -> None:
    assert not [one for one in drafts(ordered("atomicity")) if one.kind in ("event", "join")]


def test_threads_are_joined_before_their_result_is_used() -> None:
    begin, end = SourceLine("a.py", 9, "run.<locals>.first"), SourceLine("a.py", 17, "run")
    made = conflict(
        ORDERED,
        point(17, 1, "read", "result", function="run"),
        point(9, 2, "write", "result", function="run.<locals>.first"),
        kind="order",
        fix=Fix("order", begin, end, scope="ended", runs=1),
    )
    texts = [one.texts["a.py"] for one in drafts(made) if one.kind == "join"]
    assert "    for thread in threads:\n        thread.join()\n    second()\n" in texts[0]


# The search.


def came(fail: int = 0, deadlocks: int = 0, accessed: frozenset[Any] = frozenset()) -> Tried:
    return Tried(PatchChecks(200, fail, deadlocks, 10, 0, True), accessed=accessed)


def test_the_first_that_survives_wins() -> None:
    tries = iter([came(fail=3), came()])
    found = PatchSearch(iterated(), lambda _: next(tries), Budget()).find()
    assert found is not None
    assert found.patch.works
    assert found.patch.tried == 2
    assert found.patch.diff.startswith("--- a/a.py\n+++ b/a.py\n@@ ")


def test_the_nearest_is_named_if_none_survives() -> None:
    figures = iter([3, 1, *[5] * 30])
    found = PatchSearch(iterated(), lambda _: came(fail=next(figures)), Budget()).find()
    assert found is not None
    assert not found.patch.works
    assert found.patch.checks.fail == 1
    assert [one.checks.fail for one in found.patch.tries[:3]] == [3, 1, 5]
    notes = try_notes(found.patch)
    assert notes[1] == f"2. {found.patch.tries[1].says}: 1 of 210 runs fail"
    assert len(notes) == found.patch.tried


@pytest.mark.parametrize(
    ("printed", "before", "well"),
    [
        ("pass\n3", "pass\n3", True),
        ("pass\n4", "pass\n3", False),
        ("fail\n", "pass\n3", False),
        ("stuck\n", "pass\n3", False),
        ("pass\n3", "fail\n", True),
        ("fail\n", "fail\n", False),
        ("stuck\n", "stuck\n", False),
    ],
)
def test_a_run_without_interruptions_ends_as_before_or_better(
    printed: str, before: str, well: bool
) -> None:
    assert ends_well(printed, before) is well


def test_a_deadlock_leads_to_a_lock_that_can_be_taken_twice() -> None:
    tried = []

    def attempt(draft: Draft) -> Tried:
        tried.append(draft)
        return came(deadlocks=1) if len(tried) == 1 else came()

    PatchSearch(iterated(), attempt, Budget()).find()
    assert [one.choice and one.choice.reentrant for one in tried] == [False, True]
    assert "threading.RLock()" in tried[1].texts["a.py"]


def test_a_failing_run_adds_what_was_missed() -> None:
    more = ITERATED + "\n    def drop(self, host):\n        del self.hosts[host]\n"
    made = iterated()
    made = Conflict(made.finding, {"a.py": source(more)})
    tried = []

    def attempt(draft: Draft) -> Tried:
        tried.append(draft)
        missed = frozenset({("a.py", "Seen.drop", "hosts")})
        return came(fail=1, accessed=missed) if len(tried) == 1 else came()

    found = PatchSearch(made, attempt, Budget()).find()
    assert found is not None
    line = line_of(made.sources["a.py"], "del self.hosts")
    assert LineSpan("a.py", line, line) in tried[1].spans
    assert "        with self.lock:\n            del self.hosts[host]\n" in tried[1].texts["a.py"]
