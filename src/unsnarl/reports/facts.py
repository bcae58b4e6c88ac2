# SPDX-License-Identifier: Apache-2.0
"""What a report is made from: the campaign's figures, and per signature the runs and findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.experiments.confirm import Verdict
from unsnarl.model.finding import Instrumented, Notice, Repair, RunCounts
from unsnarl.model.graph import Graph
from unsnarl.model.run import Failure, Frame, Thread, Wait
from unsnarl.model.site import Point
from unsnarl.runfile.reader import RunFile
from unsnarl.runfile.sites import Interner


class Points(Protocol):
    """Turns campaign-wide indexes into points; `runfile.sites.Interner` is one."""

    def point(self, index: int) -> Point:
        """The point of an index."""


@dataclasses.dataclass(frozen=True)
class Captured:
    """What a capture replay saw of one access.

    Attributes:
        locks: The names of the locks held, told apart where two have the same.
        variable: What the program calls what was touched, or the container of `element`.
        sections: For each lock the number of its acquisition.
        element: `['tea']`, or "" for an attribute or a whole container.
        owner: The number of the object that the variable belongs to; 0 if that is not known.
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


# By place of the answer among the findings of the signature, and of the line in the answer.
Captures = Mapping[tuple[int, int], Captured]


@dataclasses.dataclass(frozen=True)
class FailingRun:
    """One failing run. `waits` have campaign-wide indexes for points.

    Attributes:
        name: What `replay` takes.
        captured: What a replay saw of the lines; None if the run was never replayed for values.
    """

    name: str
    graph: Graph
    threads: tuple[Thread, ...] = ()
    failure: Failure | None = None
    waits: tuple[Wait, ...] = ()
    captured: Captures | None = None

    @classmethod
    def of(cls, run: RunFile, interner: Interner, captured: Captures | None = None) -> FailingRun:
        """The run of a file, with its points interned; `captured` comes from a replay of it."""
        raw = np.array([(wait.point, wait.taken) for wait in run.waits], dtype=np.uint32)
        indexes = interner.indexes(raw.reshape(-1), run).tolist() if len(raw) else []
        waits = tuple(
            msgspec.structs.replace(wait, point=point, taken=taken)
            for wait, point, taken in zip(run.waits, indexes[::2], indexes[1::2], strict=True)
        )
        failure = interner.placed(run.failures[0]) if run.failures else None
        return cls(run.path.stem, interner.graph(run), run.threads, failure, waits, captured)


@dataclasses.dataclass(frozen=True)
class ToldEvent:
    """One event that a person should read; `pending` if it never came back."""

    path: str
    point: int
    cell: int
    captured: Captured | None = None
    pending: bool = False


@dataclasses.dataclass(frozen=True)
class PassingFacts:
    """The nearest passing run: the events that happened in it, and the two that came otherwise."""

    events: Sequence[ToldEvent]
    moved: tuple[int, int]
    differences: int


@dataclasses.dataclass(frozen=True)
class ProofFacts:
    """What was proved of a finding.

    Attributes:
        events: All that matters, in the order of time.
        orders: The constraints: places in `events`, the first before the second.
        reproduced: Fresh runs under the constraints that failed, of so many tries.
        searched: Trials that it took to find them.
        odd: Further fresh runs, which another failure of the program ended first.
    """

    events: Sequence[ToldEvent]
    orders: Sequence[tuple[int, int]]
    reproduced: int
    tries: int
    searched: int = 0
    odd: int = 0
    passing: PassingFacts | None = None


@dataclasses.dataclass(frozen=True)
class SignatureFacts:
    """All that the campaign knows of one failure.

    Attributes:
        count: Runs with this signature; `rate` is their share.
        failing: The runs whose graphs were ranked, in the order in which `rank` got them.
        passing: How many passing runs they were compared with.
        findings: The answers of the ranking, best first.
        exemplar: Index into `failing` of the run to show where a finding has the choice.
        verdicts: What experiments say of the findings, one each; none if none were made.
        proofs: What was proved, by the finding's place.
        repairs: What would mend the program, by the finding's place.
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
    repairs: Mapping[int, Repair] = dataclasses.field(default_factory=dict)


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
