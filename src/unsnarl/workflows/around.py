# SPDX-License-Identifier: Apache-2.0
"""The interleaving around a line of a failing run, event by event."""

from __future__ import annotations

from unsnarl.errors import UsageError
from unsnarl.model.trace import RunTrace
from unsnarl.workflows.line_name import LineName
from unsnarl.workflows.show import show
from unsnarl.workflows.trace import trace

EVENTS = 12  # before and after


def around(line: str, finding: str = "1", campaign: str = "", events: int = EVENTS) -> list[str]:
    """What all threads did before and after a line, in the failing run of a finding.

    One text per event, in the order of time; the line's own are marked with `>`. Where it was
    executed several times, the last one that another thread's write led to counts, else the last.
    """
    wanted = LineName.parse(line)
    report, chosen = show(finding, campaign)
    run = trace(f"{report.campaign}/{chosen.failure.run}")
    own = [at for at, one in enumerate(run.events) if wanted.names(one.file, one.line)]
    if not own:
        text = f"the failing run touches nothing shared at {line}"
        raise UsageError("bad-argument", text, "unsnarl show names the lines that matter")
    fed = [at for at in own if run.events[at].source >= 0]
    center = (fed or own)[-1]
    first, last = max(0, center - events), min(len(run.events), center + events + 1)
    return [_text(run, at, at in own) for at in range(first, last)]


def _text(run: RunTrace, at: int, marked: bool) -> str:
    event = run.events[at]
    who = f"{run.threads.get(event.thread, '')} {event.thread}".strip()
    source = ""
    if event.source >= 0:
        other = run.events[event.source]
        source = f"  (from {other.thread} at {other.file}:{other.line})"
    where = f"{event.file}:{event.line}"
    what = f"{event.op} {event.variable}".strip()
    return f"{'>' if marked else ' '} {who}: {where}  {what}  [{event.text}]{source}"
