# SPDX-License-Identifier: Apache-2.0
"""From a traced run to its events with names and lines, and who read whose write."""

from __future__ import annotations

from pathlib import Path

from unsnarl.model.event import Op, op_of, site_of
from unsnarl.model.sources import Sources
from unsnarl.model.trace import RunTrace, TracedEvent
from unsnarl.runfile import RunFile, SiteTable


def run_trace(number: int, signature: str, run: RunFile, table: SiteTable, root: Path) -> RunTrace:
    """All events of a run that was made with `trace`."""
    sources, names = Sources(root), table.variables(run)
    events: list[TracedEvent] = []
    writes: dict[int, int] = {}  # by cell, the last write
    for _, cell, point, thread, _ in run.trace.tolist():
        site, op = table.site(site_of(point)), op_of(point)
        path = run.threads[thread].path
        latest = writes.get(cell, -1) if op is Op.READ else -1
        is_foreign = latest >= 0 and events[latest].thread != path
        if op is Op.WRITE:
            writes[cell] = len(events)
        events.append(
            TracedEvent(
                thread=path,
                op=op.word,
                file=sources.relative(site.file),
                line=site.line,
                function=site.function,
                text=sources.line(site.file, site.line),
                variable=names.get(site_of(point)) or site.variable or site.name,
                cell=cell,
                source=latest if is_foreign else -1,
            )
        )
    return RunTrace(
        run=number,
        signature=signature,
        threads={thread.path: thread.name for thread in run.threads},
        failing=run.failing_thread,
        events=tuple(events),
        dropped=run.counters["trace_dropped"],
    )
