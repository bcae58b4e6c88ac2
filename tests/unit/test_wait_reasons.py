# SPDX-License-Identifier: Apache-2.0
"""Why the waits of a deadlock cannot end, in words."""

import pytest
from tests.unit.test_reports_build import graph

from unsnarl.model.event import Op
from unsnarl.model.run import Thread, Wait
from unsnarl.model.site import UNKNOWN_SITE, Point, Site
from unsnarl.model.sources import Sources
from unsnarl.reports.deadlock import run_names
from unsnarl.reports.explain import FindingPoint
from unsnarl.reports.facts import FailingRun
from unsnarl.reports.waits import WaitReasons, call_of, with_reasons

SOURCE = """\
with self._lock:
self._queue.put(item, timeout=5)
self._thread.join(timeout=5)
return " ".join(part.result(timeout=5) for part in parts)
fired.append(importlib.import_module(backend).state)
if not self._arrived.wait(timeout):
import json
"""
LOCK, PUT, JOIN, RESULT, IMPORT, EVENT, STATEMENT = range(1, 8)


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "log.py").write_text(SOURCE)
    return Sources(tmp_path)


def site(line):
    return Site("log.py", "Log.write", line, line, 0, 0, "unlisted", "")


class Points:
    """A wait at each line, by its number; 0 is nowhere, from 100 on they are acquires."""

    def point(self, index):
        if not index:
            return Point(UNKNOWN_SITE, Op.READ)
        op = Op.ACQUIRE if index > 100 else Op.JOIN if index == JOIN else Op.WAIT
        return Point(site(index % 100), op)


def run(*waits, limits=None, ran_out=-1):
    names = ("MainThread", "writer", "other")
    threads = tuple(
        Thread(at, 0, path, names[at], 1, True, False, False)
        for at, path in enumerate(("0", "0.1", "0.2"))
    )
    return FailingRun("1", graph(), threads, None, waits, limits=limits or {}, ran_out=ran_out)


def reasons(sources, *waits):
    stuck = run(*waits)
    made = WaitReasons(stuck, run_names(stuck, Points(), sources), Points(), sources)
    return [(made.awaited(wait), made.why(wait)) for wait in waits]


@pytest.mark.parametrize(
    ("line", "call"),
    [
        (LOCK, ("", "")),
        (PUT, ("put", "Log._queue")),
        (RESULT, ("result", "part")),
        (IMPORT, ("import", "backend")),
        (EVENT, ("wait", "Log._arrived")),
        (STATEMENT, ("import", "json")),
    ],
)
def test_a_line_names_what_it_waits_in(sources, line, call):
    assert call_of(site(line), sources) == call


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("pthread_cond_wait(&bell, &lock);", ("wait", "bell")),
        ("while (!n) pthread_cond_timedwait(&q->more, &q->lock, &at);", ("wait", "q->more")),
        ("sem_wait(&slots[i]);", ("post", "slots[i]")),
        ("pthread_barrier_wait(&start);", ("barrier", "start")),
        ("queue->more.wait(guard, [&] { return !items.empty(); });", ("wait", "queue->more")),
        ("ready.wait_for(guard, 5s);", ("wait", "ready")),
        ("pthread_mutex_lock(&lock);", ("", "")),
    ],
)
def test_a_line_of_c_names_what_it_waits_for(tmp_path, text, call):
    (tmp_path / "log.cpp").write_text(text)
    there = Site("log.cpp", "write", 1, 1, 0, 0, "unlisted", "")
    assert call_of(there, Sources(tmp_path)) == call


def test_a_lock_and_a_join_wait_for_each_other(sources):
    found = reasons(sources, Wait(0, JOIN, 1, 0xB), Wait(1, LOCK, 0, 0xA, 100 + LOCK, 5))
    assert found == [
        ("in join() for writer 0.1", "it waits for Log._lock"),
        (
            "for Log._lock",
            "held by MainThread 0 since log.py:1, which waits in join() for this thread",
        ),
    ]


def test_who_holds_a_lock_and_does_not_wait_has_left_it_behind(sources):
    found = reasons(sources, Wait(1, LOCK, 0, 0xA, 100 + LOCK, 5))
    assert found == [
        ("for Log._lock", "held by MainThread 0 since log.py:1, which never releases it")
    ]


def test_who_would_make_room_waits_for_the_lock(sources):
    found = reasons(sources, Wait(0, PUT, -1, 0xC), Wait(1, LOCK, 0, 0xA, 100 + LOCK, 5))
    assert found[0] == (
        "for room in Log._queue",
        "nobody takes one out, since the other thread waits, too",
    )
    assert found[1][1].endswith("which waits for room in Log._queue")


def test_all_who_could_compute_it_wait(sources):
    found = reasons(sources, *(Wait(thread, RESULT, -1, thread) for thread in range(3)))
    assert set(found) == {
        ("for the result of part", "nobody computes it, since both other threads wait, too")
    }
    assert reasons(sources, Wait(0, EVENT, -1, 1)) == [
        ("for a signal of Log._arrived", "no other thread is left")
    ]


def test_the_time_limit_that_ran_out_is_a_step(sources):
    waits = (Wait(0, JOIN, 1, 0xB), Wait(1, LOCK, 0, 0xA, 100 + LOCK, 5))
    stuck = run(*waits, limits={0: 5.0}, ran_out=0)
    point = FindingPoint("log.py", LOCK, "Log.write", "0.1", 1, "wait", "Log._lock", "sink", 1.0)
    names = run_names(stuck, Points(), sources)
    wait, limit = with_reasons([point], stuck, names, Points(), sources)
    assert wait.why.startswith("held by MainThread 0") and wait.limit == 0
    assert (limit.op, limit.line, limit.value, limit.role) == ("timeout", JOIN, "5 s", 2)
    assert with_reasons([point], run(*waits), names, Points(), sources) == [wait]
