# SPDX-License-Identifier: Apache-2.0
"""Shapes that follow from what the program does with what it stores, takes out and looks at."""

import pytest
from msgspec.structs import replace
from tests.unit.test_reports_shapes import at, point, shape

FILLED = "own = cache[key] = dict()\nfor name in names:\n    own[name] = 1\n"
HANDED = "entry = Entry()\ncache[key] = entry\nentry.value = load()\n"


@pytest.mark.parametrize(("source", "early"), [(FILLED, 1), (HANDED, 2)])
def test_what_is_stored_and_then_filled_is_published_too_early(source, early):
    """Whatever the variables are called: the program puts something into what it has stored."""
    name, summary = shape(
        at(early, "1 call cache", source, part=".__setitem__()"),
        point("2 call cache", "own = cache.get(key)", part=".get()"),
        point("2 read own", "for name in own:", value="<dict of 1>"),
        at(3, "1 write own[name]", source),
        text=source,
    )
    assert name == "published before initialised"
    assert "made cache visible" in summary


def test_who_changes_what_was_there_before_publishes_nothing():
    source = "own = cache.get(key)\ncache[key] = own\nown.value = 1\n"
    name, _ = shape(
        at(2, "1 write cache", source),
        point("2 read cache", "own = cache[key]", value="<Own>"),
        point("2 read own", "use(own.value)", value="3"),
        at(3, "1 write own", source),
        text=source,
    )
    assert name == "two variables out of step"


def test_a_new_object_that_is_filled_later_is_published_too_early():
    source = "self.columns = Columns()\nself.fill()\n"
    points = (
        at(1, "1 write columns", source, value="<Columns>"),
        point("2 read columns", "return self.columns.copy()", value="<Columns>"),
        point("1 call columns", "columns.add(one)", function="fill", part=".add()"),
    )
    assert shape(*points, text=source)[0] == "published before initialised"
    old = source.replace("Columns()", "self.old")
    assert shape(*points, text=old)[0] == "unfinished change seen"


def test_a_container_with_nothing_in_it_is_not_ready():
    points = (
        point("1 write made", "self.made = table"),
        point("2 read made", "if self.made:", value="<Table>"),
        point("2 read rows", "for row in self.rows:", value="<OrderedDict of 0>"),
        point("1 write rows", "self.rows.update(read())"),
    )
    assert shape(*points)[0] == "published before initialised"
    some = replace(points[2], value="<OrderedDict of 10>")
    assert shape(*points[:2], some, points[3])[0] == "two variables out of step"


SINGLE = "if not cls.one:\n    cls.one = One()\n"
CALLING = "if self.one is None:\n    self.make()\n"


def test_who_overwrites_what_it_made_sure_not_to_be_there_had_checked_before():
    first, last = at(2, "2 write one", SINGLE), at(2, "1 write one", SINGLE)
    found, summary = shape(first, last, orders=((1, 2),), text=SINGLE)
    assert found == "check-then-act"
    assert summary.startswith("reader acted at m.py:2 on a check of one")
    assert "before writer changed it at m.py:2" in summary
    assert shape(first, last, orders=((1, 2),), text="x = 1\ncls.one = One()\n")[0] == "lost update"


def test_the_caller_may_have_checked():
    made = [
        replace(point(f"{role} write one", "self.one = One()"), line=9, function="make",
                stack=("m.py:2 in get",))
        for role in (2, 1)
    ]  # fmt: skip
    assert shape(*made, orders=((1, 2),), text=CALLING)[0] == "check-then-act"


def test_what_is_moved_is_not_closed():
    """It is in neither place for a moment: who looks into both finds it nowhere."""
    points = (
        point("1 read done", "found = self.done[key]"),
        point("2 write due", "job = self.due.pop(key)", value="<unset>"),
        point("2 write done", "self.done[key] = job()", value="1"),
        point("1 write due", "job = self.due.pop(key)", value="<unset>"),
    )
    assert shape(*points)[0] == "two variables out of step"
    gone = replace(points[2], text="self.done = None", value="None")
    assert shape(*points[:2], gone, points[3])[0] == "used after close"
    moving = (
        point("1 write due", "job = self.due.pop(key)", value="<unset>"),
        point("2 read done", "self.done[key]", value="<unset>"),
        point("2 read due", "self.due[key]", value="<unset>"),
        point("1 write done", "self.done[key] = job", value="1"),
        point("2 fail ", "self.due[key]", value="KeyError: 'key'"),
    )
    assert shape(*moving)[0] == "two variables out of step"


def test_a_file_that_was_emptied_and_not_yet_written_is_an_unfinished_change():
    points = (
        point("2 read made", "if self.made:", value="None"),
        point("1 write file cache", "json.dump(rows, file)", value="<file of 0 bytes>"),
        point("2 read file cache", "json.load(file)", value="<file of 0 bytes>"),
        point("1 write made", "self.made = Made(rows)"),
    )
    found, summary = shape(*points)
    assert found == "unfinished change seen"
    assert summary.startswith("reader had emptied file cache at m.py:")
    full = replace(points[2], value="<file of 9 bytes>")
    assert shape(*points[:2], full, points[3])[0] != "unfinished change seen"


def test_who_acts_on_one_thing_by_what_it_saw_of_another_had_checked():
    source = "if self.active:\n    self.queue.put(task)\n"
    points = (
        at(1, "1 read active", source, value="True"),
        point("2 call queue", "self.queue.join()", part=".join()"),
        at(2, "1 call queue", source, part=".put()"),
    )
    found, summary = shape(*points, text=source)
    assert found == "check-then-act"
    assert "in between, writer used queue" in summary
    seen = (points[0], replace(points[1], variable="active", text="self.active.clear()"), points[2])
    assert shape(*seen, text=source)[0] == "check-then-act"
    unasked = source.replace("if self.active:", "if True or log(self.active):")
    assert shape(*points[1:], text=unasked)[0] == ""


def test_what_is_not_known_is_not_nothing():
    early = point("1 read rows", "rows = cursor.fetchone()", value="None")
    late = point("2 call rows", "cursor.execute(sql)")
    assert shape(early, late, orders=((1, 2),))[0] == "published before initialised"
    assert shape(replace(early, value=None), late, orders=((1, 2),))[0] == ""


def test_two_removals_overwrite_nothing():
    """All have one, so one is taken from each: by another name than it was looked at."""
    source = "if all(len(q) for q in queues):\n    taken = [x.pop(0) for x in queues]\n"
    points = (
        at(1, "1 read q", source, value="[1]"),
        at(2, "2 write x", source, value="[]"),
        at(2, "1 write x", source, value="[]"),
    )
    assert shape(*points, orders=((2, 3),), text=source)[0] == "check-then-act"
    assert shape(*points[1:], orders=((1, 2),))[0] == ""


def test_what_a_thread_set_and_finds_replaced_comes_before_two_variables():
    points = [
        point("1 write errors", "self.errors = {}"),
        point("1 write fields", "self.fields = []"),
        point("2 write errors", "self.errors = {}"),
        point("2 write fields", "self.fields = []"),
        point("1 read errors", "return self.errors, data"),
    ]
    assert shape(*points)[0] == "lost update"


def test_what_another_call_of_the_function_reads_was_not_set_in_that_call():
    points = [
        replace(point("1 write last", "self.last = now"), line=20),
        replace(point("2 write last", "self.last = now"), line=20),
        replace(point("2 write task", "self.task = task"), line=40),
        replace(point("1 read task", "self.task.stop()", value="<Task>"), line=30),
        replace(point("1 read last", "log(self.last)"), line=10),
    ]
    assert shape(*points)[0] == "two variables out of step"
    assert shape(*points[:-1], replace(points[-1], line=50))[0] == "lost update"


def test_who_decides_by_a_flag_before_it_is_set_had_checked():
    """The flag was there all the time: nothing was published too early."""
    source = "if job.stopped:\n    return\n"
    early = at(1, "1 read stopped", source, value="False")
    late = point("2 write stopped", "job.stopped = True", value="True")
    found, summary = shape(early, late, orders=((1, 2),), text=source)
    assert found == "check-then-act"
    assert summary.startswith("reader decided by stopped at m.py:1; writer changed it after that")
    assert shape(replace(early, value="None"), late, orders=((1, 2),), text=source)[0] == (
        "published before initialised"
    )


def test_what_a_thread_saw_before_it_set_the_variable_itself_decides_nothing():
    source = "if right == 0:\n    right = 1\n    assert right != 2\n"
    points = (
        at(1, "1 read right", source, value="0"),
        at(2, "1 write right", source, value="1"),
        point("2 write right", "right = 2", value="2"),
        at(3, "1 read right", source, value="2"),
    )
    assert shape(*points, text=source)[0] == "lost update"
    assert shape(points[0], *points[2:], text=source)[0] == "check-then-act"


def test_who_asks_what_is_gone_and_fails_has_used_it():
    points = (
        point("1 write blocks", "self.blocks = None", value="None"),
        point("2 read blocks", "if len(self.blocks) == 0:", value="None"),
        point("2 fail ", "if len(self.blocks) == 0:", value="TypeError"),
    )
    message = "TypeError: object of type 'NoneType' has no len()"
    assert shape(*points, message=message, orders=((1, 2),))[0] == "used after close"
    assert shape(*points[:2], message=message, orders=((1, 2),))[0] == ""


def test_a_flag_that_is_set_back_is_not_closed():
    """It says that something is to end; who sets it back did not know of that."""
    points = (
        point("1 write terminate", "self.terminate = True", value="True", function="stop"),
        point("2 write terminate", "self.terminate = False", value="False", function="run"),
    )
    assert shape(*points, orders=((1, 2),))[0] == "lost update"


@pytest.mark.parametrize(("seen", "is_closed"), [("<unset>", True), ("(6, 4)", False)])
def test_what_is_seen_to_be_there_was_not_taken_for_good(seen, is_closed):
    points = (
        point("2 write data['a']", "del data[old]", value="<unset>"),
        point("1 read data['a']", "return data[key]", value=seen),
    )
    assert (shape(*points, orders=((1, 2),))[0] == "used after close") is is_closed
