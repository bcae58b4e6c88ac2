# SPDX-License-Identifier: Apache-2.0
"""What a report is made from: the campaign's figures, and per signature the runs and findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np

from unsnarl.analyses.answer import Answer
from unsnarl.model.finding import Instrumented, Notice, RunCounts
from unsnarl.model.graph import Graph
from unsnarl.model.run import Failure, Thread, Wait
from unsnarl.model.site import Point
from unsnarl.runfile.reader import RunFile
from unsnarl.runfile.sites import Interner


class Points(Protocol):
    """Turns campaign-wide indexes into points; `runfile.sites.Interner` is one."""

    def point(self, index: int) -> Point:
        """The point of an index."""


@dataclasses.dataclass(frozen=True)
class Captured:
    """What a capture replay saw at one point: the value, the locks held, the variable's name."""

    value: str | None = None
    locks: tuple[str, ...] = ()
    variable: str = ""


Captures = Mapping[tuple[str, int], Captured]


class _Value(msgspec.Struct, frozen=True, array_like=True):
    """One entry of a `values` note (probes/python/capture.py)."""

    event: int
    point: int
    path: str
    value: str
    locks: tuple[str, ...] = ()
    variable: str = ""


def captured_values(run: RunFile, interner: Interner) -> dict[tuple[str, int], Captured]:
    """What a run noted of values, by thread and point; of several the last one.

    The last, because an edge stands for the latest time that it happened.
    """
    try:
        noted = msgspec.convert(run.notes.values, type=list[_Value])
    except msgspec.ValidationError:
        return {}  # values are an extra: a finding is told without them
    raw = np.array([value.point for value in noted], dtype=np.uint32)
    indexes = interner.indexes(raw, run).tolist() if noted else []
    return {
        (one.path, index): Captured(one.value or None, one.locks, one.variable)
        for one, index in zip(noted, indexes, strict=True)
    }


@dataclasses.dataclass(frozen=True)
class FailingRun:
    """One failing run. `waits` and the keys of `captured` have campaign-wide indexes for points.

    Attributes:
        name: What `replay` takes.
        captured: By (path of the thread, point); None if the run was never replayed for values.
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
        failure = run.failures[0] if run.failures else None
        seen = captured or captured_values(run, interner) or None
        return cls(run.path.stem, interner.graph(run), run.threads, failure, waits, seen)


@dataclasses.dataclass(frozen=True)
class SignatureFacts:
    """All that the campaign knows of one failure.

    Attributes:
        count: Runs with this signature; `rate` is their share.
        failing: The runs whose graphs were ranked, in the order in which `rank` got them.
        passing: How many passing runs they were compared with.
        findings: The answers of the ranking, best first.
        exemplar: Index into `failing` of the run to show where a finding has the choice.
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
    exemplar: int = 0


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
