# SPDX-License-Identifier: Apache-2.0
"""One run of the target: its label, its failure, its threads and its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

Label = Literal["pass", "fail", "hang"]
FailureKind = Literal["exception", "assertion", "signal", "deadlock", "hang", "exit"]
Switch = Literal["gil", "free"]


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One line of a stack."""

    file: str
    line: int
    function: str


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run failed, as the target's process noted it."""

    kind: FailureKind
    type: str = ""
    message: str = ""
    thread: str = ""
    frames: tuple[Frame, ...] = ()
    text: str = ""
    site: int = 0  # where it struck, if there are no frames


class Thread(msgspec.Struct, frozen=True):
    """A thread of one run. `path` is stable across runs, `index` is not."""

    index: int
    parent: int
    path: str
    name: str
    events: int
    controlled: bool
    daemon: bool
    ended: bool


class Segment(msgspec.Struct, frozen=True, array_like=True):
    """The thread of `path` runs until its own event counter stands at `until`.

    It takes up at `point`, where it is for the `occurrence`-th time. One that was waiting when the
    run ended has a last segment in which it does nothing.
    """

    path: str
    until: int
    point: int
    occurrence: int = 0


class Wait(msgspec.Struct, frozen=True):
    """Thread `thread` waits at `point` for an object that `owner` took at `taken`.

    The owner is -1 if nobody will release it.
    """

    thread: int
    point: int
    owner: int
    object: int
    taken: int = 0
    taken_time: int = 0


class RuleEffect(msgspec.Struct, frozen=True):
    """What became of the instances of one rule of the run's plan (struct uns_rule_record)."""

    activated: int
    satisfied: int
    released: int
    abandoned: int
    active: int  # when the run ended
    dropped: int
    held: int  # choices in which a thread that could run was kept back
    first_release: int  # the step + 1, 0 if there was none


def in_cycle(waits: Sequence[Wait]) -> tuple[Wait, ...]:
    """The waits that form a cycle of owners, in its order, from the lowest thread on."""
    by_thread = {wait.thread: wait for wait in waits}
    for start in sorted(by_thread):
        path = [by_thread[start]]
        while path[-1].owner in by_thread and len(path) <= len(waits):
            if path[-1].owner == start:
                return tuple(path)
            path.append(by_thread[path[-1].owner])
    return ()


class RunRecord(msgspec.Struct, frozen=True):
    """What the store keeps of a run."""

    number: int
    label: Label
    signature: str
    strategy: str
    seed: int
    switch: Switch
    status: int
    signal: int
    seconds: float
    threads_seen: int
    threads_controlled: int
    failure: Failure | None = None
