# SPDX-License-Identifier: Apache-2.0
"""A run as a Chrome trace, which Perfetto and chrome://tracing show: a track per thread.

One event takes one microsecond of the trace's time: under the gate only the order is real. Slices
over several events are the turns of a thread; an arrow leads from a write to the read in another
thread that took its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from unsnarl.model.trace import RunTrace, TracedEvent
from unsnarl.reports.render.json import indented

PROCESS = 1
WIDTH = 0.8  # of an event: two in a row must look like two

Json = dict[str, Any]


def perfetto(trace: RunTrace) -> bytes:
    """The trace in the JSON of the Trace Event Format."""
    tracks = {path: number for number, path in enumerate(trace.threads, 1)}
    events = [*_names(trace, tracks)]
    events += _turns(trace.events, tracks)
    for at, event in enumerate(trace.events):
        events.append(_slice(at, event, tracks))
        if event.source >= 0:
            events += _arrow(at, event, trace.events, tracks)
    about = {"run": trace.run, "signature": trace.signature, "events_dropped": trace.dropped}
    return indented({"traceEvents": events, "displayTimeUnit": "ns", "otherData": about})


def _names(trace: RunTrace, tracks: dict[str, int]) -> Iterator[Json]:
    yield _meta("process_name", 0, {"name": f"run {trace.run}: {trace.signature}"})
    for path, track in tracks.items():
        failed = " (fails)" if path == trace.failing else ""
        name = f"{trace.threads[path] or 'thread'} {path}{failed}"
        yield _meta("thread_name", track, {"name": name})
        yield _meta("thread_sort_index", track, {"sort_index": track})


def _meta(name: str, track: int, arguments: Json) -> Json:
    return {"name": name, "ph": "M", "pid": PROCESS, "tid": track, "args": arguments}


def _turns(events: Sequence[TracedEvent], tracks: dict[str, int]) -> Iterator[Json]:
    """From the first to the last event that a thread did without another in between."""
    for thread, group in groupby(enumerate(events), key=lambda pair: pair[1].thread):
        turn = list(group)
        first, last = turn[0], turn[-1]
        yield {
            "name": first[1].function or "turn",
            "cat": "turn",
            "ph": "X",
            "ts": first[0],
            "dur": last[0] - first[0] + WIDTH,
            "pid": PROCESS,
            "tid": tracks[thread],
        }


def _slice(at: int, event: TracedEvent, tracks: dict[str, int]) -> Json:
    return {
        "name": f"{event.op} {event.variable}".strip(),
        "cat": "event",
        "ph": "X",
        "ts": at,
        "dur": WIDTH,
        "pid": PROCESS,
        "tid": tracks[event.thread],
        "args": {
            "line": f"{event.file}:{event.line}",
            "function": event.function,
            "source": event.text,
            "cell": f"{event.cell:#x}",
        },
    }


def _arrow(
    at: int, event: TracedEvent, events: Sequence[TracedEvent], tracks: dict[str, int]
) -> Iterator[Json]:
    """A flow binds to the slice that is open at its time in its track."""
    writer = events[event.source]
    shared = {"name": event.variable or "value", "cat": "reads", "id": at, "pid": PROCESS}
    yield {**shared, "ph": "s", "ts": event.source, "tid": tracks[writer.thread]}
    yield {**shared, "ph": "f", "bp": "e", "ts": at, "tid": tracks[event.thread]}
