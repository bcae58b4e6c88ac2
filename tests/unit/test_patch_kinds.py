# SPDX-License-Identifier: Apache-2.0
"""Kinds of patches other than a lock around lines: what each changes, and where it must not be."""

import ast
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.execution.budget import Budget
from unsnarl.model.report import FindingPoint, Fix, PatchChecks, SourceLine
from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.conflict import Conflict
from unsnarl.patches.drafts import drafts
from unsnarl.patches.locks import LockChoice, all_names
from unsnarl.patches.regions import Draft, lock_draft
from unsnarl.patches.search import PatchSearch
from unsnarl.patches.source import SourceFile, UnpatchableError
from unsnarl.patches.trying import Tried

CHANGED = "RuntimeError: dictionary changed size during iteration"


def at(text: str, part: str, role: int, op: str, variable: str, **more: Any) -> FindingPoint:
    """A point at the first line with this part."""
    return point(line_of(source(text), part), role, op, variable, **more)


def of_kind(wanted: str, text: str, *points: FindingPoint, **more: Any) -> list[str]:
    """The texts of all drafts of one kind."""
    made = drafts(conflict(text, *points, **more))
    return [draft.texts["a.py"] for draft in made if draft.kind == wanted]


# Copies before iterations.

INDEX = textwrap.dedent(
    """\
    class Index(dict):
        def parents(self, key):
            found = {one for one in self if one < key}
            return max(self.names, key=len), found

        def add(self, key):
            self[key] = 1
    """
)


def test_what_a_comprehension_goes_through_is_copied() -> None:
    where = {"function": "Index.parents.<locals>.<setcomp>"}
    texts = of_kind(
        "copy",
        INDEX,
        at(INDEX, "one for", 1, "read", "self", **where),
        at(INDEX, "self[key]", 2, "write", "self", function="Index.add"),
        message=CHANGED,
    )
    assert "found = {one for one in list(self) if one < key}\n" in texts[0]
    assert "max(self.names" in texts[0]


def test_what_a_builtin_goes_through_is_copied() -> None:
    texts = of_kind(
        "copy",
        INDEX,
        at(INDEX, "max(", 1, "read", "Index.names", function="Index.parents"),
        at(INDEX, "self[key]", 2, "write", "Index.names", function="Index.add"),
        message=CHANGED,
    )
    assert "return max(list(self.names), key=len), found\n" in texts[0]


def test_nothing_is_copied_for_other_failures() -> None:
    one = at(INDEX, "max(", 1, "read", "Index.names", function="Index.parents")
    assert not of_kind("copy", INDEX, one)


# A variable that is read once.

CLIENT = textwrap.dedent(
    """\
    class Client:
        def close(self):
            self.open = False
            if self.sock:  # still there?
                self.sock.close()
                self.last = self.sock.frame or f"{1}"
                self.sock = None
            return self.sock

        def teardown(self):
            self.sock = None

        def poll(self):
            while self.sock:
                self.sock.poll()
    """
)


def read_twice(text: str, function: str, first: str, last: str) -> list[str]:
    return of_kind(
        "local-copy",
        text,
        at(text, first, 1, "read", "Client.sock", function=function),
        point(
            line_of(source(text), "def teardown") + 1,
            2,
            "write",
            "Client.sock",
            function="Client.teardown",
        ),
        at(text, last, 1, "read", "Client.sock", function=function),
    )


def test_an_attribute_that_is_read_twice_is_read_once() -> None:
    texts = read_twice(CLIENT, "Client.close", "if self.sock", "self.sock.close")
    wanted = (
        "        sock = self.sock\n"
        "        if sock:  # still there?\n"
        "            sock.close()\n"
        '            self.last = sock.frame or f"{1}"\n'
        "            self.sock = None\n"
        "        return self.sock\n"
    )
    assert wanted in texts[0]


def test_a_loop_sees_what_others_change() -> None:
    assert not read_twice(CLIENT, "Client.poll", "while self.sock", "self.sock.poll")


def test_what_is_only_changed_and_not_assigned_is_not_copied() -> None:
    text = CLIENT.replace(
        "        self.sock = None\n\n    def poll", "        self.sock.n = 1\n\n    def poll"
    )
    assert not read_twice(text, "Client.close", "if self.sock", "self.sock.close")


@pytest.mark.parametrize("line", ["self.sock = self.sock.next()", "self.sock += 1"])
def test_what_is_written_back_must_be_atomic(line: str) -> None:
    text = CLIENT.replace("self.sock = None\n        return", f"{line}\n        return")
    assert line in text
    assert not read_twice(text, "Client.close", "if self.sock", "self.sock.close")


def test_a_read_after_an_assignment_keeps_its_meaning() -> None:
    text = CLIENT.replace("self.sock.close()", "self.sock.close(); self.sock = None")
    for found in read_twice(text, "Client.close", "if self.sock", "self.sock.close"):
        assert "self.last = self.sock.frame" in found


# A context manager for each call.

MANAGER = textwrap.dedent(
    '''\
    """Transactions."""
    from functools import wraps


    class Callable:
        def __call__(self, function):
            @wraps(function)
            def inner(*args):
                with self:
                    return function(*args)
            return inner


    class Atomic(Callable):
        def __enter__(self):
            self.helper = object()
            return self.helper.enter()

        def __exit__(self, *error):
            return self.helper.leave()
    '''
)


def managed(text: str) -> list[str]:
    return of_kind(
        "own-manager",
        text,
        at(text, "self.helper = ", 1, "write", "Atomic.helper", function="Atomic.__enter__"),
        at(text, "self.helper = ", 2, "write", "Atomic.helper", function="Atomic.__enter__"),
        at(text, "helper.leave", 1, "read", "Atomic.helper", function="Atomic.__exit__"),
    )


def test_every_call_enters_a_copy_of_the_manager() -> None:
    (text,) = managed(MANAGER)
    assert '"""Transactions."""\nimport copy\nfrom functools import wraps\n' in text
    assert "            with copy.copy(self):\n" in text


def test_what_is_not_kept_for_the_exit_is_shared_on_purpose() -> None:
    assert not managed(MANAGER.replace("__enter__(self)", "start(self)"))


# Statements that move.

LAZY = textwrap.dedent(
    """\
    class Lazy:
        def make(self):
            if not self.ready:
                self.ready = True  # published
                self.value = build()
                self.count = 1
                return self.value
            return self.value
    """
)


def published(text: str, shape: str = "published before initialised") -> list[str]:
    where = {"function": "Lazy.make"}
    return of_kind(
        "move",
        text,
        at(text, "self.ready = True", 1, "write", "Lazy.ready", **where),
        at(text, "if not self.ready", 2, "read", "Lazy.ready", **where),
        point(8, 2, "read", "Lazy.value", **where),
        at(text, "self.value = build", 1, "write", "Lazy.value", **where),
        shape=shape,
    )


def test_what_publishes_comes_behind_what_is_published() -> None:
    texts = published(LAZY)
    behind = "            self.value = build()\n            self.ready = True  # published\n"
    assert behind in texts[0]
    last = "            self.count = 1\n            self.ready = True  # published\n"
    assert any(last in text for text in texts)
    assert not published(LAZY, "two variables out of step")


@pytest.mark.parametrize("line", ["self.count = self.ready", "return 1"])
def test_nothing_moves_past_what_depends_on_it(line: str) -> None:
    for text in published(
        LAZY.replace("self.value = build()", f"self.value = build()\n            {line}")
    ):
        assert text.index("self.ready = True") < text.index(line)


REGISTERED = textwrap.dedent(
    """\
    import sys


    @install
    class Finder:
        def find(self):
            return Found()


    class Found:
        pass


    if __name__ == "__main__":
        main()
    """
)


def test_a_registration_comes_when_the_module_is_complete() -> None:
    texts = of_kind(
        "move",
        REGISTERED,
        point(4, 1, "write", "sys.meta_path", function="<module>"),
        at(REGISTERED, "return Found", 2, "read", "Found", function="Finder.find"),
        at(REGISTERED, "class Found", 1, "write", "Found", function="<module>"),
        shape="published before initialised",
    )
    assert "\n\nclass Finder:\n" in texts[0]
    assert "    pass\n\n\nFinder = install(Finder)\n\n\nif __name__" in texts[0]


def test_what_registers_early_need_not_be_a_point() -> None:
    points = (
        at(REGISTERED, "return Found", 2, "read", "Found", function="Finder.find"),
        at(REGISTERED, "class Found", 1, "write", "Found", function="<module>"),
    )
    (text,) = of_kind("move", REGISTERED, *points)
    assert "    pass\n\n\nFinder = install(Finder)\n" in text
    called = REGISTERED.replace("@install\nclass", "class").replace(
        "class Found", "sys.meta_path.append(Finder())\n\n\nclass Found"
    )
    late = at(called, "class Found", 1, "write", "Found", function="<module>")
    texts = of_kind("move", called, points[0], late)
    assert "    pass\nsys.meta_path.append(Finder())\n" in texts[0]
    assert not of_kind("move", REGISTERED, points[0])


POOL = textwrap.dedent(
    """\
    class Pool:
        def stop(self):
            with self.lock:
                self.stopped = True
                self.worker.join()
                self.done = True

        def work(self):
            with self.lock:
                self.count += 1
    """
)


def stuck(text: str) -> list[str]:
    return of_kind(
        "move",
        text,
        at(text, "with self.lock", 1, "acquire", "Pool.lock", function="Pool.stop"),
        at(text, ".join()", 1, "wait", "worker", function="Pool.stop"),
        point(9, 2, "wait", "Pool.lock", function="Pool.work"),
        kind="deadlock",
    )


def test_a_wait_moves_out_of_the_lock() -> None:
    behind, text = stuck(POOL)
    wanted = (
        "            self.stopped = True\n        self.worker.join()\n        self.done = True\n\n"
    )
    assert wanted in text
    # What is done after the wait may need the lock: the wait alone comes first.
    assert "            worker = self.worker\n            self.done = True\n" in behind
    assert "        worker.join()\n\n    def work" in behind


def test_what_the_lock_protects_is_read_under_it() -> None:
    text = POOL.replace("self.stopped = True", "self.number += 1")
    text = text.replace("self.worker.join()", "self.jobs.put(self.number)  # .join()")
    (made,) = stuck(text)
    wanted = (
        "            self.number += 1\n            number = self.number\n"
        "        self.jobs.put(number)  # .join()\n        self.done = True\n\n"
    )
    assert wanted in made


def test_a_wait_for_the_condition_that_is_held_stays() -> None:
    assert not stuck(POOL.replace("self.worker.join()", "self.lock.wait()  # not .join()"))


# Locks.

QUEUE = textwrap.dedent(
    """\
    def visit(queue, seen):
        while queue.size() > 0:  # some left?
            # the next
            page = queue.take()
            seen.append(page.lower())
    """
)


def in_turns(text: str, first: int, last: int) -> str:
    file = source(text)
    choice = LockChoice("", "_lock", "a.py", is_new=True)
    spans = [LineSpan("a.py", first, last)]
    return lock_draft({"a.py": file}, spans, choice, turns=True).texts["a.py"]


def test_a_loop_takes_the_lock_in_every_turn() -> None:
    wanted = (
        "    while True:  # some left?\n"
        "        with _lock:\n"
        "            if not (queue.size() > 0):\n"
        "                break\n"
        "            # the next\n"
        "            page = queue.take()\n"
        "        seen.append(page.lower())\n"
    )
    assert wanted in in_turns(QUEUE, 2, 4)


@pytest.mark.parametrize(
    "header", ["while True:", "for page in queue:", "while queue.get():", "if queue.size() > 0:"]
)
def test_other_statements_have_no_turns(header: str) -> None:
    with pytest.raises(UnpatchableError):
        in_turns(QUEUE.replace("while queue.size() > 0:", header), 2, 4)


def test_a_class_without_a_constructor_has_the_lock_itself() -> None:
    text = textwrap.dedent(
        """\
        import threading


        class Counter(dict):
            '''Counts.'''

            def add(self, key):
                self[key] = self.get(key, 0) + 1
        """
    )
    file = source(text)
    choice = LockChoice("Counter", "_lock", "a.py", is_new=True)
    line = line_of(file, "self[key]")
    made = lock_draft({"a.py": file}, [LineSpan("a.py", line, line)], choice).texts["a.py"]
    assert "    _lock = threading.Lock()\n\n    def add(self, key):\n" in made
    assert "        with self._lock:\n" in made
    with pytest.raises(UnpatchableError):
        other = source(text.replace("(dict)", "(enum.Enum)"))
        lock_draft({"a.py": other}, [LineSpan("a.py", line, line)], choice)


# Imports.

BACKEND = textwrap.dedent(
    """\
    import sys


    def backend(name):
        try:
            module = sys.modules["backends." + name]
        except KeyError:
            module = __import__(name)
        return module.backend
    """
)


def test_a_module_that_is_being_imported_is_waited_for() -> None:
    read = at(BACKEND, "module.backend", 1, "read", "backend", function="backend")
    (text,) = of_kind("import", BACKEND, read, point(1, 2, "write", "x", function="<module>"))
    assert "        module = importlib.import_module('backends.' + name)\n" in text
    assert text.startswith("import importlib\nimport sys\n")
    assert not of_kind("import", BACKEND, read)


# Joins.

PACK = textwrap.dedent(
    """\
    class Blocks:
        def delete(self):
            self.blocks = None

        def take(self):
            return self.blocks.popleft()


    def pack(blocks, workers):
        for worker in workers:
            worker.start()
        blocks.delete()


    class Server:
        def start(self):
            self.worker.start()

        def stop(self):
            self.blocks = None
    """
)


@pytest.mark.parametrize(
    ("function", "line", "stack", "wanted"),
    [
        (
            "Blocks.delete",
            "self.blocks = None",
            ("a.py:12 in pack",),
            "    for worker in workers:\n        worker.join()\n    blocks.delete()\n",
        ),
        ("Server.stop", "", (), "        self.worker.join()\n        self.blocks = None\n"),
    ],
)
def test_threads_are_joined_where_they_are_at_hand(
    function: str, line: str, stack: tuple[str, ...], wanted: str
) -> None:
    number = line_of(source(PACK), line) if line else len(source(PACK).lines)
    end = point(number, 1, "write", "Blocks.blocks", function=function, stack=stack)
    begin = at(PACK, "popleft", 2, "read", "Blocks.blocks", function="Blocks.take")
    first, last = (SourceLine("a.py", one.line, one.function) for one in (begin, end))
    fix = Fix("order", first, last, scope="ended", runs=1)
    texts = of_kind("join", PACK, end, begin, kind="order", fix=fix)
    assert wanted in texts[0]


# Calls that wait.

PROGRESS = textwrap.dedent(
    """\
    class Progress:
        def __init__(self):
            self.bytes = 0

        def add(self, future):
            self.done += 1
            self.bytes += future.result()
            if self.bytes:
                self.rest = future.result()
    """
)


def test_a_call_that_waits_is_made_before_the_lock_is_taken() -> None:
    file = source(PROGRESS)
    choice = LockChoice("Progress", "_lock", "a.py", is_new=True)
    made = lock_draft({"a.py": file}, [LineSpan("a.py", 6, 7)], choice).texts["a.py"]
    wanted = (
        "        result = future.result()\n"
        "        with self._lock:\n"
        "            self.done += 1\n"
        "            self.bytes += result\n"
        "        if self.bytes:\n"
    )
    assert wanted in made
    with pytest.raises(UnpatchableError):
        lock_draft({"a.py": file}, [LineSpan("a.py", 7, 9)], choice)
    points = [point(7, role, "write", "Progress.bytes", function="Progress.add") for role in (1, 2)]
    assert "        result = future.result()\n" in of_kind("lock", PROGRESS, *points)[0]


# Deadlocks.

TWO_LOCKS = textwrap.dedent(
    """\
    import threading


    class Bank:
        def __init__(self):
            self.book = threading.Lock()
            self.cash = threading.Lock()

        def pay(self):
            with self.book:
                self.count()

        def count(self):
            with self.cash:
                pass

        def close(self):
            with self.cash:
                self.note()

        def note(self):
            with self.book:
                pass
    """
)


def test_locks_of_a_deadlock_are_taken_in_one_order_across_functions() -> None:
    points = [
        point(10, 1, "acquire", "Bank.book", function="Bank.pay"),
        point(14, 1, "wait", "Bank.cash", function="Bank.count", stack=("a.py:11 in Bank.pay",)),
        point(18, 2, "acquire", "Bank.cash", function="Bank.close"),
        point(22, 2, "wait", "Bank.book", function="Bank.note", stack=("a.py:19 in Bank.close",)),
    ]
    made = drafts(conflict(TWO_LOCKS, *points, kind="deadlock"))
    texts = [draft.texts["a.py"] for draft in made]
    one_order = (
        "        with self.book:\n            with self.cash:\n                self.note()\n"
    )
    assert any(one_order in text for text in texts)
    around = "        with self._lock:\n            with self.cash:\n                self.note()\n"
    assert any(around in text for text in texts)
    assert not any(draft.kind == "reentrant" for draft in made)


def test_a_lock_that_waits_for_its_own_holder_becomes_reentrant() -> None:
    text = TWO_LOCKS.replace("self.cash", "self.book")
    points = [
        point(10, 1, "acquire", "Bank.book", function="Bank.pay"),
        point(14, 1, "wait", "Bank.book", function="Bank.count", stack=("a.py:11 in Bank.pay",)),
    ]
    text = TWO_LOCKS.replace("with self.cash", "with self.book")
    (made,) = of_kind("reentrant", text, *points, kind="deadlock")
    assert "self.book = threading.RLock()\n" in made


def test_of_two_classes_of_one_name_that_of_the_lines_has_the_lock() -> None:
    text = (
        "class Meter:\n    def __init__(self):\n        self.n = 0\n\n"
        "    def add(self):\n        self.n += 1\n"
    )
    files = {name: SourceFile(Path(name), name, text.encode()) for name in ("a.py", "b.py")}
    points = [point(6, role, "write", "Meter.n", function="Meter.add") for role in (1, 2)]
    made = drafts(Conflict(conflict(text, *points).finding, files))
    own = [one for one in made if one.choice and one.choice.owner == "Meter"]
    assert set(own[0].texts) == {"a.py"}
    assert "        with self._lock:\n            self.n += 1\n" in own[0].texts["a.py"]


# Calls.

SPINNER = textwrap.dedent(
    """\
    import sys


    class Spinner:
        def clear(self):
            sys.stdout.write("clear")

        def write(self, text):
            self.clear()
            text = text.strip()
            sys.stdout.write(text)

        def spin(self):
            sys.stdout.write("frame")
            self.clear()
    """
)


def test_a_call_stands_for_what_it_does() -> None:
    made = drafts(
        conflict(
            SPINNER,
            point(6, 1, "call", "sys.stdout", function="Spinner.clear"),
            point(14, 2, "call", "sys.stdout", function="Spinner.spin"),
            point(11, 1, "call", "sys.stdout", function="Spinner.write"),
        )
    )
    assert made[0].spans == (LineSpan("a.py", 14, 15), LineSpan("a.py", 9, 11))
    # `write` of another object has the same name: its call is not taken for one of this method.
    assert all(any(span.last == 11 for span in draft.spans) for draft in made)


def test_a_failing_run_adds_functions_by_their_calls() -> None:
    text = SPINNER + "\n    def show(self):\n        sys.stdout.flush()\n        self.clear()\n"
    made = conflict(
        text,
        point(6, 1, "call", "sys.stdout", function="Spinner.clear"),
        point(14, 2, "call", "sys.stdout", function="Spinner.spin"),
        point(11, 1, "call", "sys.stdout", function="Spinner.write"),
    )
    tried: list[Draft] = []

    def attempt(draft: Draft) -> Tried:
        tried.append(draft)
        names = ("Spinner.show", "Spinner.clear")
        missed = frozenset(("a.py", name, "stdout") for name in names)
        fail = int(len(tried) < 3)
        return Tried(PatchChecks(200, fail, 0, 10, 0, serial=True), accessed=missed)

    found = PatchSearch(made, attempt, Budget()).find()
    assert found is not None
    assert any(LineSpan("a.py", 18, 19) in draft.spans for draft in tried)


# Any finding of any program.

ZOO = sorted((Path(__file__).parents[2] / "zoo" / "python").glob("*/*.py"))
OPERATIONS = ("read", "write", "call", "acquire", "wait")
SHAPES = ("", "published before initialised", "changed while iterated")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_every_draft_compiles_and_changes_something(data: st.DataObject) -> None:
    file = SourceFile(Path("a.py"), "a.py", data.draw(st.sampled_from(ZOO)).read_bytes())
    lines = st.integers(1, len(file.lines))
    names = st.sampled_from(sorted(all_names(file)) or ["x"])
    defined = [one for one in ast.walk(file.tree) if isinstance(one, ast.FunctionDef)]
    functions = st.sampled_from([one.name for one in defined] or ["<module>"])
    points = [
        point(
            data.draw(lines),
            role,
            data.draw(st.sampled_from(OPERATIONS)),
            data.draw(names),
            function=data.draw(functions),
        )
        for role in (1, 2, 1)
    ]
    kind = data.draw(st.sampled_from(["atomicity", "order", "deadlock"]))
    made = conflict("", *points, kind=kind, shape=data.draw(st.sampled_from(SHAPES)))
    for draft in drafts(Conflict(made.finding, {"a.py": file}, CHANGED)):
        compile(draft.texts["a.py"], "a.py", "exec", dont_inherit=True)
        assert draft.texts["a.py"] != file.text
