# SPDX-License-Identifier: Apache-2.0
"""The plan of a run: everything that the target's process is to do.

A plan crosses two borders: as JSON to the fork server, and from there to the gate. The field names
are the keys on both (binding/plan.c, binding/plan_rules.c). Fields at their default are left out,
so every default here is the one that the C code assumes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from unsnarl.model.choices import Level, Order
from unsnarl.model.run import Switch
from unsnarl.model.schedule import Schedule

Strategy = Literal[
    "surw", "pos", "pct", "walk", "rff", "serial", "noise", "free", "replay", "record", "sketch"
]
Who = Literal["any", "self", "others"]
# A segment that survives edits: thread path, the points to stop at, which occurrence of them.
AnchoredSegment = tuple[str, list[int], int]


class Match(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which events a rule is about.

    Attributes:
        points: Any of these points.
        path: Only of this thread.
        occurrence: Only the thread's n-th event at these points; 0 for all of them.
        who: Relative to the thread that activated the rule.
        equal: The path stands for all threads that are equal to that one, too.
        role: Of equal threads only the one that came first to an event of this role; 0 for all.
    """

    points: tuple[int, ...]
    path: str | None = None
    occurrence: int = 0
    who: Who = "any"
    equal: bool = False
    role: int = 0


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the gate enforces: hold a thread until something has happened, or an exclusive region.

    Attributes:
        when: What activates the rule; None for active from the start.
        hold: Before which events a thread is held.
        until: What ends it. Of an exclusive region: its last event, by the same thread.
        limit: Give a hold up after so many choices; 0 for never.
        once: Activate it for the first thread only.
        exclusive: The group of regions that keep each other's threads out.
        guards: Further points at which threads of the group must wait.
        leave: The sites of the region's function, [low, high): leaving it ends the region.
    """

    when: Match | None = None
    hold: Match | None = None
    until: Match | None = None
    limit: int = 0
    once: bool = False
    exclusive: int | None = None
    guards: tuple[int, ...] = ()
    leave: tuple[int, int] | None = None


class DebugStop(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a debugger takes over, and the terminal that it uses.

    Without a path the program stops when no thread can go on.
    """

    title: str
    path: str = ""
    points: tuple[int, ...] = ()
    occurrence: int = 1
    stdin: str = ""
    stdout: str = ""


class Follow(msgspec.Struct, frozen=True):
    """Branch outcomes that the threads are led along, with symbols for what they share (CLAP)."""

    file: str
    branches: Mapping[str, Any]
    guesses: Mapping[str, Any]


class Plan(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything one run is to do.

    Where `switch`, `timeout` or `brief` are None, whoever runs the plan decides.

    Attributes:
        strategy: How the gate chooses the next thread.
        seed: Of the program's random numbers and, unless `draw` is given, of the strategy.
        draw: The strategy's own seed.
        switch: Where threads may be switched.
        timeout: The run's time limit in seconds.
        file: Where the run file goes; `output`: where the program's output goes.
        depth: Priority changes of PCT.
        length: How many events a run has, about; for PCT.
        sites: Switch points to use; None for all.
        interest: The sites that SURW weighs, and `counts`: by thread, its events there.
        schedule: What a replay in the same process follows; `anchors`: in another one.
        capture: Points at which values are noted.
        trace: Whether every event is kept.
        accesses: Whether all that the tracker is given is written down (model/access_trace.py).
        heap_errors: Whether the use of a freed block of C is a failure.
        rules: What the gate enforces.
        sketch: The file of the sketch that a run is led along.
        level: What is logged, or what the sketch has; with order, fenced, values, branches.
        noise: Random delays in a recorded run.
        brief: Nobody will read what the run prints of its failure.
        node: Of a session of pytest, the only test that is run: FILE::NAME. Of a class that is
            stressed, the calls to make, as JSON (probes/python/driver.py).
    """

    strategy: Strategy
    seed: int
    number: int = 0
    draw: int | None = None
    switch: Switch | None = None
    timeout: float | None = None
    file: str = ""
    output: str = ""
    brief: bool | None = None
    node: str = ""
    depth: int = 3
    length: int = 0
    sites: Sequence[int] | None = None
    interest: Sequence[int] | None = None
    counts: Mapping[str, int] | None = None
    schedule: Schedule | None = None
    anchors: Sequence[AnchoredSegment] | None = None
    capture: Sequence[int] | None = None
    trace: bool = False
    accesses: bool = False
    heap_errors: bool = False
    rules: tuple[Rule, ...] = ()
    follow: Follow | None = None
    debug: DebugStop | None = None
    sketch: str | None = None
    level: Level | None = None
    order: Order = "clocks"
    fenced: bool = False
    values: bool = False
    branches: bool = False
    noise: bool = False
    window_size: int | None = None
    granularity: str = "cell"
    # Recon 5.1, Bugaboo 6.4.
    context_size: int = 5
    # The three shortcuts of Recon 5.4; the paper's own rule for first writes is `paper`.
    first_read: bool = True
    first_write: Literal["shared", "paper", "off"] = "shared"
    racy_lookup: bool = True
    # Not in the papers: reads are sources, too; under the gate also a thread's reads of its own
    # writes (docs/adr/0007).
    anti_edges: bool = True
    own_reads: bool = True
    # In a free run, too: what a thread reads of its own writes, as every run under the gate has it.
    all_reads: bool = False
    site_limit: int | None = None


def as_message(plan: Plan) -> dict[str, Any]:
    """The plan as the target's process receives it: what JSON has, lists instead of tuples."""
    message: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(plan))
    return message
