# SPDX-License-Identifier: Apache-2.0
"""Source lines, segments and the names made of them."""

import pytest

from unsnarl.model.site import Op, Point, Site
from unsnarl.reports.names import class_of, variable_name
from unsnarl.reports.source import Sources


def site(text, part, kind="attr_read", *, function="Queue.size", name="fallback", variable=""):
    """The site of `part` in `text`, which stands on line 1; columns count bytes."""
    start = text.encode().index(part.encode())
    end = start + len(part.encode())
    return Site("mod.py", function, 1, 1, start, end, kind, name, variable)


def named(tmp_path, text, where):
    (tmp_path / "mod.py").write_text(text + "\n", "utf-8")
    return variable_name(Point(where, Op.READ), Sources(tmp_path))


def test_lines_lose_their_indentation(tmp_path):
    (tmp_path / "mod.py").write_bytes(b"def f():\r\n\treturn 1\r\n")
    sources = Sources(tmp_path)
    assert [sources.line("mod.py", n) for n in (0, 1, 2, 3)] == ["", "def f():", "return 1", ""]


def test_a_form_feed_does_not_end_a_line(tmp_path):
    (tmp_path / "mod.py").write_text("a = 1\n\fb = '\u2028'\nc = 3\n", "utf-8")
    assert Sources(tmp_path).line("mod.py", 3) == "c = 3"


@pytest.mark.parametrize("file", ["missing.py", "", "<string>", "a\0b.py", "."])
def test_a_file_that_cannot_be_read_has_no_lines(tmp_path, file):
    assert Sources(tmp_path).line(file, 1) == ""


def test_a_file_is_read_once(tmp_path):
    (tmp_path / "mod.py").write_text("first\n")
    sources = Sources(tmp_path)
    sources.line("mod.py", 1)
    (tmp_path / "mod.py").write_text("second\n")
    assert sources.line("mod.py", 1) == "first"


def test_segments_are_cut_by_bytes(tmp_path):
    text = "größe['ключ'] = self.größe"
    (tmp_path / "mod.py").write_text(text, "utf-8")
    assert Sources(tmp_path).segment(site(text, "self.größe")) == "self.größe"


def test_segments_of_several_lines_become_one(tmp_path):
    (tmp_path / "mod.py").write_text("x = (self\n     .queue\n     .size)\n")
    where = Site("mod.py", "f", 1, 3, 5, 10, "attr_read", "size")
    assert Sources(tmp_path).segment(where) == "self .queue .size"


def test_a_path_below_the_root_is_relative(tmp_path):
    sources = Sources(tmp_path)
    assert sources.relative(str(tmp_path / "a" / "b.py")) == "a/b.py"
    assert sources.relative("/elsewhere/b.py") == "/elsewhere/b.py"


def test_the_noted_variable_comes_first(tmp_path):
    where = site("x = self.size", "self.size", variable="Spool.size")
    assert named(tmp_path, "x = self.size", where) == "Spool.size"


@pytest.mark.parametrize(
    ("text", "part", "kind", "name"),
    [
        ("return self.qsize", "self.qsize", "attr_read", "Queue.qsize"),
        ("x = other.qsize", "other.qsize", "attr_read", "other.qsize"),
        ("return cache[key]", "cache[key]", "item_read", "cache[key]"),
        ("self.items.append(x)", "self.items.append(x)", "method", "Queue.items"),
        ("n = len(self.items)", "len(self.items)", "shape_read", "Queue.items"),
        ("ok = key in self.items", "key in self.items", "shape_read", "Queue.items"),
        ("x = self.items[1:]", "self.items[1:]", "shape_read", "Queue.items"),
        ("with self.lock:", "self.lock", "call", "Queue.lock"),
        ("total = TOTAL", "TOTAL", "global_read", "TOTAL"),
        ("x = ( broken", "( broken", "attr_read", "fallback"),
        ("x = " + "a" * 50, "a" * 50, "global_read", "fallback"),
    ],
)
def test_names_from_the_source(tmp_path, text, part, kind, name):
    assert named(tmp_path, text, site(text, part, kind)) == name


def test_self_in_a_plain_function_stays(tmp_path):
    where = site("x = self.a", "self.a", function="helper")
    assert named(tmp_path, "x = self.a", where) == "self.a"


@pytest.mark.parametrize(
    ("function", "owner"),
    [
        ("Queue.size", "Queue"),
        ("run", ""),
        ("make.<locals>.Queue.size", "Queue"),
        ("make.<locals>.inner", ""),
    ],
)
def test_class_of_a_method(function, owner):
    assert class_of(function) == owner
