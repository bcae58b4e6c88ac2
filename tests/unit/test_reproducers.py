# SPDX-License-Identifier: Apache-2.0
"""The text of a reproducer, how it finds instructions, and what its outcome means."""

from __future__ import annotations

import ast
import builtins
import dis
import linecache
import symtable
import sys
from pathlib import Path

import pytest

from unsnarl.replay.portable import portable_command, portable_file, portable_word
from unsnarl.reproducers.events import ForcedEvent, ForcedOrder
from unsnarl.reproducers.gdb_writing import GdbScript
from unsnarl.reproducers.machinery import parent
from unsnarl.reproducers.machinery.events import HeldEvent
from unsnarl.reproducers.writing import Reproducer, failure_name

SOURCE = """\
class Queue:
    def take(self):
        with self.lock:
            self.size -= 1
            self.items.append(self.size)
        for item in self.items:
            self.size = item
"""


@pytest.fixture
def code(tmp_path):
    """The code of Queue.take, with its source where tracebacks look for it."""
    file = tmp_path / "queue.py"
    file.write_text(SOURCE)
    linecache.checkcache(str(file))
    module = compile(SOURCE, str(file), "exec")
    (body,) = (one for one in module.co_consts if hasattr(one, "co_code"))
    return next(one for one in body.co_consts if getattr(one, "co_name", "") == "take")


def event(**values: object) -> HeldEvent:
    return HeldEvent({"thread": "0.1", "file": "queue.py", "function": "Queue.take", **values})


def names_at(code, offsets):
    return [one.opname for one in dis.get_instructions(code) if one.offset in offsets]


def test_a_read_and_a_write_of_one_line_are_two_instructions(code):
    text, columns = "self.size -= 1", (0, 9)
    read = event(text=text, what="get", name="size", columns=columns).instructions(code)
    write = event(text=text, what="set", name="size", columns=columns).instructions(code)
    assert names_at(code, read[0]) == ["LOAD_ATTR"]
    assert names_at(code, write[0]) == ["STORE_ATTR"]


def test_a_method_is_over_when_its_call_is(code):
    text = "self.items.append(self.size)"
    found = event(text=text, what="get", name="append", columns=(0, 17), ends=(0, 28))
    begins, ends = found.instructions(code)
    assert names_at(code, begins)[0].startswith("LOAD_")
    assert names_at(code, ends) == ["CALL"]


def test_the_next_item_of_a_loop_is_one_instruction(code):
    found = event(text="for item in self.items:", what="next", columns=(0, None))
    assert names_at(code, found.instructions(code)[0]) == ["FOR_ITER"]


def test_an_edited_line_is_found_by_what_it_is_like(code):
    found = event(text="self.size -= 2", what="set", name="size", columns=(0, 9))
    assert names_at(code, found.instructions(code)[0]) == ["STORE_ATTR"]


def test_a_line_that_is_like_no_other_is_gone(code):
    found = event(text="raise RuntimeError('full')", what="get", name="state")
    assert found.instructions(code) == (set(), set())


def made(op: str = "") -> Reproducer:
    early = ForcedEvent("0.1", "queue.py", "Queue.take", "self.size -= 1", "set", "size")
    late = ForcedEvent("0.2", "queue.py", "Queue.take", "with self.lock:", "enter", op=op)
    return Reproducer(
        kind="script",
        words=("queue.py",),
        options=(),
        failure="IndexError",
        deadlock=False,
        fail_if="",
        ok_exit=(),
        stdin="",
        orders=(ForcedOrder(early, late),),
        header='"""What it shows."""\n',
    )


def test_a_reproducer_imports_the_standard_library_only():
    tree = ast.parse(made().text)
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [one.name for one in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    # pytest only where the user's test is one
    assert imported - {"pytest"} <= sys.stdlib_module_names


@pytest.mark.parametrize("op", ["", "acquire"])
def test_a_reproducer_names_nothing_that_it_does_not_define(op):
    text = made(op).text
    table = symtable.symtable(text, "reproducer", "exec")
    symbols = table.get_symbols()
    defined = {one.get_name() for one in symbols if one.is_assigned() or one.is_imported()}
    inner = [one for child in walk(table) for one in child.get_symbols()]
    used = {one.get_name() for one in inner if one.is_global()}
    assert used - defined - set(dir(builtins)) - {"__file__", "__name__"} == set()
    assert ("class RLock" in text) == bool(op)


def walk(table):
    yield table
    for child in table.get_children():
        yield from walk(child)


def report(states, *failures, gone=(), avoided=()):
    return {"states": states, "failures": failures, "gone": gone, "avoided": avoided}


@pytest.mark.parametrize(
    ("status", "given", "code"),
    [
        (1, report(["kept"], "IndexError: pop from empty list"), 1),
        (0, report(["not reached"], "IndexError: of a thread"), 1),
        (1, report(["kept"], "KeyError: another way, under the whole order"), 1),
        (1, report(["not reached"], "ModuleNotFoundError: no module"), 2),
        (0, report(["kept", "kept"]), 0),
        (0, report(["kept", "given up"]), 0),
        (0, report(["kept", "not reached"]), 0),
        (0, report(["not reached"], avoided=["somewhere"]), 0),
        (0, report(["kept", "not reached"], gone=["somewhere"]), 2),
        (0, report(["not reached"]), 2),
        (0, report([]), 2),
    ],
)
def test_the_outcome_says_whether_the_bug_is_there(monkeypatch, status, given, code):
    monkeypatch.setattr(parent, "FAILURE", "IndexError")
    assert parent.judge(status, "", given)[0] == code


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("AttributeError in spider.py:run [x]: '…'", "AttributeError"),
        ("redis.exceptions.ConnectionError in a.py:f [x]", "ConnectionError"),
        ("deadlock: a.py:f [with b:] | a.py:g [with a:]", "deadlock"),
        ("exit status 3 in a.py:main [sys.exit(3)]", "exit status 3"),
        ("SIGSEGV in a.py:f [x]", "exit status -11"),
        ("output: lost", ""),
    ],
)
def test_a_failure_is_recognised_by_what_a_run_shows(signature, name):
    assert failure_name(signature) == name


def test_files_of_others_have_no_path_of_this_machine():
    assert portable_file("/home/me/.venv/lib/python3.11/site-packages/six.py") == "six.py"
    assert portable_file("/opt/lib/python3/dist-packages/redis/client.py") == "redis/client.py"
    assert portable_file("/usr/lib/thing/part.py") == "thing/part.py"
    assert portable_file("tests/test_queue.py") == "tests/test_queue.py"


def test_a_command_is_what_one_would_type():
    root = Path("/home/me/project")
    words = ("/home/me/.venv/bin/python3.11", "-m", "pytest", f"{root}/tests/test_a.py::test_b")
    assert portable_command(words, root, root) == (
        "python", "-m", "pytest", "tests/test_a.py::test_b"
    )  # fmt: skip
    assert portable_word(f"--rootdir={root}", root, root) == "--rootdir=."


def test_a_script_for_gdb_is_python_between_two_lines():
    text = GdbScript(deadlock=True, orders=made().orders, header='"""What it shows."""').text
    comment, _, rest = text.partition("\npython\n")
    body, _, end = rest.rpartition("\nend")
    assert comment.strip() == "# What it shows."
    assert end.strip() == ""
    compile(body, "script", "exec")
    assert "'text': 'with self.lock:'" in body
    assert "columns" not in body
