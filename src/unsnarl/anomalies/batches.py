# SPDX-License-Identifier: Apache-2.0
"""From suspects to the batches that are written and sent: one for each instance that has news."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from unsnarl.anomalies.observed import Observation
from unsnarl.anomalies.points import AnchoredPoints
from unsnarl.anomalies.ranking import Novelty, Pair, Suspect
from unsnarl.model.anomaly import (
    ANOMALIES_MOST,
    CONTEXTS_MOST,
    FORMAT,
    Anomaly,
    AnomalyBatch,
    AnomalyContext,
    AnomalyPoint,
    WatchedProgram,
    anomaly_id,
)
from unsnarl.model.graph import CONTEXT_BITS, CONTEXT_MOST

TEXT_MOST = 1000
WORDS = ("", "local read", "local write", "remote read", "remote write")
ENDS: tuple[Literal["source", "sink"], ...] = ("source", "sink")


@dataclass
class _Sightings:
    """How often one instance saw a pair do something new."""

    count: int = 0
    bursts: int = 0
    first: float = 0.0
    last: float = 0.0
    contexts: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, when: float, rows: Iterable[tuple[int, int, int]]) -> None:
        self.first = min(self.first or when, when)
        self.last = max(self.last, when)
        self.bursts += 1
        for before, after, count in rows:
            self.count += count
            self.contexts[before, after] += count


class Batches:
    """Makes batches; an anomaly is sent once more when it was seen twice as often."""

    def __init__(self, points: AnchoredPoints, novelty: Novelty) -> None:
        self._points = points
        self._novelty = novelty
        self._sent: dict[tuple[str, str], int] = {}

    def of(
        self,
        suspects: Sequence[Suspect],
        observations: Sequence[Observation],
        programs: dict[str, WatchedProgram],
        overheads: dict[str, float],
    ) -> list[AnomalyBatch]:
        """A batch for each instance that has something to say."""
        seen = self._sightings({one.pair for one in suspects}, observations)
        found = []
        for instance, pairs in sorted(seen.items()):
            program = programs[instance]
            chosen = [one for one in suspects if one.pair in pairs]
            made = [self._anomaly(one, pairs[one.pair], program) for one in chosen]
            if any(self._is_news(instance, one) for one in made):
                self._sent |= {(instance, one.id): one.count for one in made}
                bursts = sum(one.instance == instance for one in observations)
                batch = _batch(instance, program, made, bursts, overheads.get(instance, 0.0))
                found.append(batch)
        return found

    def _is_news(self, instance: str, one: Anomaly) -> bool:
        return one.count >= 2 * self._sent.get((instance, one.id), 0) or not self._sent

    def _sightings(
        self, pairs: set[Pair], observations: Sequence[Observation]
    ) -> dict[str, dict[Pair, _Sightings]]:
        seen: dict[str, dict[Pair, _Sightings]] = defaultdict(lambda: defaultdict(_Sightings))
        for one in observations:
            new = one.edges[self._novelty.rows(one)]
            rows: dict[Pair, list[tuple[int, int, int]]] = defaultdict(list)
            names = ("source_point", "sink_point", "source_context", "sink_context", "count")
            for source, sink, *rest in zip(*(new[name].tolist() for name in names), strict=True):
                if (source, sink) in pairs:
                    rows[source, sink].append(tuple(rest))
            for pair, found in rows.items():
                seen[one.instance][pair].add(one.time, found)
        return seen

    def _anomaly(self, suspect: Suspect, seen: _Sightings, program: WatchedProgram) -> Anomaly:
        points = tuple(self._point(suspect.pair[end], end) for end in (0, 1))
        contexts = sorted(seen.contexts.items(), key=lambda one: (-one[1], one[0]))
        return Anomaly(
            id=anomaly_id(program.name, points),
            score=suspect.score,
            count=seen.count,
            first_seen=seen.first,
            last_seen=seen.last,
            points=points,
            contexts=tuple(
                AnomalyContext(in_words(before), in_words(after), count)
                for (before, after), count in contexts[:CONTEXTS_MOST]
            ),
            bursts=seen.bursts,
            edge=suspect.is_new_pair,
        )

    def _point(self, index: int, end: int) -> AnomalyPoint:
        anchor, shown = self._points.anchors[index], self._points.points[index]
        variable = shown.site.variable or anchor.segment
        return AnomalyPoint(
            file=_safe(anchor.file),
            line=max(shown.site.line, 0),
            function=_safe(anchor.function),
            op=anchor.op,
            role=end + 1,
            region=ENDS[end],
            variable=_safe(variable),
            text=_safe(anchor.text),
        )


def in_words(context: int) -> str:
    """The events of a context, the newest first."""
    events = (context >> CONTEXT_BITS * at & 7 for at in range(CONTEXT_MOST))
    return ", ".join(WORDS[one] for one in events if 0 < one < len(WORDS))


def _safe(text: str) -> str:
    """Text that can be encoded: names of files need not be UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8", "replace")[:TEXT_MOST]


def _batch(
    instance: str, program: WatchedProgram, made: list[Anomaly], bursts: int, overhead: float
) -> AnomalyBatch:
    unique = list({one.id: one for one in reversed(made)}.values())[::-1]
    return AnomalyBatch(
        format=FORMAT,
        id=os.urandom(8).hex(),
        instance=instance,
        program=program,
        created=time.time(),
        anomalies=tuple(unique[:ANOMALIES_MOST]),
        dropped=max(len(unique) - ANOMALIES_MOST, 0),
        overhead=max(overhead, 0.0),
        bursts=bursts,
    )
