# SPDX-License-Identifier: Apache-2.0
"""What a report is built from: the campaign's figures, and each signature's runs and answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.campaigns.swallowed import Swallowed, chain
from unsnarl.experiments.verdict import Verdict
from unsnarl.model.evidence import Due
from unsnarl.model.graph import Graph
from unsnarl.model.report import Fix, Instrumented, Notice, RunCounts
from unsnarl.model.run import Caught, Failure, Frame, Thread, Wait
from unsnarl.model.site import Point
from unsnarl.probes.binaries.sites import MANGLED, plain_type
from unsnarl.runfile.reader import RunFile
from unsnarl.runfile.sites import Interner


class Points(Protocol):
    """Turns campaign-wide indexes into points; `runfile.sites.Interner` is one."""

    def point(self, index: int) -> Point:
        """The point of an index."""


@dataclasses.dataclass(frozen=True)
class CapturedAccess:
    """What a capture replay saw of one access.

    Attributes:
        locks: The names of the locks held, numbered where two share one.
        variable: What the program calls what was touched, or the container of `element`.
        sections: For each lock the number of its acquisition.
        element: `['tea']`, or "" for an attribute or a whole container.
        owner: The number of the object that the variable belongs to; 0 if unknown.
        thread: The path of the thread.
        stack: The target's own calls that led to it, innermost first.
    """

    value: str | None = None
    locks: tuple[str, ...] = ()
    variable: str = ""
    sections: tuple[int, ...] = ()
    element: str = ""
    owner: int = 0
    thread: str = ""
    stack: tuple[Frame, ...] = ()


# By the index of the answer among those of its signature, and of the line in the answer.
Captures = Mapping[tuple[int, int], CapturedAccess]


@dataclasses.dataclass(frozen=True)
class FailingRun:
    """One failing run. `waits` have campaign-wide indexes for points.

    Attributes:
        name: What `replay` takes.
        captured: What a replay saw of the lines; None if the run was never replayed for values.
        due: The accesses that were still to come when it ended.
        chain: Exceptions that the program swallowed on the way to its failure.
        limits: If a time limit ended the deadlock: how long each waiting thread would have waited.
        ran_out: ... the thread whose limit it was; -1 if there was none.
    """

    name: str
    graph: Graph
    threads: tuple[Thread, ...] = ()
    failure: Failure | None = None
    waits: tuple[Wait, ...] = ()
    captured: Captures | None = None
    due: tuple[Due, ...] = ()
    chain: tuple[Caught, ...] = ()
    limits: Mapping[int, float] = dataclasses.field(default_factory=dict)
    ran_out: int = -1

    @classmethod
    def of(
        cls,
        run: RunFile,
        interner: Interner,
        due: tuple[Due, ...] = (),
        swallowed: Sequence[Swallowed] = (),
    ) -> FailingRun:
        """The run of a file, its points interned, with what a comparison says of it."""
        ends = () if run.is_struck else run.stuck_waits
        raw = np.array([(wait.point, wait.taken) for wait in ends], dtype=np.uint32)
        indexes = interner.indexes(raw.reshape(-1), run).tolist() if len(raw) else []
        waits = tuple(
            msgspec.structs.replace(wait, point=point, taken=taken)
            for wait, point, taken in zip(ends, indexes[::2], indexes[1::2], strict=True)
        )
        failure = _named(interner.located(run.failures[0])) if run.failures else None
        links = chain(run.caught, failure, swallowed)
        graph = interner.graph(run)
        found = cls(run.path.stem, graph, run.threads, failure, waits, due=due, chain=links)
        if run.standstill is None:
            return found
        stop = run.standstill
        return dataclasses.replace(found, limits=stop.limits, ran_out=stop.ran_out)


def _named(failure: Failure) -> Failure:
    """With the plain name of a C++ exception's type."""
    if not failure.type.startswith(MANGLED):
        return failure
    return msgspec.structs.replace(failure, type=plain_type(failure.type))


@dataclasses.dataclass(frozen=True)
class ExplainedEvent:
    """One event of an explanation.

    Attributes:
        pending: It never returned.
        due: It never began.
        setup: It only brought the threads there.
    """

    path: str
    point: int
    cell: int
    captured: CapturedAccess | None = None
    pending: bool = False
    due: bool = False
    setup: bool = False


@dataclasses.dataclass(frozen=True)
class PassingFacts:
    """The nearest passing run: its events, and the two whose order differs."""

    events: Sequence[ExplainedEvent]
    moved: tuple[int, int]
    differences: int


@dataclasses.dataclass(frozen=True)
class ProofFacts:
    """What was proved of a finding.

    Attributes:
        events: Everything that matters, in order of time.
        orders: The constraints: indexes into `events`, the first before the second.
        reproduced: How many of `tries` fresh runs under the constraints failed.
        searched: The trials that it took to find the constraints.
        odd: Further fresh runs that ended early in another failure of the program.
        at: The failing run that it is about, by its index.
        same: In so many of `watched` fresh runs all accesses came in the order that is shown.
    """

    events: Sequence[ExplainedEvent]
    orders: Sequence[tuple[int, int]]
    reproduced: int
    tries: int
    searched: int = 0
    odd: int = 0
    passing: PassingFacts | None = None
    at: int = 0
    same: int = 0
    watched: int = 0


@dataclasses.dataclass(frozen=True)
class SignatureFacts:
    """Everything about one failure of a campaign.

    Attributes:
        count: Runs with this signature; `rate` is their share.
        failing: The runs whose graphs were ranked, in the order in which `rank` got them.
        passing: How many passing runs they were compared with.
        findings: The answers of the ranking, best first.
        exemplar: Index into `failing` of the run to show where a finding has the choice.
        verdicts: What experiments say of the findings, one each; empty if none were made.
        proofs: What was proved, by the finding's index.
        fixes: What would repair the program, by the finding's index.
        swallowed: Exceptions that set the failing runs apart, in the order of time.
        causes: How many of the first findings are causes of their own, if several are; else 0.
    """

    signature: str
    kind: str
    switch: str
    latent: bool
    count: int
    rate: float
    failing: Sequence[FailingRun]
    passing: int
    findings: Sequence[Answer] = ()
    method: str = "joined"
    verdicts: Sequence[Verdict | None] = ()
    exemplar: int = 0
    proofs: Mapping[int, ProofFacts] = dataclasses.field(default_factory=dict)
    fixes: Mapping[int, Fix] = dataclasses.field(default_factory=dict)
    swallowed: Sequence[Swallowed] = ()
    causes: int = 0


@dataclasses.dataclass(frozen=True)
class CampaignFacts:
    """The figures of a whole campaign."""

    campaign: str
    command: tuple[str, ...]
    seconds: float
    runs: RunCounts
    instrumented: Instrumented
    warnings: tuple[Notice, ...] = ()
    signatures: Sequence[SignatureFacts] = ()
    unlabelled: SignatureFacts | None = None
