# SPDX-License-Identifier: Apache-2.0
"""A run as a Chrome trace."""

from __future__ import annotations

import json

from unsnarl.model.trace import RunTrace, TracedEvent
from unsnarl.reports.render.perfetto import perfetto


def event(thread: str, op: str, source: int = -1) -> TracedEvent:
    return TracedEvent(thread, op, "spider.py", 7, "Queue.get", "self.n", "Queue.n", 0x10, source)


TRACE = RunTrace(
    22, "AttributeError", {"0.1": "a", "0.2": "b"}, "0.1",
    (event("0.1", "read"), event("0.2", "read"), event("0.2", "write"), event("0.1", "read", 2)),
)  # fmt: skip


def events(kind: str, category: str | None = None) -> list[dict]:
    every = json.loads(perfetto(TRACE))["traceEvents"]
    return [one for one in every if one["ph"] == kind and one.get("cat") == category]


def test_every_event_is_a_slice_of_its_thread_in_order():
    slices = events("X", "event")
    assert [(one["ts"], one["tid"], one["name"]) for one in slices] == [
        (0, 1, "read Queue.n"), (1, 2, "read Queue.n"),
        (2, 2, "write Queue.n"), (3, 1, "read Queue.n"),
    ]  # fmt: skip
    assert slices[0]["args"]["line"] == "spider.py:7"


def test_turns_enclose_the_events_of_one_thread():
    turns = [(one["tid"], one["ts"], one["ts"] + one["dur"]) for one in events("X", "turn")]
    assert turns == [(1, 0, 0.8), (2, 1, 2.8), (1, 3, 3.8)]


def test_an_arrow_leads_from_the_write_to_the_read_that_took_it():
    (begin,), (end,) = events("s", "reads"), events("f", "reads")
    assert (begin["ts"], begin["tid"], end["ts"], end["tid"]) == (2, 2, 3, 1)
    assert begin["id"] == end["id"]


def test_threads_have_their_names_and_the_one_that_fails_is_marked():
    named = [one["args"]["name"] for one in events("M") if one["name"] == "thread_name"]
    assert named == ["a 0.1 (fails)", "b 0.2"]
