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


class Finding(msgspec.Struct, frozen=True):
    """A ranked answer of one method, or of several joined."""

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
