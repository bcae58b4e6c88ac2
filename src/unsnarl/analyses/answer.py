# SPDX-License-Identifier: Apache-2.0
"""What every analysis returns: ranked answers, made of lines that name points by index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from unsnarl.model.report import Region, Support

# By line: point, role and anchor.
AnswerKey = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Line:
    """One line of an answer.

    Attributes:
        role: Number of its thread, by first appearance among the lines.
        confidence: Share of the answer's runs that have the line.
        time: Puts the lines of all regions in order.
        separation: How much more failing than passing runs have it.
        same_cell: Share of its appearances that touched the cell the answer is about.
        anchor: Which thread: 0 that of the source, 1 that of the sink, higher for others.
    """

    point: int
    region: Region
    role: int
    confidence: float
    time: float
    separation: float
    same_cell: float
    anchor: int

    @property
    def is_end(self) -> bool:
        """Whether this is the source or the sink."""
        return self.region in ("source", "sink")

    @property
    def relevance(self) -> float:
        """How much a line says about the failure, for filling up and cutting."""
        return self.confidence * (self.same_cell + max(self.separation, 0.0))


@dataclass(frozen=True)
class Answer:
    """One ranked answer of one method.

    Attributes:
        runs: Indexes of the failing runs that have it.
        passing: How many passing runs have it.
        threads: By failing run: the thread's index in that run behind each anchor.
        support: What single methods say of the same accesses, in the joined ranking.
        is_stuck: Nobody could go on: it was not ranked, but seen (stuck.py).
        closing: Lines that were not ranked but complete the conflict in the run that is shown
            (docs/adr/0046).
    """

    method: str
    score: float
    features: Mapping[str, float]
    lines: tuple[Line, ...]
    runs: tuple[int, ...]
    passing: int
    threads: Mapping[int, Mapping[int, int]]
    support: tuple[Support, ...] = ()
    is_stuck: bool = False
    closing: tuple[Line, ...] = ()

    @property
    def shown(self) -> tuple[Line, ...]:
        """All lines that a report shows, in order of time."""
        if not self.closing:
            return self.lines
        return tuple(sorted((*self.lines, *self.closing), key=lambda line: line.time))

    @property
    def is_bare(self) -> bool:
        """Whether it is about one thread alone."""
        return len({line.role for line in self.lines}) < 2

    @property
    def is_wide(self) -> bool:
        """Whether it is about more than one cell, as a conflict cycle is."""
        return not all(line.same_cell for line in self.lines)

    @property
    def key(self) -> AnswerKey:
        """What the answer says, and nothing else: equal for answers that ask the same experiments.

        Scores and threads are left out: another ranking has others, and a rule of the gate is about
        roles. Answers themselves cannot be hashed.
        """
        return tuple((line.point, line.role, line.anchor) for line in self.lines)
