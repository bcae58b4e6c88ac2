# SPDX-License-Identifier: Apache-2.0
"""What a patch of C or C++ starts from: a finding's points in the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unsnarl.model.report import Finding, FindingPoint
from unsnarl.patches.blocks import LineSpan
from unsnarl.patches.conflict import ConflictPoints, files_of, functions_of, named_spans
from unsnarl.patches.native.holding import waits
from unsnarl.patches.native.source import SUFFIXES, CSource
from unsnarl.patches.native.tree import CFunction


@dataclass(frozen=True)
class CConflict(ConflictPoints):
    """A finding, and the C and C++ files that it names."""

    finding: Finding
    sources: Mapping[str, CSource]

    def waits(self, point: FindingPoint) -> bool:
        """See ConflictPoints."""
        source = self.sources.get(point.file)
        return source is None or waits(source, point.line)


def load(finding: Finding, root: Path) -> CConflict:
    """Read the files that a finding names; one that cannot be read is left out."""
    sources = {}
    for name in dict.fromkeys(files_of(finding)):
        path = root / name
        if path.suffix in SUFFIXES and path.is_file():
            sources[name] = CSource(path, name)
    return CConflict(finding, sources)


def span_sets(conflict: CConflict) -> Iterator[tuple[LineSpan, ...]]:
    """Sets of lines that may have to be atomic."""
    yield from named_spans(conflict)
    yield tuple(accesses_in(conflict, functions_of(conflict.accesses)))


def accesses_in(conflict: CConflict, functions: Iterable[tuple[str, str]]) -> Iterator[LineSpan]:
    """In each function the lines from the first to the last that names a variable at fault."""
    names = {name for _, name in conflict.names}
    for file, qualified in sorted(set(functions)):
        source = conflict.sources.get(file)
        if source is None:
            continue
        for function in functions_named(source, qualified):
            every = [one for statement in function.body.statements for one in statement.tokens]
            lines = [source.line_of(one.begin) for one in every if one.text in names]
            if lines:
                yield LineSpan(file, min(lines), max(lines))


def functions_named(source: CSource, qualified: str) -> list[CFunction]:
    """The functions of a qualified name: `BlockQueue::take`, `main`."""
    parts = qualified.split("::")
    return [
        one
        for one in source.unit.functions
        if one.name == parts[-1] and _ends_alike(one.scope, parts[:-1])
    ]


def _ends_alike(scope: Sequence[str], parts: Sequence[str]) -> bool:
    pairs = zip(reversed(scope), reversed(parts), strict=False)
    return all(one == other for one, other in pairs)
