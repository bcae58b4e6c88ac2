# SPDX-License-Identifier: Apache-2.0
"""What closes a conflict, on accesses made by hand and on small sources."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from unsnarl.model.event import Event, Op, point_of
from unsnarl.model.site import Site
from unsnarl.placement.closing import closing
from unsnarl.placement.local_names import assigning_lines, deciding_lines, names_used
from unsnarl.placement.traced import TracedRun

READ, WRITE, CALL = Op.READ, Op.WRITE, Op.CALL
SOCK, COUNT, FILE, DATA = 1, 2, 3, 4
TEXTS = {
    10: "if self.sock:",
    12: "if self.sock.closed:",
    20: "self.sock = None",
    30: "if self.count >= 1:",
    33: "self.count += 1",
    40: "self.file.close()",
    41: "self.count -= 1",
}
FUNCTIONS = {
    **dict.fromkeys((10, 11, 12, 13), "close"),
    **dict.fromkeys((30, 33), "take"),
    **dict.fromkeys((40, 41), "give"),
}


def site(event):
    line = event.site
    return Site("m.py", FUNCTIONS.get(line, f"f{line}"), line, line, 0, 0, "attr_read", "")


def made(*rows):
    """Each event: thread, operation, line, cell."""
    events = []
    for at, (thread, op, line, cell) in enumerate(rows):
        events.append(Event(at, f"0.{thread}", point_of(line, op), 1, cell))
    return events


def added(events, *shown, failing=None):
    last = None if failing is None else events[failing]
    run = TracedRun(events, site, lambda one: TEXTS.get(one.line, ""), lambda _: (), last)
    return [event.at for event in closing(run, [events[at] for at in shown])]


def plain(events, where, failing=None):
    return TracedRun(events, where, lambda _: "", lambda _: (), failing)


def test_the_access_that_fails_is_shown_where_it_is_of_what_is_shown():
    events = made((1, READ, 10, SOCK), (2, WRITE, 20, SOCK), (1, READ, 12, SOCK))
    assert added(events, 0, 1, failing=2) == [2]
    other = made((1, READ, 10, SOCK), (2, WRITE, 20, SOCK), (1, READ, 12, DATA))
    assert added(other, 0, 1, failing=2) == []


def test_who_wrote_what_the_failing_read_took():
    events = made(
        (1, READ, 50, COUNT),
        (2, WRITE, 51, COUNT),
        (1, WRITE, 52, DATA),
        (3, READ, 53, DATA),
    )
    assert added(events, 0, 1, failing=3) == [2]


def test_what_was_written_before_all_that_is_shown_is_no_news():
    events = made(
        (2, WRITE, 52, DATA), (1, READ, 50, COUNT), (2, WRITE, 51, COUNT), (1, READ, 53, DATA)
    )
    assert added(events, 1, 2, failing=3) == []


def test_unless_the_thread_had_looked_before_that():
    events = made(
        (1, READ, 10, SOCK),
        (2, WRITE, 20, SOCK),
        (2, READ, 50, COUNT),
        (1, WRITE, 51, COUNT),
        (1, READ, 12, SOCK),
    )
    assert added(events, 2, 3, 4, failing=4) == [0, 1]


def test_who_emptied_the_container_of_the_element_that_is_gone():
    """An element and the whole are two cells; the attribute from which both were read is one."""
    kinds = {10: "attr_read", 60: "shape_read", 61: "method", 62: "item_read"}
    lines = {10: 70, 60: 70, 61: 71, 62: 72, 11: 71, 12: 72}

    def here(event):
        kind = kinds.get(event.site, "attr_read")
        return Site("m.py", "f", lines[event.site], 0, 0, 0, kind, "")

    entries, whole, bob = 5, 6, 7
    events = made(
        (1, READ, 10, entries), (1, READ, 60, whole),
        (2, READ, 11, entries), (2, WRITE, 61, whole),
        (1, READ, 12, entries), (1, READ, 62, bob),
    )  # fmt: skip
    found = closing(plain(events, here, events[5]), [events[1]])
    assert [event.at for event in found] == [3, 5]


def test_two_locks_instead_of_one_and_who_made_the_second():
    """Both threads are in `with self.lock:` (81), each with a lock of its own."""
    kinds = {82: "with"}

    def here(event):
        line = {82: 81}.get(event.site, event.site)
        kind = kinds.get(event.site, "attr_write" if event.writes else "attr_read")
        return Site("m.py", f"f{line}", line, line, 0, 0, kind, "")

    lock, first, second = 5, 6, 7
    events = made(
        (1, WRITE, 80, lock), (1, READ, 81, lock), (1, Op.ACQUIRE, 82, first),
        (2, WRITE, 80, lock), (2, READ, 81, lock), (2, Op.ACQUIRE, 82, second),
        (1, WRITE, 83, DATA), (2, WRITE, 84, DATA),
    )  # fmt: skip
    held = {6: [events[2]], 7: [events[5]]}
    accesses = [event for event in events if event.is_access]
    run = TracedRun(accesses, here, lambda _: "", lambda event: held[event.at])
    assert [event.at for event in closing(run, events[6:])] == [0, 3, 5]
    run = run._replace(around=lambda _: [events[2]])
    assert closing(run, events[6:]) == []


def test_reads_alone_get_the_write_that_comes_too_late():
    events = made((1, READ, 50, DATA), (2, WRITE, 51, DATA), (2, WRITE, 52, DATA))
    assert added(events, 0) == [1]


def test_and_if_none_follows_the_one_before():
    events = made((2, WRITE, 51, DATA), (1, READ, 50, DATA))
    assert added(events, 1) == [0]


def test_a_thread_had_looked_before():
    events = made((1, READ, 10, SOCK), (2, WRITE, 20, SOCK), (1, WRITE, 13, SOCK))
    assert added(events, 1, 2) == [0]


def test_a_look_in_an_earlier_call_of_the_function_does_not_count():
    """Going back, lines only decrease within one execution."""
    events = made(
        (1, READ, 10, SOCK),
        (1, WRITE, 13, SOCK),
        (1, READ, 11, DATA),
        (2, WRITE, 20, SOCK),
        (1, WRITE, 12, SOCK),
    )
    assert added(events, 3, 4) == []


def test_what_another_thread_wrote_after_the_check_comes_too_late():
    """One gives back the file, then the count; the other believes the count in between."""
    events = made(
        (1, CALL, 40, FILE),
        (2, READ, 30, COUNT),
        (2, WRITE, 33, COUNT),
        (2, CALL, 60, FILE),
        (1, WRITE, 41, COUNT),
    )
    assert added(events, 0, 2, 3) == [1, 4]


def test_a_further_access_of_a_line_that_is_shown_adds_nothing():
    events = made((1, READ, 10, SOCK), (2, WRITE, 20, SOCK), (1, READ, 10, SOCK))
    assert added(events, 0, 1, failing=2) == []


SOURCE = """\
import sys

def get(name):
    key = "m." + name
    try:
        module = sys.modules[key]
    except KeyError:
        module = load(key)

    def later():
        module = None
    return getattr(module, "thing")
"""


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "m.py"
    file.write_text(SOURCE)
    return str(file)


def test_the_names_of_a_line_and_where_they_were_bound(source):
    names = names_used(source, 12)
    assert names == {"getattr", "module"}
    assert assigning_lines(source, 12, names) == [6, 8]


def test_of_a_compound_statement_the_head_counts(tmp_path):
    file = tmp_path / "m.py"
    file.write_text("def f(a):\n    b = a\n    while b:\n        c = a.x\n")
    assert names_used(str(file), 3) == {"b"}


def test_what_is_no_python_has_no_names(tmp_path):
    file = tmp_path / "m.c"
    file.write_text("int main(void) { return 0; }\n")
    assert names_used(str(file), 1) == frozenset()
    assert assigning_lines(str(tmp_path / "gone.py"), 1, frozenset({"a"})) == []


def test_two_accesses_alone_say_through_what_one_came_to_it(source):
    def here(event):
        line = event.site
        return Site(source, "get" if line < 50 else "other", line, line, 0, 0, "item_read", "")

    events = made((1, READ, 6, DATA), (1, READ, 12, SOCK), (2, WRITE, 60, SOCK))
    found = closing(plain(events, here), events[1:])
    assert [event.at for event in found] == [0]


def test_with_more_accesses_only_what_others_write_matters(source):
    def here(event):
        line = event.site
        return Site(source, "get" if line < 50 else "other", line, line, 0, 0, "item_read", "")

    events = made(
        (1, READ, 6, DATA), (2, WRITE, 61, DATA), (1, READ, 12, SOCK), (2, WRITE, 60, SOCK),
        (1, WRITE, 12, SOCK),
    )  # fmt: skip
    found = closing(plain(events, here), events[2:])
    assert [event.at for event in found] == [0]
    calm = [event for event in events if event.at != 1]
    assert closing(plain(calm, here), events[2:]) == []


COUNTED = """\
class Counted:
    def open(self):
        if self.users >= 1:
            handle = self.handle
        else:
            handle = self.make()
        while self.busy:
            self.users += 1

    def close(self):
        if self.closed:
            return
        self.handle = None
        self.users -= 1
"""


@pytest.fixture
def counted(tmp_path):
    file = tmp_path / "counted.py"
    file.write_text(COUNTED)
    return str(file)


def test_the_tests_by_which_a_line_was_reached(counted, tmp_path):
    assert deciding_lines(counted, 4) == deciding_lines(counted, 6) == [3]
    assert deciding_lines(counted, 13) == [11]  # it would have left
    assert deciding_lines(counted, 8) == []  # a loop only repeats; the if is over
    assert deciding_lines(counted, 3) == deciding_lines(str(tmp_path / "gone.py"), 3) == []


def test_who_decided_by_what_the_other_was_still_to_change(counted):
    """`open` comes between the two changes of `close`."""
    handle, users = 5, 6

    def here(event):
        name = {handle: "Counted.handle", users: "Counted.users"}[event.cell]
        function = "Counted.open" if event.site < 9 else "Counted.close"
        return Site(counted, function, event.site, 0, 0, 0, "attr_read", "", name)

    events = made(
        (1, WRITE, 13, handle), (2, READ, 3, users), (2, READ, 4, handle), (1, WRITE, 14, users)
    )
    found = closing(plain(events, here), [events[0], events[2]])
    assert [event.at for event in found] == [1, 3]

    def elsewhere(event):
        return replace(here(event), variable=f"C{event.cell}.x")

    # Attributes of two classes do not belong together by that alone.
    assert closing(plain(events, elsewhere), [events[0], events[2]]) == []

    # The change that came too late may be the first of the two.
    turned = made(
        (2, READ, 3, users), (1, WRITE, 13, users), (1, WRITE, 14, handle), (2, READ, 4, handle)
    )
    found = closing(plain(turned, here), [turned[2], turned[3]])
    assert [event.at for event in found] == [0, 1]
    # Nobody who is shown changed it near what is shown.
    far = [(1, READ, 20 + at, users) for at in range(13)]
    rows = [(2, READ, 3, users), (1, WRITE, 13, users), *far, (1, WRITE, 14, handle)]
    apart = made(*rows, (2, READ, 4, handle))
    assert closing(plain(apart, here), apart[-2:]) == []


def test_what_came_of_it_is_shown_only_where_there_is_room():
    """The failing read is of something else than the conflict (zoo/causes/till)."""
    rows = [(1, WRITE, 50, COUNT), (2, WRITE, 51, COUNT), (1, WRITE, 52, DATA), (3, READ, 53, DATA)]
    short, long = made(*rows), made(*((2, READ, line, COUNT) for line in range(60, 64)), *rows)
    assert added(short, 0, 1, failing=3) == [2]
    assert added(long, *range(6), failing=7) == []


RLOCK = 9


def waiting(*rows):
    """As `made`, with what is held at each event of thread 1 and 2 as it takes and releases."""
    events = made(*rows)
    held: dict[str, list[Event]] = {}
    around = []
    for event in events:
        around.append(tuple(held.get(event.path, ())))
        if event.op is Op.ACQUIRE:
            held.setdefault(event.path, []).append(event)
        elif event.op is Op.RELEASE:
            held[event.path] = []
    locks = [event for event in events if event.op in (Op.ACQUIRE, Op.RELEASE)]
    accesses = [event for event in events if event.is_access]
    run = TracedRun(accesses, site, lambda _: "", lambda event: around[event.at], None, locks)
    return run, events


def test_a_wait_that_gives_the_lock_back_is_what_lets_the_other_one_in():
    run, events = waiting(
        (1, Op.ACQUIRE, 90, RLOCK),
        (1, WRITE, 91, DATA),
        (1, Op.RELEASE, 92, RLOCK),  # condition.wait()
        (2, Op.ACQUIRE, 93, RLOCK),
        (2, WRITE, 94, DATA),
        (2, Op.RELEASE, 93, RLOCK),
        (1, Op.ACQUIRE, 92, RLOCK),
        (1, WRITE, 95, DATA),
    )
    assert [one.at for one in closing(run, [events[1], events[4], events[7]])] == [2]


def test_two_critical_sections_are_no_wait():
    run, events = waiting(
        (1, Op.ACQUIRE, 90, RLOCK),
        (1, WRITE, 91, DATA),
        (1, Op.RELEASE, 90, RLOCK),
        (2, Op.ACQUIRE, 93, RLOCK),
        (2, WRITE, 94, DATA),
        (2, Op.RELEASE, 93, RLOCK),
        (1, Op.ACQUIRE, 96, RLOCK),
        (1, WRITE, 95, DATA),
    )
    assert closing(run, [events[1], events[4], events[7]]) == []


def test_rounds_of_a_loop_are_no_wait():
    """`with lock:` is left (98) and entered (97) on one line."""
    run, events = waiting(
        (1, Op.ACQUIRE, 97, RLOCK),
        (1, WRITE, 91, DATA),
        (1, Op.RELEASE, 98, RLOCK),
        (2, Op.ACQUIRE, 93, RLOCK),
        (2, WRITE, 94, DATA),
        (2, Op.RELEASE, 93, RLOCK),
        (1, Op.ACQUIRE, 97, RLOCK),
        (1, WRITE, 95, DATA),
    )

    def here(event):
        line = 97 if event.site == 98 else event.site
        return Site("m.py", "f", line, line, 0, 0, "call", "")

    looped = run._replace(site=here)
    assert closing(looped, [events[1], events[4], events[7]]) == []


def seeking(event):
    name = {70: "seek"}.get(event.site, "read")
    return Site("m.py", f"f{event.site}", event.site, event.site, 0, 0, "method_call", name)


def test_who_set_the_position_from_which_a_call_reads_and_who_set_it_anew():
    events = made(
        (1, CALL, 70, FILE), (2, CALL, 70, FILE), (2, CALL, 71, FILE), (1, CALL, 72, FILE),
    )  # fmt: skip
    found = closing(plain(events, seeking), [events[2], events[3]])
    assert [event.at for event in found] == [0, 1]


def test_a_position_that_nobody_else_set_is_no_news():
    events = made(
        (2, CALL, 70, FILE), (2, CALL, 71, FILE), (1, CALL, 70, FILE), (1, CALL, 72, FILE),
    )  # fmt: skip
    assert closing(plain(events, seeking), [events[1], events[3]]) == []


def test_what_a_thread_made_that_only_finds_the_result_is_no_news():
    events = made(
        (3, WRITE, 10, DATA), (1, WRITE, 51, DATA), (2, WRITE, 52, DATA), (3, READ, 11, DATA)
    )
    assert added(events, 1, 2, 3, failing=3) == []
    assert added(events, 1, 3, failing=1) == [0]


def test_an_earlier_turn_is_not_what_a_thread_had_found():
    """`self.value -= 1`, twice: a read (20) and a write (21) on one line."""

    def here(event):
        return Site("m.py", "down", 14, 14, 0, 0, "attr_read", "value")

    events = made(
        (1, READ, 20, COUNT), (1, WRITE, 21, COUNT),
        (1, READ, 20, COUNT), (2, WRITE, 21, COUNT), (1, WRITE, 21, COUNT),
    )  # fmt: skip
    assert closing(plain(events, here), [events[3], events[4]])[0].at == 2
    assert closing(plain(events, here), [events[2], events[3], events[4]]) == []


def test_by_what_a_thread_went_on_with_what_another_one_had_put_there():
    """The one makes it, the other finds it made and gives it up for both."""
    events = made(
        (1, WRITE, 60, SOCK),
        (2, READ, 10, SOCK),
        (1, READ, 61, SOCK),
        (2, WRITE, 20, SOCK),
        (1, READ, 62, SOCK),
    )
    assert 1 in added(events, 2, 3, 4)
    own = made((2, WRITE, 60, SOCK), (2, READ, 10, SOCK), (1, READ, 61, SOCK), (2, WRITE, 20, SOCK))
    assert 1 not in added(own, 2, 3)
    rows = [(1, WRITE, 60, SOCK), (2, READ, 13, SOCK), (1, READ, 61, SOCK), (2, WRITE, 20, SOCK)]
    assert 1 not in added(made(*rows), 2, 3)


def test_who_takes_away_what_another_one_has_taken_is_shown_with_it():
    """The orders that were proved are about something else, which brought both threads there."""
    events = made(
        (1, READ, 50, COUNT),
        (2, WRITE, 51, COUNT),
        (2, WRITE, 63, DATA),
        (1, WRITE, 63, DATA),
    )
    assert added(events, 0, 1, failing=3) == [2, 3]
    before = made(
        (2, WRITE, 63, DATA), *((1, READ, 50, COUNT), (2, WRITE, 51, COUNT), (1, WRITE, 63, DATA))
    )
    assert added(before, 1, 2, failing=3) == []


def test_what_a_shown_line_reads_of_what_another_thread_wrote_is_shown_with_it():
    """`self.fields[name].flag`: the flag is what the other one has set."""
    events = made(
        (1, WRITE, 60, SOCK),
        (2, WRITE, 61, SOCK),
        (1, READ, 64, DATA),
        (1, READ, 64, SOCK),
        (1, READ, 64, COUNT),
    )
    assert added(events, 0, 1, 2) == [3]
    assert added(events, 0, 2) == []  # it is its own
    assert added(events, 0, 1, 3) == []


def test_what_changed_during_an_iteration_came_after_it_had_begun():
    events = made(
        (1, READ, 70, DATA), (2, WRITE, 71, DATA), (1, READ, 72, DATA), (2, WRITE, 73, DATA)
    )
    run = TracedRun(events, site, lambda _: "", lambda _: (), events[2])
    assert closing(run, events[:2]) == [events[2]]
    assert closing(run._replace(is_iterated=True), events[:2]) == events[2:]


def test_what_a_thread_then_found_where_another_one_had_changed_something():
    """Two accesses of its own around that of the other one are the conflict."""
    events = made(
        (1, WRITE, 50, DATA),
        (2, WRITE, 51, DATA),
        (2, READ, 52, COUNT),
        (1, READ, 53, DATA),
        (1, READ, 54, COUNT),
    )
    assert added(events, 0, 1, 4) == [3]
    assert added(events, 1, 4) == []  # it had not been there before
    assert added(events, 0, 1, 3, 4) == []  # it is shown
