# SPDX-License-Identifier: Apache-2.0
"""Shapes of bugs, each on several interleavings, and what is none of them."""

from typing import get_args

import pytest
from msgspec.structs import replace
from tests.unit.test_reports_output import detailed

from unsnarl.model.report import (
    Finding,
    FindingPoint,
    SourceLine,
    SwallowedException,
)
from unsnarl.reports.program_text import ProgramText
from unsnarl.reports.shapes import PRIORITY, SENTENCES, Shape, shape_and_summary


def point(what, text, *, value=None, function="work", **more):
    """`what` is role, operation and variable: `1 read Cache.size`."""
    role, op, variable = what.split(" ", 2)
    return FindingPoint(
        "m.py", 10 + len(text), function, f"0.{role}", int(role), op, variable, "body", 1.0,
        value=value, text=text, **more,
    )  # fmt: skip


NAMES = {"0.1": "reader", "0.2": "writer"}


def shape(*points, message="AssertionError", orders=(), text="", threads=NAMES):
    about = tuple(dict.fromkeys(one.variable for one in points))
    finding = Finding(
        1, "joined", 1.0, {}, "atomicity", about, points, 2, explanation=points, orders=orders
    )
    failure = replace(detailed(finding, message=message).failures[0], threads=threads)
    return shape_and_summary(failure, finding, ProgramText(lambda _file: text))


LOST = [
    (point("1 read n", "n += 1"), point("2 write n", "n += 1"), point("1 write n", "n += 1")),
    (
        point("1 read used", "start = self.used"),
        point("2 write used", "self.used = start + 1"),
        point("1 write used", "self.used = start + 2"),
    ),
    (point("1 write a", "a = 1"), point("2 write a", "a = 2"), point("1 read a", "use(a)")),
]
CHECKED = [
    (
        point("1 read cache", "if key in self.cache:"),
        point("2 write cache", "del self.cache[key]"),
        point("1 read cache", "return self.cache[key]"),
    ),
    (
        point("1 call future", "if future.cancelled():"),
        point("2 call future", "future.cancel()"),
        point("1 call future", "future.set_result(1)"),
    ),
    (
        point("1 read valid", "if not self.valid:"),
        point("2 write valid", "self.valid = False"),
        point("2 write end", "self.end = None"),
        point("1 read end", "self.end.write(packet)"),
    ),
]
CHECKED += [
    (
        point("1 read modules[name]", "return sys.modules[name]", value="<unset>"),
        point("2 write modules[name]", "sys.modules[name] = module"),
        point("1 write modules[name]", "sys.modules[name] = module"),
    ),
]
STALE = [
    (
        point("1 read items", "n = len(self.items)"),
        point("2 write items", "self.items.append(x)"),
        point("1 read items", "return self.items[:n]"),
    ),
    (point("1 read n", "a.append(n)"), point("2 write n", "n = 3"), point("1 read n", "f(n)")),
    (
        point("1 write d", "self.d.move_to_end(key)"),
        point("2 write d", "self.d.popitem()"),
        point("1 read d[key]", "return self.d[key]"),
    ),
    (
        point("1 call file", "self.file.seek(start)", part=".seek()"),
        point("2 call file", "self.file.seek(start)", part=".seek()"),
        point("1 call file", "head = read(1)", part=".read()"),
    ),
]
UNFINISHED = [
    (
        point("1 write kind", "self.kind = CLOSED", value="2"),
        point("2 read kind", "if self.kind == CLOSED:"),
        point("1 write kind", "self.kind = OPEN"),
    ),
    (
        point("1 write items", "item = self.items.pop(0)"),
        point("2 write items", "item = self.items.pop(0)"),
        point("1 write items", "self.items.append(item)"),
    ),
    (
        point("1 call out", "out.write(a)"),
        point("2 call out", "out.write(b)"),
        point("1 call out", "out.write(c)"),
    ),
]
OUT_OF_STEP = [
    (
        point("1 write text", "self.text = text"),
        point("2 read text", "text = self.text", value="'a'"),
        point("2 read length", "n = self.length", value="3"),
        point("1 write length", "self.length = len(text)"),
    ),
    (
        point("1 write keys", "self.keys.append(k)"),
        point("2 write keys", "self.keys.append(k)"),
        point("2 write values", "self.values.append(v)"),
        point("1 write values", "self.values.append(v)"),
    ),
    (
        point("1 read x", "x = self.x"),
        point("2 write x", "self.x = 1"),
        point("2 write y", "self.y = 1"),
        point("1 read y", "return x, self.y"),
    ),
]
PUBLISHED = [
    (
        point("1 write made", "self.made = True"),
        point("2 read made", "if self.made:", value="True"),
        point("2 read it", "return self.it", value="None"),
        point("1 write it", "self.it = It()"),
    ),
    (
        point("1 write rates", "self.rates = {}", value="{}"),
        point("2 read rates", "return self.rates[name]"),
        point("1 write rates[name]", "self.rates[name] = 2.0"),
    ),
    (
        point("2 read thread", "self.thread.name", value="<unset>"),
        point("1 write thread", "self.thread = launch()", due=True),
    ),
]
CLOSED = [
    (point("1 write blocks", "self.blocks = None"), point("2 read blocks", "len(self.blocks)")),
    (
        point("1 write file", "self.file = x", function="Log.close"),
        point("2 read file", "self.file.write(b)"),
    ),
    (
        point("1 read chunk", "self.chunk.add(record)"),
        point("2 write chunk", "self.chunk = Chunk()"),
        point("2 write shut", "chunk.close()"),
        point("1 read shut", "self.shut"),
    ),
]
CLOSED += [
    (
        point("1 write pool", "self.pool = Queue()", function="Pool.__init__"),
        point("2 write pool", "old, self.pool = self.pool, None", function="Pool.close"),
        point("1 read pool", "return self.pool.get()"),
    ),
    (
        point("1 read sock", "self.sock.shutdown(2)"),
        point("2 write sock", "self.sock = None"),
        point("1 read sock", "self.sock.recv(1)"),
    ),
]
ITERATED = [
    (
        point("1 read hosts", "for host in self.hosts:"),
        point("2 write hosts", "self.hosts[name] = now"),
        point("1 read hosts", "for host in self.hosts:"),
    ),
    (
        point("1 read jobs", "return [one for one in self.jobs]"),
        point("2 write jobs", "self.jobs.remove(job)"),
        point("1 read jobs", "return [one for one in self.jobs]"),
    ),
    (
        point("1 read seen", "total = sum(self.seen)"),
        point("2 write seen", "self.seen.add(x)"),
        point("1 read seen", "total = sum(self.seen)"),
    ),
]
CASES = {
    "lost update": LOST,
    "check-then-act": CHECKED,
    "stale read": STALE,
    "unfinished change seen": UNFINISHED,
    "two variables out of step": OUT_OF_STEP,
    "published before initialised": PUBLISHED,
    "used after close": CLOSED,
    "changed while iterated": ITERATED,
    "lock-order deadlock": [
        (
            point("1 wait b", "with b:", locks=("a",)),
            point("2 wait a", "with a:", locks=("b",)),
        )
    ],
    "lock held while waiting": [
        (
            point("1 wait t", "t.join()", locks=("a",)),
            point("2 wait a", "with a:"),
        )
    ],
    "starvation": [
        (
            point("1 wait f", "return f.result()", awaits="for the result of f"),
            point("2 wait g", "return g.result()", awaits="for the result of g"),
        )
    ],
    "missed signal": [(point("1 wait changed", "self.changed.wait()"),)],
    "lock never released": [
        (
            point(
                "1 wait Cache._lock",
                "acquire()",
                awaits="for Cache._lock",
                why="held by writer 0.2 since m.py:3, which never releases it",
            ),
        )
    ],
}


@pytest.mark.parametrize(
    ("name", "points"), [(name, one) for name, given in CASES.items() for one in given]
)
def test_a_shape_has_its_name_and_its_sentence(name, points):
    orders = ((1, 2),) if len(points) == 2 else ()
    found, summary = shape(*points, orders=orders)
    assert found == name
    assert "reader" in summary
    assert summary.endswith(".")
    assert any(f"m.py:{one.line}" in summary for one in points)


def test_the_message_alone_shows_an_iteration():
    points = (
        point("1 read d", "visit(self.d)"),
        point("2 write d", "self.d[k] = 1"),
        point("1 read d", "visit(self.d)"),
    )
    message = "RuntimeError: dictionary changed size during iteration"
    assert shape(*points, message=message)[0] == "changed while iterated"
    assert shape(*points)[0] == "stale read"


def test_of_two_accesses_alone_the_message_shows_an_iteration_too():
    points = (
        point("1 read d", "for name in self.d:"),
        point("2 write d", "self.d[k] = 1", value="1"),
    )
    message = "RuntimeError: dictionary changed size during iteration"
    for given in (points, points[::-1]):
        found, summary = shape(*given, message=message, orders=((1, 2),))
        assert found == "changed while iterated"
        assert summary.startswith("reader was iterating")


def test_an_iteration_that_the_program_caught_is_one_too():
    points = (
        point("1 read d", "visit(self.d)", value="<dict of 1>"),
        point("2 write d", "self.d[k] = 1", value="1"),
    )
    finding = Finding(1, "joined", 1.0, {}, "order", ("d",), points, 2, explanation=points)
    line = SourceLine("m.py", 3, "work")
    said = "deque mutated during iteration"
    caught = SwallowedException("RuntimeError", said, "0.1", line, line, 2, 0)
    failure = replace(detailed(finding).failures[0], threads=NAMES)
    assert shape_and_summary(failure, finding, ProgramText(lambda _: ""))[0] == ""
    failure = replace(failure, chain=(caught,))
    assert (
        shape_and_summary(failure, finding, ProgramText(lambda _: ""))[0]
        == "changed while iterated"
    )


def test_a_number_that_is_read_and_written_back_is_a_lost_update():
    points = (
        point("1 read hits[page]", "n = self.hits.get(page)", value="3"),
        point("2 write hits[page]", "self.hits[page] = total"),
        point("1 write hits[page]", "self.hits[page] = total"),
    )
    assert shape(*points)[0] == "lost update"
    unseen = (
        replace(points[0], value=None),
        points[1],
        replace(points[2], text="self.hits[p] = n + 1"),
    )
    assert shape(*unseen)[0] == "lost update"


def test_two_variables_in_a_function_and_what_it_calls_belong_together():
    points = (
        point(
            "1 call file", "fh.close()", function="Lock.release", stack=("m.py:9 in RLock.release",)
        ),
        point("2 read count", "n = self.count", value="1", function="RLock.acquire"),
        point("2 call file", "file.write(text)", function="job"),
        point("1 write count", "self.count -= 1", function="RLock.release"),
    )
    assert shape(*points)[0] == "two variables out of step"
    assert shape(replace(points[0], stack=()), *points[1:])[0] == ""


def test_who_takes_a_job_out_has_not_yet_done_it():
    points = (
        point("1 call queue", "job = self.queue.get()", function="run"),
        point("2 call queue", "if self.queue.empty():", function="join"),
        point("2 read results", "return self.results", value="[1]", function="join"),
        point("1 write results", "self.results.append(job())", function="run"),
    )
    found, summary = shape(*points)
    assert found == "unfinished change seen"
    assert "had changed queue at m.py:32 but not yet results" in summary


def test_another_round_of_a_loop_is_no_pair():
    """Of two conflicts on two variables each, the one that goes on downwards."""
    points = (
        replace(point("1 write hand", "self.hand = hand"), line=78),
        replace(point("2 write hand", "self.hand = hand"), line=78),
        replace(point("2 write slot", "slot.key = key"), line=73),
        replace(point("1 write slot", "slot.key = key"), line=73),
        replace(point("1 write hand", "self.hand = hand"), line=78),
    )
    assert shape(*points)[0] == "lost update"


def test_a_getter_checks_for_its_caller():
    points = (
        point("1 read n", "return self.n", stack=("m.py:7 in run",)),
        point("2 write n", "self.n -= 1"),
        point("1 read n", "item = self.items[self.n]"),
    )
    source = "def run():\n    if queue.size() > 0:\n        queue.take()\n"
    points = (
        replace(points[0], function="size", line=20, stack=("m.py:2 in run",)),
        points[1],
        replace(points[2], function="take", line=30, stack=("m.py:3 in run",)),
    )
    assert shape(*points, text=source)[0] == "check-then-act"
    assert shape(*points)[0] == "stale read"


def test_the_check_is_the_one_in_the_function_that_acts():
    points = (
        point("2 read idle", "if not self.idle:", function="Pool.take"),
        point("1 read idle", "if not self.idle:", function="Pool.take"),
        point("1 write idle", "return self.idle.pop()", function="Pool.take"),
        point("2 write idle", "return self.idle.pop()", function="Pool.take"),
        point("1 write idle", "self.idle.append(one)", function="Pool.give"),
    )
    found, summary = shape(*points)
    assert found == "check-then-act"
    assert summary.startswith("writer checked idle")


def test_what_is_published_and_what_is_not_ready_are_named_apart():
    _, summary = shape(*PUBLISHED[0])
    assert "made made visible" in summary
    assert "before it was ready" in summary


def test_threads_of_one_name_are_kept_apart():
    _, summary = shape(*LOST[0], threads={"0.1": "worker", "0.2": "worker"})
    assert "worker 0.1" in summary
    assert "worker 0.2" in summary
    _, summary = shape(*LOST[0], threads={})
    assert "thread 0.1" in summary


def test_what_fits_no_shape_has_none():
    points = (point("1 write n", "n = 1", value="1"), point("2 read n", "f(n)"))
    assert shape(*points, orders=((1, 2),)) == ("", "")


def test_every_shape_has_a_sentence_and_its_page(request):
    page = (request.config.rootpath / "docs/shapes.md").read_text("utf-8")
    names = set(get_args(Shape))
    # Its sentence has numbers that are no points.
    assert {*SENTENCES, "stopped too early"} == names
    assert {line.removeprefix("## ") for line in page.splitlines() if line[:3] == "## "} == names
    assert set(PRIORITY) <= names


def at(line, what, source, **more):
    text = source.splitlines()[line - 1].strip()
    return replace(point(what, text, **more), line=line)


COMPUTED = "n = self.hits.get(page) or 0\nlog(page)\nself.hits[page] = n + 1\n"
CREATED = "one = self.made.get(kind)\nif one is None:\n    one = Thing()\nself.made[kind] = one\n"
GROWN = "n = self.used\nn = n + size\nself.used = n\n"
CHAINED = "old = self.used\nnew = old + size\nself.used = new\n"
LAZY = "try:\n    self.lock\nexcept AttributeError:\n    self.lock = Lock()\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (COMPUTED, "lost update"),
        (GROWN, "lost update"),
        (CHAINED, "lost update"),
        (CREATED, "check-then-act"),
        (LAZY, "check-then-act"),
    ],
)
@pytest.mark.parametrize("value", ["None", None])
def test_who_stores_what_it_computed_loses_an_update_who_stores_its_own_had_checked(
    source, expected, value
):
    last = len(source.splitlines())
    name, _ = shape(
        at(2 if source is LAZY else 1, "1 read v", source, value=value),
        at(last, "2 write v", source),
        at(last, "1 write v", source),
        text=source,
    )
    assert name == expected


def test_what_is_taken_back_is_not_published():
    """The handle is gone before the count says so: nothing was made visible too early."""
    name, _ = shape(
        point("1 write handle", "self.handle = None", value="None"),
        point("2 read users", "if self.users >= 1:", value="1"),
        point("2 read handle", "handle = self.handle", value="None"),
        point("1 write users", "self.users -= 1", value="0"),
    )
    assert name == "two variables out of step"


def test_what_is_counted_is_not_published():
    """None of it is new: nought is a number."""
    name, _ = shape(
        point("1 write offset", "self.offset += size", value="20"),
        point("2 read offset", "offset = self.offset", value="20"),
        point("2 read written", "written = self.written", value="0"),
        point("1 write written", "self.written += size", value="8"),
    )
    assert name == "two variables out of step"


def test_another_element_that_was_given_up_is_not_what_is_used():
    def used(element, ended):
        return shape(
            point("1 read d", "n = d.size()"),
            point("2 write d['a']", ended),
            point(f"1 read d{element}", "use(d)"),
        )[0]

    given_up, removed = "d['a'] = None", "del d['a']"
    assert used("['a']", given_up) == "used after close"
    assert used("['b']", given_up) == used("", given_up) == "stale read"
    # What has lost an element goes on without it: who had looked at it is behind.
    assert {used(element, removed) for element in ("['a']", "['b']", "")} == {"stale read"}


def test_what_is_used_after_its_end_was_ended_by_the_other_thread():
    """In C, both are in a function called release."""
    name, summary = shape(
        point("1 write message.readers", "message->readers--;", function="release", value="1"),
        point("2 write message.readers", "free(message);", function="release"),
        point("1 read message.readers", "if (message->readers == 0)", function="release"),
    )
    assert name == "used after close"
    assert summary.startswith("writer 0.2 ended the use") or summary.startswith("writer ended")
    assert summary.count("reader") >= 1


def test_a_cycle_of_locks_needs_no_names():
    """What a condition makes for itself has no name; who holds it is known all the same."""
    name, _ = shape(
        point("1 wait own", "with lock:", why="held by writer 0.2 since m.py:3, which waits"),
        point("2 wait ", "with cond:", locks=("own",), why="held by reader 0.1, which waits"),
        point("3 wait ", "t.join()", why="it waits for own"),
    )
    assert name == "lock-order deadlock"


def test_who_holds_a_lock_and_waits_for_no_lock_waits_wrongly():
    name, _ = shape(
        point("1 wait own", "with lock:", why="held by writer 0.2 since m.py:3, which waits"),
        point("2 wait ", "t.join()", locks=("own",), why="it waits for own"),
    )
    assert name == "lock held while waiting"


def test_a_lock_that_is_lost_with_its_handle_is_a_lost_update():
    name, summary = shape(
        point("1 acquire lock of fd", "flock(self.fd)"),
        point("2 write fd", "self.fd = open(name)", value="7"),
        point("1 write fd", "fd, self.fd = self.fd, None", value="None"),
        point(
            "2 wait lock of fd",
            "flock(self.fd)",
            awaits="for lock of fd",
            why="held by reader 0.1 since m.py:3, which never releases it",
        ),
        orders=((1, 2), (2, 3)),
    )
    assert name == "lost update"
    assert "writer wrote fd" in summary


def test_what_is_swapped_and_put_back_is_a_lost_update():
    source = "old = os.umask(0)\nopen(name)\nos.umask(old)\n"
    assert shape(
        at(1, "1 call os", source),
        at(1, "2 call os", source),
        at(3, "1 call os", source),
        text=source,
    )[0] == "lost update"  # fmt: skip


def test_two_threads_that_are_each_in_the_middle_of_something():
    source = "def put():\n    if self.active:\n        self.queue.put(1)\n"
    points = (
        at(2, "1 read active", source, function="put", value="True"),
        point("2 call queue", "self.queue.join()", function="flush"),
        at(3, "1 call queue", source, function="put"),
        point("2 write active", "self.active = False", function="flush"),
    )
    found, summary = shape(*points, text=source)
    assert found == "check-then-act"
    assert "in between, writer used queue" in summary


def test_who_says_that_a_job_is_done_before_it_is_publishes_too_early():
    name, summary = shape(
        point("1 call queue", "self.queue.task_done()", part=".task_done()"),
        point("2 call queue", "self.queue.join()", part=".join()"),
        point("2 read results", "return self.results", value="{'a': 1}"),
        point("1 write results", "self.results[name] = value"),
    )
    assert name == "published before initialised"
    assert "writer used it in between" in summary


def test_calls_of_what_threads_share_by_design_are_no_shape():
    name, _ = shape(
        point("1 call queue", "self.queue.task_done()", part=".task_done()"),
        point("2 call queue", "self.queue.join()", part=".join()"),
        point("1 call queue", "while (job := self.queue.get()) is not None:", part=".get()"),
    )
    assert name == ""


def test_one_wait_is_no_conflict():
    wait = point("1 call queue", "self.queue.join()", part=".join()")
    assert shape(wait, point("2 call queue", "self.queue.task_done()"), wait)[0] == ""


def test_the_check_and_the_act_are_where_one_function_makes_both():
    source = "def run(q):\n    if q.size() > 0:\n        q.take()\n"
    _, summary = shape(
        point("1 read n", "return self.n", function="size", stack=("m.py:2 in run",)),
        point("2 write n", "self.n -= 1", function="other"),
        point("1 write n", "self.n -= 1", function="take", stack=("m.py:3 in run",)),
        text=source,
    )
    assert "checked n at m.py:2 and acted on it at m.py:3" in summary


def test_who_removes_by_an_old_list_read_stale():
    """Nothing is computed, and nobody's write is overwritten."""
    source = "for f in list(self.handlers):\n    self.handlers.pop(f)\n"
    points = (
        at(1, "1 read handlers", source),
        at(2, "2 write handlers", source),
        at(2, "1 write handlers", source),
    )
    assert shape(*points, text=source)[0] == "stale read"


def test_a_look_with_a_default_takes_nothing_out():
    source = "self.n[a] = self.n.get(a, 0) + 1\n"
    points = (
        at(1, "1 read n", source),
        at(1, "2 write n", source),
        at(1, "1 write n", source),
    )
    assert shape(*points, text=source)[0] == "lost update"


def test_what_is_torn_down_in_two_steps_is_not_published():
    fails = point("2 fail ", "self.poller.unregister(7)", value="KeyError")
    name, _ = shape(
        point(
            "1 call poller",
            "self.poller.unregister(7)",
            function="Poller.close",
            stack=("m.py:9 in work",),
        ),
        point("2 read socket", "sock = self.socket", value="<socket>"),
        point("2 call poller", "self.poller.unregister(7)"),
        fails,
        point("1 write socket", "self.socket = None", value="None"),
    )
    assert name == "used after close"


def test_a_file_that_is_emptied_and_written_anew_was_there_before():
    name, _ = shape(
        point("1 write file page", "with open(page, 'w') as f:", value="<file of 0 bytes>"),
        point("2 read file page", "return loads(f.read())", value="<file of 0 bytes>"),
        point("1 write file page", "f.write(text)", value="<file of 9 bytes>"),
    )
    assert name == "unfinished change seen"


def test_an_order_that_only_brought_the_threads_there_names_no_shape():
    """Who looks whether something is there, and waits, has not used it before it was ready."""
    looked = point("1 read used", "if (from->used == 0)", value="0")
    set_later = point("2 write used", "to->used = 1;", value="1")
    assert shape(looked, set_later, orders=((1, 2),))[0] == "published before initialised"
    setup, other = (replace(one, setup=True) for one in (looked, set_later))
    taken = point("1 write used", "from->used--;", value="-1")
    assert shape(setup, other, taken, orders=((1, 2),))[0] != "published before initialised"


def test_a_wait_that_looks_by_itself_has_missed_a_signal():
    """C++: the condition is an argument of the call that waits."""
    call = "wake_.wait(lock, [this] { return stopping_; });"
    looked = point("1 read stopping_", call)
    stopped = point("2 write stopping_", "stopping_ = true;")
    waits = point("1 wait wake_", call, awaits="for a signal of wake_", why="nobody gives it")
    course = [replace(one, file="pool.cpp") for one in (looked, stopped, waits)]
    assert shape(*course, message="Deadlock", orders=((1, 2),))[0] == "missed signal"


def test_who_looked_too_early_and_waits_for_good_has_missed_a_signal():
    """The look is in a function of its own: nothing on its line decides about the wait."""
    looked = point("1 read orders", "int found = orders;", value="0", function="waiting")
    served = point("2 write orders", "orders = 1;", value="1", function="serve")
    waits = point("1 wait bell", "pthread_cond_wait(&bell, &lock);", awaits="for a signal of bell",
                  why="nobody gives it", function="cook")  # fmt: skip
    course = [replace(one, file="kitchen.c") for one in (looked, served, waits)]
    assert shape(*course, message="Deadlock", orders=((1, 2),))[0] == "missed signal"
