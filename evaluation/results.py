# SPDX-License-Identifier: Apache-2.0
"""What an evaluation measured: plain values, so that the page can be made anew from a file."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from evaluation.truth import Bug
from unsnarl.model.report import RunCounts

ALL = 25  # failing runs: as many as a hunt keeps
TOP = 3
TOP_OF_FEW = 5  # with few failing runs


class Placed(msgspec.Struct, frozen=True):
    """Where the first finding that matches a cause stands, and how many points it has."""

    rank: int
    points: int
    needed: int


class Single(msgspec.Struct, frozen=True):
    """How one method did: a rank, or inspections; and if that is no good, why."""

    rank: float | None
    why: str = ""

    @property
    def good(self) -> bool:
        """Whether the cause is in the top three."""
        return self.rank is not None and self.rank <= TOP


class Named(msgspec.Struct, frozen=True):
    """Where a cause's variables are named.

    Attributes:
        headline: That of the first finding that matches the cause; () if none does.
        headline_at: Rank of the first finding whose headline names all true variables.
        points_at: Rank of the first finding whose points do.
    """

    headline: tuple[str, ...]
    headline_at: int | None
    points_at: int | None


class Reconstructed(msgspec.Struct, frozen=True):
    """The first reconstruction that shows the bug at all (Recon, table 3)."""

    rank: int
    relevant: int
    irrelevant: int
    ordered: bool
    missing: int


class ReconDraw(msgspec.Struct, frozen=True):
    """Recon's own figures.

    Attributes:
        strict: By number of failing runs: the rank by the strict criterion.
        shown: As our findings show it; `whole`: as the paper makes it, untrimmed.
        weights: ReliefF of B, R, C; None if there are not two classes.
        features: B, R, C (from 0 to 1) of reconstructions, and whether they show the bug.
    """

    strict: dict[int, int | None]
    shown: dict[int, Reconstructed | None]
    whole: Reconstructed | None
    reconstructions: int
    weights: tuple[float, float, float] | None = None
    features: tuple[tuple[float, float, float, bool], ...] = ()


class Inspected(msgspec.Struct, frozen=True):
    """What must be looked at before the bug is found, in code points and functions."""

    points: float
    functions: float


class BugabooDraw(msgspec.Struct, frozen=True):
    """Bugaboo's figures, by the size of contexts.

    Attributes:
        code_points: So many communicate in these runs.
        added: Per run after the first: the edges that it adds, in percent of those before.
    """

    labelled: dict[int, Inspected | None]
    unlabelled: dict[int, Inspected | None]
    failing_of_unlabelled: int
    code_points: int
    added: dict[int, tuple[float, ...]] = {}


class FalconDraw(msgspec.Struct, frozen=True):
    """Falcon's figures (tables 4 and 5).

    Attributes:
        part: Rank of the first pattern all of whose accesses are true ones, in order.
        pattern: That one, or the one that matches the cause; `cci` has CCI's rank of each access.
    """

    highest: float
    patterns: int
    in_failing: int
    only_failing: int
    rank: int | None
    part: int | None
    pattern: str = ""
    cci: tuple[int | None, ...] = ()


class CauseDraw(msgspec.Struct, frozen=True):
    """Everything measured on the runs of one failure of one draw."""

    failing: int
    passing: int
    rate: float
    joined: dict[int, Placed | None]
    singles: dict[str, Single]
    recon: ReconDraw
    bugaboo: BugabooDraw
    falcon: FalconDraw
    variables: dict[str, Named] = {}


class Draw(msgspec.Struct, frozen=True):
    """One hunt and what was measured on its runs; one entry per cause of the bug."""

    bug: str
    seed: int
    runs: RunCounts
    hunting: float
    measuring: float
    causes: tuple[CauseDraw | None, ...]
    complaint: str = ""

    @property
    def enough(self) -> bool:
        """Whether the wanted runs of both labels came together."""
        return self.runs.passed >= ALL and self.runs.fail + self.runs.hang >= ALL

    def ranks(self, failing: int = ALL) -> tuple[int | None, ...]:
        """The joined ranking's rank of every cause, with so many failing runs."""
        places = [cause.joined.get(failing) if cause else None for cause in self.causes]
        return tuple(place.rank if place else None for place in places)

    def within(self, top: int, failing: int = ALL) -> bool:
        """Whether every cause is among the first ranks."""
        return all(rank is not None and rank <= top for rank in self.ranks(failing))


class Twin(msgspec.Struct, frozen=True):
    """Hunts of a repaired program."""

    bug: str
    switch: str
    runs: int
    failing: int
    findings: int
    seconds: float
    complaint: str = ""


class ObjectDraw(msgspec.Struct, frozen=True):
    """Bugaboo's inspections where whole objects communicate (table 2, lines against words)."""

    bug: str
    seed: int
    labelled: Inspected | None
    unlabelled: Inspected | None


class Spans(msgspec.Struct, frozen=True):
    """How large a window had to be for the patterns of a kernel: size to number of patterns.

    Attributes:
        sizes: A pattern of a run counts for every pair of threads that made it.
        smallest: It counts once, with the smallest of its windows.
    """

    kernel: str
    threads: int
    runs: int
    sizes: dict[int, int]
    smallest: dict[int, int]


class Results(msgspec.Struct, frozen=True):
    """A whole evaluation."""

    command: str
    date: str
    python: str
    cores: int
    seconds: float
    parts: dict[str, float]
    draws: tuple[Draw, ...]
    twins: tuple[Twin, ...]
    spans: tuple[Spans, ...]
    objects: tuple[ObjectDraw, ...] = ()

    def of(self, bug: str) -> list[Draw]:
        """The draws of one bug."""
        return [draw for draw in self.draws if draw.bug == bug]


class Row(msgspec.Struct, frozen=True):
    """One cause of one bug, and what every draw measured on it."""

    bug: Bug
    label: str
    draws: tuple[CauseDraw | None, ...]
    hunting: tuple[float, ...]

    @property
    def seconds(self) -> str:
        """How long a hunt takes."""
        return f"{statistics.median(self.hunting):.1f} s"

    @property
    def known(self) -> list[CauseDraw]:
        """The draws in which the bug failed."""
        return [draw for draw in self.draws if draw]


def rows(results: Results, zoo: Sequence[Bug]) -> list[Row]:
    """A row for every cause of the bugs that were drawn, in the order of the zoo."""
    found = []
    for bug in zoo:
        draws = results.of(bug.name)
        for at, cause in enumerate(bug.causes if draws else ()):
            label = bug.name if len(bug.causes) == 1 else f"{bug.name} ({cause.signature})"
            causes = tuple(draw.causes[at] for draw in draws)
            found.append(Row(bug, label, causes, tuple(draw.hunting for draw in draws)))
    return found
