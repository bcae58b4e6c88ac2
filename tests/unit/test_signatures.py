# SPDX-License-Identifier: Apache-2.0
import signal
from pathlib import Path

import pytest

from unsnarl.execution import signatures
from unsnarl.model.run import Failure, Frame

SOURCE = (
    "def work(item):\n    item.get_d()\n    item.get_e()\n\ndef other(item):\n    item.get_d()\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "spider.py").write_text(SOURCE)
    return tmp_path


def attribute_error(root: Path, line: int = 2, function: str = "work", name: str = "x") -> Failure:
    return Failure(
        "exception",
        "AttributeError",
        f"'{name}' object has no attribute 'get_d'",
        "0.1",
        (Frame(str(root / "main.py"), 1, "main"), Frame(str(root / "spider.py"), line, function)),
    )


def test_an_exception_reads_like_a_sentence(root):
    text = signatures.of_exception(attribute_error(root), root)
    assert text.startswith("AttributeError in spider.py:work")
    assert text == (
        "AttributeError in spider.py:work [item.get_d()]: '…' object has no attribute '…'"
    )


def test_values_do_not_matter_but_places_do(root):
    first = signatures.of_exception(attribute_error(root), root)
    assert first == signatures.of_exception(attribute_error(root, name="y"), root)
    others = [attribute_error(root, line=3), attribute_error(root, line=6, function="other")]
    assert len({first, *(signatures.of_exception(o, root) for o in others)}) == 3


def test_line_numbers_do_not_matter(root):
    first = signatures.of_exception(attribute_error(root), root)
    (root / "moved").mkdir()
    (root / "moved" / "spider.py").write_text("# a comment\n\n" + SOURCE)
    moved = attribute_error(root / "moved", line=4)
    assert signatures.of_exception(moved, root / "moved") == first


@pytest.mark.parametrize(
    ("message", "normal"),
    [
        ("expected 3 but got -4.5e3", "expected N but got N"),
        ("<Queue object at 0x7f3b2c> is empty", "<Queue object @…> is empty"),
        ("key 'it\\'s' missing", "key '…' missing"),
        ('said "hello 5"', "said '…'"),
        ("lost [1, 2, 3]", "lost […]"),
        ("lost [1]", "lost […]"),
        ("lost {'a': 1, 'b': 2}", "lost […]"),
        ("first line\nsecond line", "first line"),
        ("utf8 and x86 stay", "utf8 and x86 stay"),
        ("", ""),
    ],
)
def test_messages_are_normalised(message, normal):
    assert signatures.normalise(message) == normal


def test_the_text_of_a_rewritten_assertion_is_left_to_its_line(root):
    frames = (Frame(str(root / "spider.py"), 2, "test_it"),)
    one = Failure("assertion", "AssertionError", "assert 3 == 5\n +  where ...", "0", frames)
    other = Failure("assertion", "AssertionError", "assert 4 == 5", "0", frames)
    text = signatures.of_exception(one, root)
    assert text == "AssertionError in spider.py:test_it [item.get_d()]"
    assert text == signatures.of_exception(other, root)


def test_assertions_with_own_messages_differ(root):
    frames = (Frame(str(root / "spider.py"), 2, "check"),)
    one = Failure("assertion", "AssertionError", "the queue is torn", "0", frames)
    other = Failure("assertion", "AssertionError", "the pool is torn", "0", frames)
    assert signatures.of_exception(one, root) != signatures.of_exception(other, root)


def test_signals_have_names_and_frames(root):
    assert signatures.of_signal(signal.SIGSEGV, None, root) == "SIGSEGV"
    assert signatures.of_signal(200, None, root) == "signal 200"
    noted = attribute_error(root)
    assert signatures.of_signal(signal.SIGABRT, noted, root).startswith("SIGABRT in spider.py:work")


def test_a_deadlock_is_a_sorted_set(root):
    one, two = Frame(str(root / "spider.py"), 2, "a"), Frame(str(root / "spider.py"), 3, "b")
    text = signatures.of_deadlock([two, one, two], root)
    assert text == signatures.of_deadlock([one, two], root)
    assert text == "deadlock: spider.py:a [item.get_d()] | spider.py:b [item.get_e()]"
    assert signatures.of_deadlock([], root) == "deadlock"


def test_files_outside_the_project_keep_their_folder(root):
    frame = Frame("/elsewhere/site-packages/pool/core.py", 1, "run")
    assert signatures.location(frame, root) == "pool/core.py:run"


def test_exit_statuses_name_the_place_that_chose_them(root):
    assert signatures.of_exit(3, None, root) == "exit status 3"
    noted = Failure("exit", "SystemExit", "lost 3 items", "0", (Frame("x.py", 1, "main"),))
    assert signatures.of_exit(1, noted, root) == "exit status 1 in x.py:main: lost N items"
    plain = Failure("exit", "SystemExit", "exit status 2", "0", ())
    assert signatures.of_exit(2, plain, root) == "exit status 2"


def test_hangs_and_outputs(root):
    assert signatures.of_hang(None, root) == "hang"
    assert signatures.of_hang(attribute_error(root), root) == "hang in spider.py:work"
    assert signatures.of_output("LOST 17 ITEMS") == "output: LOST N ITEMS"


def test_addresses_of_objects_are_not_shown():
    text = "where 2 = len(<pool.Pool object at 0x7f12ab>.idle), mask 0xff"
    shown = "where 2 = len(<pool.Pool object at 0x…>.idle), mask 0xff"
    assert signatures.without_addresses(text) == shown
