# SPDX-License-Identifier: Apache-2.0
"""Findings: ranked answers, in exactly the shape of the JSON contract (design 11)."""

from __future__ import annotations

from typing import Literal

import msgspec

Region = Literal["prefix", "source", "body", "sink", "suffix"]
FindingKind = Literal["atomicity", "order", "race", "deadlock", "other"]
Status = Literal["confirmed", "refuted", "infeasible", "inconclusive", "untested"]


class FindingPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a finding: who did what, where, to which variable.

    Attributes:
        part: What of the variable: `['tea']` of a container, `.clear()` of a library's object.
        sections: For each of `locks`, the acquisition: equal numbers are one critical section.
        unseen: The replay did not see this access: its value and its locks are not known.
        stack: The calls that led to the access, innermost first: `spider.py:25 in Spider.run`.
    """

    file: str
    line: int
    function: str
    thread: str
    role: int
    op: str
    variable: str
    region: Region
    confidence: float
    value: str | None = None
    locks: tuple[str, ...] = ()
    text: str = ""
    time: float = 0.0
    part: str = ""
    sections: tuple[int, ...] = ()
    unseen: bool = False
    stack: tuple[str, ...] = ()


class Evidence(msgspec.Struct, frozen=True):
    """What one method says of a finding of the joined ranking: its rank and score there."""

    method: str
    rank: int
    score: float
    features: dict[str, float]
    note: str = ""


class Arm(msgspec.Struct, frozen=True):
    """One arm of an experiment: how many of its runs failed with the finding's signature.

    `realised` are those in which the rules had their way, `released` those in which a hold had to
    be given up.
    """

    fail: int
    runs: int
    realised: int = 0
    released: int = 0


class PassingRun(msgspec.Struct, frozen=True):
    """The nearest passing run: the points of the explanation as they came in it.

    `moved` are two places of the explanation, from 1 on: the second came before the first here.
    """

    points: tuple[FindingPoint, ...]
    moved: tuple[int, int]
    differences: int


class Replay(msgspec.Struct, frozen=True):
    """How often a failure came back under its minimised constraints, in fresh runs.

    `searched` are the trials that it took to find them; `odd` are further fresh runs, which another
    failure of the program ended first.
    """

    run: str
    constraints: int
    reproduced: int
    tries: int
    searched: int = 0
    odd: int = 0


class Finding(msgspec.Struct, frozen=True):
    """A ranked answer of one method, or of several joined.

    Attributes:
        explanation: The few points, in order, that a person should read.
        orders: The minimised constraints: pairs of places in the explanation, from 1 on. The first
            of each before the second, and the failure is certain.
    """

    rank: int
    method: str
    score: float
    features: dict[str, float]
    kind: FindingKind
    variables: tuple[str, ...]
    points: tuple[FindingPoint, ...]
    runs: int
    status: Status = "untested"
    evidence: tuple[Evidence, ...] = ()
    forced: Arm | None = None
    forbidden: Arm | None = None
    control: Arm | None = None
    p_value: float | None = None
    explanation: tuple[FindingPoint, ...] = ()
    orders: tuple[tuple[int, int], ...] = ()
    nearest: PassingRun | None = None
    fix: Repair | None = None


class FailureReport(msgspec.Struct, frozen=True):
    """All that is known of one signature."""

    signature: str
    kind: str
    switch: str
    latent: bool
    count: int
    rate: float
    message: str
    where: str
    findings: tuple[Finding, ...]
    run: str = ""
    replay: Replay | None = None


class Notice(msgspec.Struct, frozen=True):
    """A warning with its slug; docs/messages.md has a paragraph for each slug."""

    slug: str
    message: str


class Instrumented(msgspec.Struct, frozen=True):
    """What the probes reached, so that nothing is silently green."""

    modules: int
    sites: int
    threads_controlled: int
    threads_seen: int


class RunCounts(msgspec.Struct, frozen=True, rename={"passed": "pass"}):
    """Runs by label."""

    total: int
    passed: int
    fail: int
    hang: int


class Report(msgspec.Struct, frozen=True):
    """The one report model: every output is made from this."""

    version: int
    campaign: str
    command: tuple[str, ...]
    seconds: float
    runs: RunCounts
    instrumented: Instrumented
    failures: tuple[FailureReport, ...]
    warnings: tuple[Notice, ...]
    # What is rare over all runs, failing or not; only if asked for.
    unlabelled: tuple[Finding, ...] = ()
    # Where the seconds went.
    timings: dict[str, float] = msgspec.field(default_factory=dict)


class RepairPlace(msgspec.Struct, frozen=True):
    """A source line at which a repair begins or ends."""

    file: str
    line: int
    function: str
    text: str = ""


class Repair(msgspec.Struct, frozen=True, rename={"begin": "from", "end": "to"}):
    """The smallest fix that was simulated with success, or else the best one of those tried.

    Attributes:
        begin: A region's first line, or what an order puts first; `from` in JSON.
        end: A region's last line, or what must wait; `to` in JSON.
        lock: The program's own name of the lock that should be held; "" for a new one.
        lock_site: Where the program takes that lock already: `spider.py:25`.
        reentrant: The region calls something that takes the lock, too: it must be an RLock.
        function: The function that has the whole region; "" if none has.
        others: Other places that need the same lock: `bank.py:14`, `bank.py:14-17`.
        scope: Of an order: the first time of all (`once`), of each thread (`each`), every time
            anew (`turns`), or after the other threads' end (`ended`).
        fail: Of `runs` fresh runs with the fix, those that failed nevertheless.
        deadlocks: Those in which threads would have waited for each other for ever.
        tried: How many fixes were tried, with this one.
    """

    kind: Literal["region", "order"]
    begin: RepairPlace
    end: RepairPlace
    lock: str = ""
    lock_site: str = ""
    reentrant: bool = False
    function: str = ""
    others: tuple[str, ...] = ()
    scope: Literal["", "once", "each", "turns", "ended"] = ""
    fail: int = 0
    deadlocks: int = 0
    runs: int = 0
    tried: int = 0

    @property
    def works(self) -> bool:
        """Whether it removed the failure and brought no deadlock."""
        return bool(self.runs) and not self.fail and not self.deadlocks
