# SPDX-License-Identifier: Apache-2.0
"""Source lines, segments and the names made of them."""

import pytest

from unsnarl.analyses.answer import Line
from unsnarl.model.event import Op
from unsnarl.model.python_names import unmangled
from unsnarl.model.site import Point, Site
from unsnarl.model.sources import Sources
from unsnarl.reports.facts import CapturedAccess
from unsnarl.reports.names import Label, class_of, label_lines, variable_name


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


def test_a_call_has_its_arguments_on_the_next_lines(tmp_path):
    (tmp_path / "mod.py").write_text("a = f(\n  x,\n  y\n)\nb = g(\n1,\n2,\n3,\n4)\nc = 1\n")
    sources = Sources(tmp_path)
    assert sources.call("mod.py", 1) == "a = f( x, y )"
    assert sources.call("mod.py", 5) == "b = g("
    assert sources.call("mod.py", 10) == "c = 1"


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
        ("assert self.items == [1], 'no'", "self.items == [1]", "shape_read", "Queue.items"),
        ("assert [1] == items", "[1] == items", "shape_read", "items"),
        ("if not self.items:", "not self.items", "shape_read", "Queue.items"),
        ("assert not self.items, 'no'", "assert not self.items, 'no'", "shape_read", "Queue.items"),
        ("for x in self.items: f(x)", "for x in self.items: f(x)", "iter", "Queue.items"),
        ("for x in rows():", "for x in rows():", "shape_read", "rows()"),
        ("self.items += [1]", "self.items += [1]", "shape_write", "Queue.items"),
        ("x = [y for y in self.items]", "[y for y in self.items]", "iter", "Queue.items"),
        ("assert a == b", "a == b", "shape_read", ""),
        ("a, b = pair", "a, b", "shape_read", ""),
        ("x = ( broken", "( broken", "shape_read", ""),
        ("x = ( broken", "( broken", "attr_read", "fallback"),
        ("x = " + "a" * 50, "a" * 50, "global_read", "a" * 50),
        ("x = " + "f(a)." * 12 + "b", "f(a)." * 12 + "b", "attr_read", "fallback"),
        ("x = getattr(self, 'size', 1)", "getattr(self, 'size', 1)", "call", "Queue.size"),
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


def labels(tmp_path, *lines):
    """Each line: text, kind, operation, share of the same cell, what was seen of it."""
    (tmp_path / "mod.py").write_text("\n".join(text for text, *_ in lines), "utf-8")
    points, made, seen = [], [], []
    for number, (text, kind, op, same_cell, captured) in enumerate(lines, 1):
        name = "in" if " in " in text else text.partition("(")[0].rpartition(".")[2]
        where = Site("mod.py", "Cache.get", number, number, 0, len(text), kind, name)
        points.append(Point(where, op))
        region = "source" if number == 1 else "sink"
        made.append(Line(number, region, 1, 1.0, 0.0, 1.0, same_cell, 0))
        seen.append(captured)
    return label_lines(made, points, seen, Sources(tmp_path))


def element(key, owner=1):
    return CapturedAccess("1", (), "Cache.table", (), key, owner)


def test_lines_on_one_element_are_called_by_it(tmp_path):
    assert labels(
        tmp_path,
        ("self.table[k]", "item_write", Op.WRITE, 1.0, element("['a']")),
        ("table[name]", "item_read", Op.READ, 1.0, element("['a']")),
    ) == [Label("Cache.table['a']"), Label("Cache.table['a']")]


def test_lines_on_several_elements_are_called_by_the_container(tmp_path):
    assert labels(
        tmp_path,
        ("self.table[k]", "item_write", Op.WRITE, 1.0, element("['a']")),
        ("table[name]", "item_read", Op.READ, 1.0, element("['b']")),
        ("len(self.table)", "shape_read", Op.READ, 1.0, element("")),
        ("self.table[k]", "item_read", Op.READ, 0.0, element("['c']")),
    ) == [
        Label("Cache.table", "['a']"),
        Label("Cache.table", "['b']"),
        Label("Cache.table"),
        Label("Cache.table['c']"),
    ]


def test_elements_that_were_not_seen_are_not_taken_for_the_same(tmp_path):
    assert labels(
        tmp_path,
        ("self.table[k]", "item_write", Op.WRITE, 1.0, None),
        ("self.table[k]", "item_read", Op.READ, 1.0, None),
    ) == [Label("Cache.table", "[k]"), Label("Cache.table", "[k]")]


def test_another_object_of_the_same_class_is_numbered(tmp_path):
    one, other = (CapturedAccess("1", (), "Account.amount", (), "", owner) for owner in (7, 8))
    found = labels(
        tmp_path,
        ("self.amount", "attr_read", Op.READ, 0.0, other),
        ("self.amount", "attr_write", Op.WRITE, 1.0, one),
        ("self.amount", "attr_read", Op.READ, 1.0, one),
    )
    assert [label.variable for label in found] == [
        "Account.amount #2",
        "Account.amount",
        "Account.amount",
    ]


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("self.table.clear", "method", ".clear()"),
        ("self.table[k]", "item_delete", ".__delitem__()"),
        ("k in self.table", "shape_read", ".__contains__()"),
    ],
)
def test_a_call_names_the_object_and_what_is_called(tmp_path, text, kind, part):
    found = labels(tmp_path, (text, kind, Op.CALL, 1.0, None))
    assert found == [Label("Cache.table", part)]


def test_a_method_under_another_name_is_called_by_that(tmp_path):
    (tmp_path / "mod.py").write_text("head = read(1)\n")
    one = CapturedAccess("", (), "Records.file")
    where = Point(site("head = read(1)", "read(1)", "callee", name="call"), Op.CALL)
    line = Line(0, "body", 1, 1.0, 1.0, 1.0, 1.0, 0)
    found = label_lines([line], [where], [one], Sources(tmp_path))
    assert found == [Label("Records.file", ".read()")]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Pool._Pool__lock", "Pool.__lock"),
        ("Wrapper._FeatureStore__poller['a']", "Wrapper.__poller['a']"),
        ("Pool._lock", "Pool._lock"),
        ("Pool.__init__", "Pool.__init__"),
    ],
)
def test_private_names_are_shown_as_they_are_written(name, shown):
    assert unmangled(name) == shown
