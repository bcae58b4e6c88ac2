# SPDX-License-Identifier: Apache-2.0
"""Which patches are tried first."""

import dataclasses
import textwrap
from pathlib import Path

from msgspec.structs import replace
from tests.unit.conflicts import conflict, line_of, point, source
from tests.unit.test_patch_kinds import CLIENT, at, of_kind

from unsnarl.execution.budget import Budget
from unsnarl.model.report import Fix, PatchChecks, SourceLine
from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.conflict import is_deferred, outer_files, span_sets
from unsnarl.patches.drafts import drafts, leaves_behind, leaves_out, protects, to_protect
from unsnarl.patches.locks import LockChoice
from unsnarl.patches.regions import Draft, shown
from unsnarl.patches.search import PatchSearch, waits_too
from unsnarl.patches.source import SourceFile
from unsnarl.patches.tested import calls_only, repairs_tests_only
from unsnarl.patches.trying import WAITS, Tried

CALLED = """
import threading

class Till:
    def __init__(self):
        self.cash = 0

    def pay(self):
        self.cash = self.cash + 1

def test_till(till):
    till.pay()
"""


def test_the_code_at_fault_is_patched_before_its_callers():
    """A test that takes the lock passes; all other callers still fail."""
    file = source(CALLED)
    inner, outer = line_of(file, "self.cash = self.cash + 1"), line_of(file, "till.pay()")
    where = {"function": "Till.pay", "stack": (f"a.py:{outer} in test_till",)}
    made = conflict(
        CALLED,
        point(inner, 1, "read", "Till.cash", **where),
        point(inner, 2, "write", "Till.cash", **where),
        point(inner, 1, "write", "Till.cash", **where),
    )
    at_calls = [calls_only(made, one) for one in drafts(made)]
    assert at_calls[0] is False and at_calls == sorted(at_calls)
    around = Draft("lock", "", {}, 1, (LineSpan("a.py", outer, outer),))
    assert calls_only(made, around)


def test_lines_that_two_reasons_give_are_named_once():
    once, twice = LineSpan("a.py", 3, 3), LineSpan("a.py", 5, 8)
    assert shown([twice, once, twice]) == "a.py:3, a.py:5-8"


CACHE = """
class Cache(dict):
    def __init__(self):
        self.keys_in_order = []

    def __setitem__(self, key, value):
        if len(self) >= 2:
            del self[self.keys_in_order.pop(0)]
        super().__setitem__(key, value)
        self.keys_in_order.append(key)

def fill(cache):
    cache[1] = 1
"""


def cached(fix=None, name="Cache"):
    """A thread found room; the other's insert is seen as that of the line which called it."""
    file = source(CACHE)
    check, call = line_of(file, "if len(self)"), line_of(file, "cache[1] = 1")
    inside = {"function": "Cache.__setitem__", "stack": (f"a.py:{call} in fill",)}
    return conflict(
        CACHE,
        point(check, 1, "read", name, **inside),
        point(call, 2, "write", "cache[1]", function="fill"),
        point(line_of(file, "del self"), 1, "write", f"{name}[0]", **inside),
        fix=fix,
    )


def line(part):
    return SourceLine("a.py", line_of(source(CACHE), part), "")


def test_a_line_that_leads_to_the_accesses_is_a_call_of_them():
    made = cached()
    call = line_of(source(CACHE), "cache[1] = 1")
    first, *_, last = drafts(made)
    assert not any(span.first == call for span in first.spans)
    assert calls_only(made, last) and not calls_only(made, first)


def test_an_object_that_is_a_container_has_a_lock_of_its_own():
    for name in ("Cache", "self"):
        assert "self._lock = threading.Lock()" in drafts(cached(name=name))[0].texts["a.py"]


def test_what_worked_in_the_simulation_is_tried_before_what_is_smaller():
    begin, end = line("if len(self)"), line("keys_in_order.append")
    fix = Fix("region", begin, end, fail=0, deadlocks=0, runs=40)
    wanted = LineSpan("a.py", begin.line, end.line)
    assert drafts(cached(fix))[0].spans[0].covers(wanted)
    failing = Fix("region", begin, end, fail=3, deadlocks=0, runs=40)
    small = next(one for one in drafts(cached()) if not one.spans[0].covers(wanted))
    assert leaves_out(cached(fix), small) and not leaves_out(cached(failing), small)


EXPIRING = """
class Cache:
    def get(self, key):
        if key in self.data:
            if self.is_old(key):
                del self.data[key]
                return None
        log(key)
        return self.data.get(key)
"""


def test_a_function_does_not_go_on_with_the_variable_behind_its_lock():
    file = source(EXPIRING)
    at = {part: line_of(file, part) for part in ("if key", "del self", "return self.data")}
    inside = {"function": "Cache.get"}
    made = conflict(
        EXPIRING,
        point(at["if key"], 1, "read", "Cache.data", **inside),
        point(at["del self"], 2, "write", "Cache.data['a']", **inside),
        point(at["del self"], 1, "write", "Cache.data['a']", **inside),
    )
    first, *rest = drafts(made)
    assert first.spans[0].covers(LineSpan("a.py", at["if key"], at["return self.data"]))
    assert not leaves_behind(made, first)
    assert any(leaves_behind(made, one) for one in rest)


POOL = """
class Pool:
    def take(self):
        if self.free:
            with self.lock:
                return self.free.pop()

    def give(self, one):
        with self.lock:
            self.free.append(one)

def work(pool):
    one = pool.take()
    pool.give(one)
"""


def test_who_failed_in_the_middle_is_kept_whole_and_not_who_had_to_do_more_before_that():
    file = source(POOL)
    taking, giving = line_of(file, "= pool.take"), line_of(file, "pool.give")
    take = {"function": "Pool.take", "stack": (f"a.py:{taking} in work",)}
    give = {"function": "Pool.give", "stack": (f"a.py:{giving} in work",)}
    look, pop, back = (line_of(file, part) for part in ("if self", "return", "append"))
    begin, end = SourceLine("a.py", taking, "work"), SourceLine("a.py", giving, "work")
    made = conflict(
        POOL,
        point(look, 1, "read", "Pool.free", **take),
        point(look, 2, "read", "Pool.free", **take),
        point(pop, 2, "write", "Pool.free", **take),
        point(pop, 1, "write", "Pool.free", **take),
        point(pop, 1, "fail", "", **take),
        point(back, 2, "write", "Pool.free", **give),
        fix=Fix("region", begin, end, fail=0, deadlocks=0, runs=40),
    )
    first = drafts(made)[0]
    assert LineSpan("a.py", look, pop) in first.spans
    assert not any(span.covers(LineSpan("a.py", taking, giving)) for span in first.spans)


def test_no_test_is_patched_that_only_calls_the_code_at_fault():
    made = cached()
    call = line_of(source(CACHE), "cache[1] = 1")
    around = (LineSpan("a.py", call, call),)
    assert repairs_tests_only(made, Draft("lock", "", {"tests/test_a.py": ""}, 1, around))
    assert not repairs_tests_only(made, Draft("lock", "", {"a.py": ""}, 1, around))
    both = {"tests/test_a.py": "", "a.py": ""}
    assert not repairs_tests_only(made, Draft("lock", "", both, 1, around))


def test_no_test_is_patched_for_code_that_is_elsewhere():
    """Its own variables only show what went wrong: the count that a lock should have guarded."""
    count = [replace(point(1, role, "write", "count"), file="test_a.py") for role in (1, 2)]
    alone = Draft("lock", "", {"test_a.py": ""}, 1, (LineSpan("test_a.py", 1, 1),))
    assert not repairs_tests_only(conflict(CACHE, *count), alone)
    made = [*count, point(2, 1, "write", "Cache.lock"), point(2, 2, "write", "Cache.lock")]
    assert repairs_tests_only(conflict(CACHE, *made), alone)


IN_A_TEST = """
class Pool:
    def take(self):
        return self.idle

    def run(self):
        one = self.take()
        return one.ask()

class TestPool:
    def test_run(self):
        one = pool.take()
        one.ask()

def test_run():
    pool.run()
"""


def test_a_tested_class_may_stand_in_the_file_of_its_tests():
    file = source(IN_A_TEST)
    taken = line_of(file, "return self.idle")
    made = conflict(IN_A_TEST, *(point(taken, one, "write", "Pool.idle") for one in (1, 2)))
    sources = {"test_a.py": made.sources["a.py"]}
    points = [replace(one, file="test_a.py") for one in made.finding.explanation]
    finding = replace(made.finding, explanation=tuple(points))
    made = dataclasses.replace(made, finding=finding, sources=sources)

    def repairs(text):
        first = line_of(file, text)
        spans = (LineSpan("test_a.py", first, first + 1),)
        return repairs_tests_only(made, Draft("lock", "", {"test_a.py": ""}, 1, spans))

    assert not repairs("one = self.take()")
    assert repairs("one = pool.take()") and repairs("    pool.run()")


DAEMON = """
import threading

class Daemon:
    def __init__(self):
        self.cleaning = threading.Lock()
        self.made = {}

    def clean(self):
        with self.cleaning:
            print("clean")

    def instance(self, key):
        found = self.made.get(key)
        if not found:
            self.made[key] = found = key()
        return found
"""


def daemon(text=DAEMON):
    file = source(text)
    look, make = line_of(file, "self.made.get"), line_of(file, "self.made[key]")
    where = {"function": "Daemon.instance"}
    return conflict(
        text,
        point(look, 1, "read", "Daemon.made", **where),
        point(make, 2, "write", "Daemon.made", **where),
        point(make, 1, "write", "Daemon.made", **where),
    )


def test_a_lock_that_is_there_for_something_else_comes_after_a_new_one():
    locks = [one.choice.name for one in drafts(daemon()) if one.choice]
    assert locks[0] == "_lock" and "cleaning" in locks
    guarded = DAEMON.replace('print("clean")', "self.made.clear()")
    assert drafts(daemon(guarded))[0].choice.name == "cleaning"


QUEUE = """
import threading

class Base:
    def __init__(self):
        self.guard = threading.Lock()
        self.rows = []

    def delete(self, row):
        with self.guard:
            self.rows.remove(row)

class Queue(Base):
    def take(self):
        row = self.rows[0]
        self.delete(row)
        return row
"""


def test_a_lock_that_is_taken_in_there_as_well_becomes_an_rlock_at_once():
    """A plain one would wait for itself: that costs a process of its own to see."""
    file = source(QUEUE)
    look, call = line_of(file, "row = self.rows[0]"), line_of(file, "self.delete(row)")
    inside = {
        "function": "Base.delete",
        "stack": (f"a.py:{call} in Queue.take",),
        "locks": ("Queue.guard",),
    }
    made = conflict(
        QUEUE,
        point(look, 1, "read", "Queue.rows", function="Queue.take"),
        point(line_of(file, "self.rows.remove"), 2, "write", "Queue.rows", **inside),
        point(line_of(file, "self.rows.remove"), 1, "write", "Queue.rows", **inside),
    )
    taken = [one for one in drafts(made) if one.choice and one.choice.name == "guard"]
    assert taken and all(one.choice.reentrant for one in taken)
    assert "self.guard = threading.RLock()" in taken[0].texts["a.py"]


def test_nothing_is_begun_when_the_time_for_it_is_over():
    clock = [0.0]
    budget = Budget(100.0, clock=lambda: clock[0])
    tried = []

    def attempt(draft):
        tried.append(draft)
        clock[0] += 7.0
        return Tried(PatchChecks(6, 1, 0, 1, 0, serial=True))

    with budget.beginning(10.0):
        found = PatchSearch(cached(), attempt, budget).find()
    assert len(tried) == 2 and found is not None and not found.patch.works
    assert [one.why for one in budget.unfinished] == ["time"]
    assert budget.may_begin


def test_who_reads_what_no_other_thread_writes_reads_it_as_often_as_before():
    """The thread that clears the attribute checked it before: nobody else clears it."""
    text = CLIENT.replace("            self.sock = None\n", "").replace(
        "    def teardown(self):\n",
        "    def teardown(self):\n        if self.sock: self.sock.end()\n",
    )
    texts = of_kind(
        "local-copy",
        text,
        at(text, "if self.sock:  #", 1, "read", "Client.sock", function="Client.close"),
        at(text, "self.sock.end()", 2, "read", "Client.sock", function="Client.teardown"),
        point(
            line_of(source(text), "self.sock.end()") + 1,
            2,
            "write",
            "Client.sock",
            function="Client.teardown",
        ),
        at(text, "self.sock.close()", 1, "read", "Client.sock", function="Client.close"),
    )
    assert texts and all("if self.sock: self.sock.end()" in one for one in texts)


SERVER = """
class Daemon:
    def __init__(self):
        self.instances = {}

    def instance(self, cls):
        one = self.instances.get(cls)
        if one is None:
            one = cls()
            self.instances[cls] = one
        return one

class Message:
    def __init__(self, kind):
        self.kind = kind
"""


def served(fix=None):
    """Two threads make an instance each; messages brought them there."""
    inside = {"function": "Daemon.instance"}
    return conflict(
        SERVER,
        at(SERVER, "instances.get", 1, "read", "Daemon.instances", **inside),
        at(SERVER, "instances.get", 2, "read", "Daemon.instances", **inside),
        at(SERVER, "instances[cls]", 1, "write", "Daemon.instances", **inside),
        at(SERVER, "instances[cls]", 2, "write", "Daemon.instances", **inside),
        at(SERVER, "self.kind", 3, "write", "Message.kind", function="Message.__init__"),
        at(SERVER, "self.kind", 4, "write", "Message.kind", function="Message.__init__"),
        fix=fix,
    )


def test_what_no_simulated_region_touched_needs_no_lock():
    """Two objects of a class are called alike; the region has shown which variables matter."""
    file = source(SERVER)
    begin = SourceLine("a.py", line_of(file, "instances.get"), "Daemon.instance")
    end = SourceLine("a.py", line_of(file, "instances[cls]"), "Daemon.instance")
    worked, failed = Fix("region", begin, end, runs=46), Fix("region", begin, end, runs=46, fail=1)
    assert drafts(served(worked))[0].says.startswith("hold Daemon._lock (a new RLock) around a.py:")
    assert not any("Daemon._lock" in one.says for one in drafts(served(failed)))


JOBS = """
class Jobs:
    def __init__(self):
        self.stop = False

    def cancel(self):
        self.stop = True

    def again(self):
        return not self.stop

def test_cancel(jobs):
    tries = []
    tries.append(jobs.again())
"""


def test_what_only_a_test_accesses_needs_no_lock():
    """It shows the failure; a patch of the library alone must be possible."""
    made = conflict(
        JOBS,
        at(JOBS, "not self.stop", 1, "read", "Jobs.stop", function="Jobs.again"),
        at(JOBS, "self.stop = True", 2, "write", "Jobs.stop", function="Jobs.cancel"),
        replace(at(JOBS, "tries.append", 1, "call", "tries"), file="test_a.py"),
        replace(at(JOBS, "tries.append", 2, "call", "tries"), file="test_a.py"),
    )
    assert {one.file for one in to_protect(made)} == {"a.py"}
    assert any(one.kind == "lock" for one in drafts(made))


def test_a_lock_that_was_held_protects_an_access():
    """It was taken in a function that is not in the finding's lines."""
    held = conflict(
        CALLED,
        at(CALLED, "self.cash = self", 1, "read", "Till.cash", locks=("Till.lock #2",)),
        at(CALLED, "self.cash = 0", 2, "write", "Till.cash"),
    )
    line = line_of(source(CALLED), "self.cash = 0")
    spans = (LineSpan("a.py", line, line),)
    draft = Draft("lock", "", {}, 1, spans, LockChoice("Till", "lock"))
    assert protects(held, draft)
    assert not protects(held, dataclasses.replace(draft, choice=LockChoice("Till", "other")))


def test_what_held_a_lock_during_a_wait_is_not_tried_with_another_lock():
    """Nor with more lines under it; in every turn of a loop it is not held as long."""
    lines, more = (LineSpan("a.py", 3, 5),), (LineSpan("a.py", 2, 6), LineSpan("a.py", 9, 9))
    refused = Draft("lock", "", {}, 1, lines, LockChoice("Till", "lock"))
    other = dataclasses.replace(refused, choice=LockChoice("", "_lock", is_new=True))
    assert waits_too(other, refused)
    assert waits_too(dataclasses.replace(other, spans=more), refused)
    assert not waits_too(dataclasses.replace(other, turns=True), refused)
    assert not waits_too(dataclasses.replace(other, spans=(LineSpan("a.py", 3, 4),)), refused)
    assert not waits_too(Draft("copy", "", {}, 1), refused)


def test_the_search_leaves_out_what_would_wait_too():
    made = conflict(
        CALLED,
        at(CALLED, "self.cash = self", 1, "read", "Till.cash", function="Till.pay"),
        at(CALLED, "self.cash = self", 2, "write", "Till.cash", function="Till.pay"),
        at(CALLED, "self.cash = self", 1, "write", "Till.cash", function="Till.pay"),
    )
    tried = []

    def attempt(draft):
        tried.append(draft.says)
        return Tried(PatchChecks(runs=1, fail=1), message=WAITS)

    PatchSearch(made, attempt, Budget()).find()
    assert len(tried) == 1 < len(drafts(made))


def test_a_new_lock_is_born_in_a_module_that_the_others_import():
    """Not always the first one of the lines at fault."""
    first = "import b\n\ndef add():\n    b.total += 1\n"
    second = "total = 0\n\ndef half():\n    global total\n    total /= 2\n"
    made = conflict(
        first,
        point(4, 1, "read", "b.total", function="add"),
        replace(point(5, 2, "write", "b.total", function="half"), file="b.py"),
        point(4, 1, "write", "b.total", function="add"),
    )
    made = dataclasses.replace(
        made, sources={**made.sources, "b.py": SourceFile(Path("b.py"), "b.py", second.encode())}
    )
    texts = drafts(made)[0].texts
    assert "with b._lock:\n        b.total += 1\n" in texts["a.py"]
    assert "_lock = threading.Lock()" in texts["b.py"] and "with _lock:" in texts["b.py"]


def test_the_lines_of_a_role_are_those_of_the_library():
    """A role that also touches what the test sees has no function in common with it."""
    test = {"file": "test_a.py", "function": "test_cancel"}
    made = conflict(
        JOBS,
        at(JOBS, "not self.stop", 1, "read", "Jobs.stop", function="Jobs.again"),
        replace(at(JOBS, "tries.append", 1, "call", "tries"), **test),
        at(JOBS, "self.stop = True", 2, "write", "Jobs.stop", function="Jobs.cancel"),
        replace(at(JOBS, "tries.append", 2, "call", "tries"), **test),
    )
    read, write = (line_of(source(JOBS), part) for part in ("not self.stop", "self.stop = True"))
    lines = {LineSpan("a.py", read, read), LineSpan("a.py", write, write)}
    assert lines in [set(spans) for spans in span_sets(made)]


def test_a_module_that_a_thread_imports_is_no_script():
    """What its code accesses is at fault like any other."""
    main = {"function": "main", "thread": "0", "stack": ("run.py:9 in <module>",)}
    run = replace(at(JOBS, "tries.append", 1, "call", "tries"), file="run.py", **main)
    imported = replace(
        at(JOBS, "self.stop = True", 2, "write", "Jobs.stop"), file="b.py", function="<module>"
    )
    read = at(JOBS, "not self.stop", 3, "read", "Jobs.stop", function="Jobs.again")
    assert outer_files(conflict(JOBS, run, imported, read)) == {"run.py"}


LATER = """
import threading

class Log:
    def ready(self):
        self.level = self.level or 1
        return self

log = Log()
jobs = [threading.Thread(target=lambda: log.ready().level) for _ in range(2)]
loudest = sorted(jobs, key=lambda job: log.level)
"""


def test_a_lock_where_a_lambda_stands_does_not_hold_when_it_is_called():
    file = source(LATER)
    inside, later = line_of(file, "self.level ="), line_of(file, "target=lambda")
    where = {"function": "Log.ready"}
    begin = SourceLine("a.py", inside, "Log.ready")
    for fix in (None, Fix("region", begin, begin, fail=0, runs=9, others=(f"a.py:{later}",))):
        made = conflict(
            LATER,
            point(inside, 1, "write", "Log.level", **where),
            point(later, 2, "read", "Log.level", function="<listcomp>.<lambda>"),
            point(inside, 2, "write", "Log.level", **where),
            fix=fix,
        )
        assert not any(span.first == later for spans in span_sets(made) for span in spans)
    at_once = line_of(file, "key=lambda")
    here = point(at_once, 2, "read", "Log.level", function="<lambda>")
    assert is_deferred(here)
    assert not is_deferred(replace(here, stack=(f"a.py:{at_once} in <module>",)))


# What is known to be in vain, or to end in a deadlock, is not tried first.

REPEATS = textwrap.dedent(
    """\
    class Repeats:
        def put(self, item):
            if self.last is None or item != self.last:
                self.store(item)

        def store(self, item):
            self.last = item
    """
)


def test_to_read_once_is_in_vain_where_the_reader_writes_afterwards() -> None:
    line = line_of(source(REPEATS), "is None")
    look = point(line, 1, "read", "Repeats.last", function="Repeats.put")
    other = point(line + 4, 2, "write", "Repeats.last", function="Repeats.store")
    own = replace(other, role=1)
    kinds = [one.kind for one in drafts(conflict(REPEATS, look, other, own))]
    assert (kinds[0], kinds[-1]) == ("lock", "local-copy")
    kinds = [one.kind for one in drafts(conflict(REPEATS, look, other, look))]
    assert kinds[0] == "local-copy"


LOTTERY = textwrap.dedent(
    """\
    class Lottery:
        def draw(self):
            self.number = 5 * self.number % 64

        def buy(self):
            self.draw()
            self.record.append(self.number)
            return self.number
    """
)


def test_to_read_once_is_in_vain_where_the_own_value_is_wanted() -> None:
    for text, first in ((LOTTERY, "lock"), (LOTTERY.replace("self.draw()", "pay()"), "local-copy")):
        line = line_of(source(text), "append")
        points = [
            point(line, 1, "read", "Lottery.number", function="Lottery.buy"),
            point(3, 2, "write", "Lottery.number", function="Lottery.draw"),
            point(line + 1, 1, "read", "Lottery.number", function="Lottery.buy"),
        ]
        assert drafts(conflict(text, *points))[0].kind == first


BUCKET = textwrap.dedent(
    """\
    class Bucket:
        def __init__(self):
            self.items = []

        def leak(self):
            if self.items:
                self.items.pop()

        def put(self, item):
            self.items.append(item)
            self.leak()
            return self.items
    """
)


def bucket(text: str) -> list[str]:
    leak = line_of(source(text), "items.pop")
    points = [
        point(leak - 1, 1, "read", "Bucket.items", function="Bucket.leak"),
        point(line_of(source(text), "append"), 2, "write", "Bucket.items", function="Bucket.put"),
        point(line_of(source(text), "return"), 2, "read", "Bucket.items", function="Bucket.put"),
        point(leak, 1, "write", "Bucket.items", function="Bucket.leak"),
    ]
    made = drafts(conflict(text, *points))
    return [one.says for one in made if one.kind == "lock" and len(one.spans) > 1]


def test_lines_that_lead_to_each_other_share_a_lock_that_can_be_taken_twice() -> None:
    assert "RLock" in bucket(BUCKET)[0]
    assert "RLock" not in bucket(BUCKET.replace("self.leak()", "self.other()"))[0]
