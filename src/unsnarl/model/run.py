# SPDX-License-Identifier: Apache-2.0
"""One run of the target: its label, its failure, its threads and what they waited for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

Label = Literal["pass", "fail", "hang"]
FailureKind = Literal["exception", "assertion", "signal", "deadlock", "hang", "exit", "heap"]
Switch = Literal["gil", "free"]


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One line of a stack."""

    file: str
    line: int
    function: str


# The interpreter's words for what was changed by others while a thread went through it.
_ITERATED = re.compile(r"changed size during iteration|mutated during iteration")


def is_iterated(message: str) -> bool:
    """Whether an exception says that something changed while it was gone through."""
    return bool(_ITERATED.search(message))


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run failed, as the target's process noted it."""

    kind: FailureKind
    type: str = ""
    message: str = ""
    thread: str = ""
    frames: tuple[Frame, ...] = ()
    text: str = ""
    site: int = 0  # where it struck, if there are no frames
    errno: int = 0  # if the system refused something (OSError)
    since: int = 0  # the time at which its thread had entered the first handler of it; 0: none
    made: int = 0  # of a block of the heap: the site that asked for it,
    freed: int = 0  # and the one that freed it


class CaughtKind(NamedTuple):
    """Exceptions of one type, from one line to one handler; or errors that a call returned."""

    type: str
    raised: Frame | None
    by: Frame
    call: str = ""


class Caught(msgspec.Struct, frozen=True):
    """An exception that the target caught: the first of its kind in a run.

    Attributes:
        time: When its thread entered the first handler of it.
        frames: Of the user's code, innermost last: there it was raised.
        by: The handler.
        call: In C: the function that returned an error, whose name is the type.
        site: Where it was called; the frames are those of that line (`RunFile.locate`).
    """

    type: str
    message: str
    thread: str
    time: int
    frames: tuple[Frame, ...]
    by: Frame
    call: str = ""
    site: int = 0

    @property
    def kind(self) -> CaughtKind:
        """What sets it apart from others."""
        raised = self.frames[-1] if self.frames else None
        return CaughtKind(self.type, raised, self.by, self.call)


class Thread(msgspec.Struct, frozen=True):
    """A thread of one run. `path` is stable across runs, `index` is not.

    Threads of the same `kind` are equal: the same code starts them to run the same function. One of
    kind 0 is like no other.
    """

    index: int
    parent: int
    path: str
    name: str
    events: int
    controlled: bool
    daemon: bool
    ended: bool
    kind: int = 0


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


class Standstill(msgspec.Struct, frozen=True):
    """Nobody could go on until the time limit of one thread ran out.

    Attributes:
        waits: Who waited for whom.
        time: When, by the clock of traces.
        ran_out: The thread whose limit it was.
        limits: By thread with a time limit: how long it would have waited, in seconds.
        is_alone: All threads waited: none slept, or was blocked outside of the gate.
    """

    waits: tuple[Wait, ...]
    time: int
    ran_out: int
    limits: dict[int, float]
    is_alone: bool

    @property
    def waiting(self) -> frozenset[int]:
        """Where the threads wait that cannot go on: those of a cycle, or all."""
        return frozenset(wait.point for wait in in_cycle(self.waits) or self.waits)


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
        # A walk may end up in a cycle that its start is not part of; the length ends it.
        while path[-1].owner in by_thread and len(path) <= len(waits):
            if path[-1].owner == start:
                return tuple(path)
            path.append(by_thread[path[-1].owner])
    return ()


def failure_rate_bound(completed: int) -> float:
    """An upper bound of the failure rate at 95 % confidence, after runs of which none failed.

    The rule of three: had a run failed with probability 3/n or more, n runs would all have passed
    in fewer than 5 % of all cases, since (1 - 3/n) ** n < exp(-3) < 0.05. It counts the runs that
    ran to their end, whatever their switching mode. A run that was cut off at its time limit might
    still have failed, so it is no evidence either way.
    """
    return min(3 / completed, 1.0) if completed else 1.0


def bound_text(completed: int) -> str:
    """`failure rate below 0.6 % at 95 % confidence`."""
    percent = 100 * failure_rate_bound(completed)
    digits = f"{percent:.0f}" if percent >= 10 else f"{percent:.2g}"
    return f"failure rate below {digits} % at 95 % confidence"


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
