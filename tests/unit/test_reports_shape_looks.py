# SPDX-License-Identifier: Apache-2.0
"""Shapes that follow from how a thread came to an access: by a look-up, by a count, by a name."""

import pytest
from msgspec.structs import replace
from tests.unit.test_reports_shapes import at, point, shape

NUMBERED = "numbers = os.listdir(runs)\nself.path = join(runs, str(max(numbers) + 1))\n"
MADE = f"{NUMBERED}os.mkdir(self.path)\n"
TICKET = "last = len(self.tickets)\nself.tickets.append(last + 1)\n"
REPLACED = "last = self.tickets\nself.tickets = last + [new]\n"


@pytest.mark.parametrize(("source", "variable"), [(MADE, "folder runs"), (TICKET, "tickets")])
def test_who_adds_what_it_computed_had_checked_and_overwrites_nothing(source, variable):
    last = len(source.splitlines())
    found, summary = shape(
        at(1, f"1 read {variable}", source),
        at(last, f"2 write {variable}", source),
        at(last, f"1 write {variable}", source),
        text=source,
    )
    assert found == "check-then-act"
    assert summary.startswith(f"reader checked {variable} at m.py:1 and acted on it at m.py:{last}")


def test_who_stores_all_of_it_anew_loses_what_was_added():
    points = (
        at(1, "1 read tickets", REPLACED),
        point("2 write tickets", "self.tickets.append(2)"),
        at(2, "1 write tickets", REPLACED),
    )
    assert shape(*points, text=REPLACED)[0] == "lost update"


def test_what_is_added_whatever_was_read_is_a_stale_read():
    source = "log(len(self.tickets))\nself.tickets.append(new)\n"
    points = (
        at(1, "1 read tickets", source),
        at(2, "2 write tickets", source),
        at(2, "1 write tickets", source),
    )
    assert shape(*points, text=source)[0] == "stale read"


def test_a_value_gets_there_by_an_attribute_too():
    source = "self.next = self.used + 1\nself.used = self.next\n"
    points = (
        at(1, "1 read used", source),
        at(2, "2 write used", source),
        at(2, "1 write used", source),
    )
    assert shape(*points, text=source)[0] == "lost update"
    decided = "self.is_full = self.used > 3\nif self.is_full:\n    self.used = 0\n"
    points = (
        at(1, "1 read used", decided),
        at(3, "2 write used", decided),
        at(3, "1 write used", decided),
    )
    assert shape(*points, text=decided)[0] == "check-then-act"


COUNTED = "if self.used >= self.most:\n    return\nself.used += 1\n"


def test_a_count_is_there_before_somebody_counts():
    early = at(1, "1 read used", COUNTED, value="0")
    late = at(3, "2 write used", COUNTED, value="1")
    found, summary = shape(early, late, orders=((1, 2),), text=COUNTED)
    assert found == "check-then-act"
    assert summary.startswith("reader decided by used at m.py:1")
    unasked = COUNTED.replace("if self.used >= self.most:", "log(self.used)") + "pass\n"
    seen = replace(early, text="log(self.used)")
    assert shape(seen, late, orders=((1, 2),), text=unasked.replace("    return\n", "1\n"))[0] == ""
    first = replace(late, text="self.used = 1")
    first_text = COUNTED.replace("+= 1", "= 1")
    assert shape(early, first, orders=((1, 2),), text=first_text)[0] == (
        "published before initialised"
    )


LOADED = """\
class Lazy:
    def {}(self, name):
        where = self.todo[name]
        del self.todo[name]
{}"""


def taken(function, more, **changes):
    source = LOADED.format(function, more)
    first = replace(at(4, "2 write todo[name]", source), function=f"Lazy.{function}", **changes)
    last = replace(at(3, "1 read todo[name]", source, value="<unset>"), function=f"Lazy.{function}")
    fail = replace(point("1 fail ", last.text, value="KeyError: 'a'"), line=3)
    message = "AttributeError: a"
    return shape(first, last, fail, orders=((1, 2),), text=source, message=message)


@pytest.mark.parametrize(
    ("function", "more"),
    [("__getattr__", ""), ("__missing__", ""), ("_load", "    __getattr__ = _load\n")],
)
def test_a_look_up_that_found_nothing_is_a_check(function, more):
    """The interpreter made it: its code is called only then."""
    found, summary = taken(function, more)
    assert found == "check-then-act"
    assert summary.startswith("reader came to m.py:3 by a look-up that had found nothing; since")
    assert "writer had changed todo[name] at m.py:4" in summary


def test_what_nobody_looked_up_before_is_gone():
    assert taken("_load", "")[0] == "used after close"
    assert taken("__getattr__", "", text="self.todo = None")[0] == "check-then-act"
    source = (
        "class Proxy:\n    def __getattr__(self, name):\n        return getattr(self.own, name)\n"
    )
    first = point("2 write own", "self.own = None", function="Proxy.close", value="None")
    last = at(3, "1 read own", source, value="None", function="Proxy.__getattr__")
    assert shape(first, last, orders=((1, 2),), text=source)[0] == "used after close"


def test_the_access_that_fails_says_more_than_the_order_of_writes():
    points = (
        point("1 read range", "get(moves, name)", value="<Lazy>"),
        point("2 write range", "put(moves, name, found)", function="resolve"),
        point("2 write lazy", "delattr(kind, name)", value="<unset>", function="resolve"),
        point("1 write range", "put(moves, name, found)", function="resolve"),
        point("1 write lazy", "delattr(kind, name)", value="<unset>", function="resolve"),
    )
    assert shape(*points)[0] == "lost update"
    failed = point("1 fail ", "delattr(kind, name)", value="AttributeError: range")
    assert shape(*points, failed)[0] == "used after close"
    elsewhere = replace(failed, line=1)
    assert shape(*points, elsewhere)[0] == "lost update"


ELEMENTS = "if all([len(q) for q in queues]):\n    use([x.pop(0) for x in queues])\n"


def test_who_looks_at_each_of_several_containers_iterates_over_none_of_them():
    look, change = at(1, "1 read q", ELEMENTS), point("2 write q", "queues[i].append(x)")
    act = at(2, "1 write q", ELEMENTS)
    assert shape(look, change, look, text=ELEMENTS)[0] != "changed while iterated"
    assert shape(look, change, act, text=ELEMENTS)[0] == "check-then-act"
    outer = replace(look, variable="queues"), replace(change, variable="queues")
    assert shape(*outer, outer[0], text=ELEMENTS)[0] == "changed while iterated"


def test_what_another_one_found_filled_was_ready():
    points = (
        point("1 write batch", "self.batch = []", value="[]"),
        point("2 read batch", "send(self.batch)", value="[]"),
        point("1 write batch", "self.batch = []", value="[]", function="flush"),
    )
    assert shape(*points)[0] == "published before initialised"
    filled = replace(points[1], value="['a', 'b']")
    assert shape(points[0], filled, points[2])[0] == "unfinished change seen"


def test_the_iteration_that_failed_is_named_and_not_a_look_before_it():
    points = (
        replace(point("1 read rows", "if len(self.rows) > 3:"), line=3),
        point("2 write rows", "self.rows.pop(key)"),
        replace(point("1 read rows", "old = [row for row in self.rows.items()]"), line=6),
    )
    message = "RuntimeError: dictionary changed size during iteration"
    found, summary = shape(*points, message=message)
    assert found == "changed while iterated"
    assert summary.startswith("reader was iterating over rows at m.py:6 when writer changed it")


def test_who_gives_up_what_another_one_has_put_there_may_have_found_just_that():
    source = "if self.fd is not None:\n    fd, self.fd = self.fd, None\n"
    opened = point("2 write fd", "self.fd = open(path)", value="7")
    given_up = at(2, "1 write fd", source, value="None")
    assert shape(opened, given_up, orders=((1, 2),), text=source)[0] == "lost update"
    # Two that give up the same had both looked before.
    other = at(2, "2 write fd", source, value="None")
    assert shape(other, given_up, orders=((1, 2),), text=source)[0] == "check-then-act"


def test_of_two_that_did_the_same_the_sentence_is_about_who_failed():
    text = "def work(self):\n    if not self.items:\n        wait()\n    return self.items.pop(0)\n"
    check, take = "if not self.items:", "return self.items.pop(0)"
    points = (
        point("1 read items", check),
        point("2 read items", check),
        point("3 write items", "self.items.append(item)"),
        point("2 write items", take),
        point("1 write items", take),
        point("1 fail ", take),
    )
    threads = {"0.1": "late", "0.2": "early", "0.3": "giver"}
    named, sentence = shape(*points, text=text, threads=threads)
    assert named == "check-then-act"
    assert sentence.startswith("late checked items") and "in between, early changed" in sentence


ROOM = """\
def put(self, key, value):
    if len(self.items) >= self.most:
        del self.items[self.order.pop()]
    self.items[key] = value
"""


def test_who_makes_room_if_there_is_none_and_then_adds_has_checked():
    points = (
        at(2, "1 read items", ROOM),
        at(4, "2 write items", ROOM),
        at(4, "1 write items", ROOM),
    )
    assert shape(*points, text=ROOM)[0] == "check-then-act"
    logged = ROOM.replace("if len(self.items) >= self.most:", "with log(len(self.items)):")
    points = (at(2, "1 read items", logged), *points[1:])
    assert shape(*points, text=logged)[0] == "lost update"


def test_what_was_not_gone_through_was_not_changed_while_iterated():
    points = (
        point("1 read Log.total", "self.total += 1"),
        point("2 write Log.total", "self.total += 1"),
        point("1 write Log.total", "self.total += 1"),
        replace(point("1 read Log.rows", "for row in self.rows:"), line=6),
        replace(point("1 fail ", "for row in self.rows:"), line=6),
    )
    message = "RuntimeError: dictionary changed size during iteration"
    assert shape(*points, message=message)[0] == "lost update"


def test_a_generator_that_runs_already_is_not_written():
    points = (
        replace(point("1 write numbers", "return next(numbers)"), line=4),
        replace(point("2 write numbers", "return next(numbers)"), line=4),
        replace(point("2 fail ", "return next(numbers)"), line=4),
    )
    named, sentence = shape(*points, message="ValueError: generator already executing")
    assert named == ""
    assert sentence == (
        "writer resumed the generator numbers at m.py:4 while reader was still running it (from "
        "m.py:4)."
    )


def test_a_signal_that_comes_too_late_and_one_that_is_taken_back():
    cleared = point("1 call Layer.reset", "self.reset.clear()", part=".clear()")
    signalled = point("2 call Layer.reset", "self.reset.set()", part=".set()")
    found, summary = shape(cleared, signalled, orders=((1, 2),))
    assert found == "missed signal"
    assert summary.startswith("writer set Layer.reset at m.py:")
    assert "too late: reader had cleared it" in summary
    found, summary = shape(signalled, cleared, orders=((1, 2),))
    assert found == "missed signal"
    assert summary.endswith("whoever was to see it missed it.")
    assert shape(signalled, replace(signalled, thread="0.1", role=1), orders=((1, 2),))[0] == ""
