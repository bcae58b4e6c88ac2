# SPDX-License-Identifier: Apache-2.0
"""The communication of passing runs, in one file that ships with the program.

It is a set of edges between anchored points, with their contexts. A union of sets does not depend
on order or repetition, so baselines of several machines or suites can be merged in any way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Annotated

import msgspec

from unsnarl.anomalies.points import Anchored
from unsnarl.errors import UsageError
from unsnarl.model.graph import CONTEXT_BITS, CONTEXT_MOST, context_mask

VERSION = 1
KIND = "communication"
BYTES_MOST = 256 << 20

Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
Context = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
# Source, sink, and their contexts.
Edge = tuple[Anchored, Anchored, int, int]


class _File(msgspec.Struct, frozen=True):
    """The file: edges name points by their number."""

    version: int
    kind: str = ""
    points: tuple[tuple[str, str, str, str, str, str], ...] = ()
    edges: tuple[tuple[Index, Index, Context, Context], ...] = ()


class GraphBaseline:
    """What passing runs did. Contexts that a burst cut short are compared as far as they go."""

    def __init__(self, edges: Iterable[Edge] = ()) -> None:
        self.edges = frozenset(edges)
        self._cut: dict[tuple[int, int], frozenset[Edge]] = {}

    def merged(self, other: GraphBaseline) -> GraphBaseline:
        """All of both."""
        return GraphBaseline(self.edges | other.edges)

    def has(self, edge: Edge) -> bool:
        """Whether passing runs have the edge, in these contexts or longer ones that end so."""
        lengths = _length(edge[2]), _length(edge[3])
        return edge in self.edges or edge in self._cut_to(lengths)

    def has_pair(self, source: Anchored, sink: Anchored) -> bool:
        """Whether they communicate in passing runs, in whatever context."""
        return (source, sink) in self._pairs

    def encoded(self) -> bytes:
        """The bytes of the file: the same for the same edges."""
        points = sorted({one for edge in self.edges for one in edge[:2]})
        numbers = {one: number for number, one in enumerate(points)}
        edges = sorted((numbers[a], numbers[b], c, d) for a, b, c, d in self.edges)
        return msgspec.json.encode(_File(VERSION, KIND, tuple(points), tuple(edges)))

    @cached_property
    def digest(self) -> str:
        """Which baseline it is."""
        return hashlib.sha256(self.encoded()).hexdigest()

    @cached_property
    def _pairs(self) -> frozenset[tuple[Anchored, Anchored]]:
        return frozenset((source, sink) for source, sink, _, _ in self.edges)

    def _cut_to(self, lengths: tuple[int, int]) -> frozenset[Edge]:
        if lengths not in self._cut:
            masks = [context_mask(one) for one in lengths]
            self._cut[lengths] = frozenset(
                (a, b, c & masks[0], d & masks[1]) for a, b, c, d in self.edges
            )
        return self._cut[lengths]


def _length(context: int) -> int:
    """How many events it has: the newest is lowest, and none is 0."""
    return next(
        (size for size in range(CONTEXT_MOST) if not context >> CONTEXT_BITS * size), CONTEXT_MOST
    )


def load(file: Path) -> GraphBaseline:
    """Read a baseline; raises UsageError (`bad-baseline`) if it is none."""
    try:
        if file.stat().st_size > BYTES_MOST:
            raise _bad(f"{file} has more than {BYTES_MOST} bytes")
        found = msgspec.json.decode(file.read_bytes(), type=_File)
    except FileNotFoundError:
        raise _bad(f"there is no baseline {file}") from None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(f"{file} is no baseline: {error}") from None
    if found.version > VERSION:
        raise _bad(f"{file} is from a newer version of unsnarl")
    if found.kind != KIND:
        raise _bad(f"{file} is no baseline of communication")
    return _checked(found, file)


def _checked(found: _File, file: Path) -> GraphBaseline:
    points = [Anchored(*one) for one in found.points]
    if any(max(edge[:2]) >= len(points) for edge in found.edges):
        raise _bad(f"{file} is damaged: an edge names a point that it does not have")
    return GraphBaseline((points[a], points[b], c, d) for a, b, c, d in found.edges)


def _bad(message: str) -> UsageError:
    return UsageError("bad-baseline", message, "write it: unsnarl baseline -o FILE -- COMMAND")
