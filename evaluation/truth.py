# SPDX-License-Identifier: Apache-2.0
"""The known truth about the bugs of the zoo, and how well a finding matches it.

A cause is a list of points in the order that makes the bug bite. A finding matches it if its own
points, taken in order, contain them all in that order and in fitting threads; it matches it
concisely if it has at most twice as many points as are needed. The mark of the place where the
program failed is in every finding and is no access: it does not count as a point. Waits that end a
deadlock have no order among themselves: nothing happens between them.
"""

from __future__ import annotations

import functools
import itertools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Literal

import msgspec

from unsnarl.model.report import Finding, FindingPoint
from unsnarl.reports.patterns import FAIL

REGIONS = ("prefix", "source", "body", "sink", "suffix")
BugType = Literal["atomicity", "order", "deadlock", "race", "lost-wakeup", "multi-variable"]


class TruePoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One point of a cause; `text` is part of its source line, role 0 is any thread."""

    file: str
    function: str
    text: str
    op: str
    role: int = 0


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes runs fail with a signature that contains `signature`.

    `shapes` are the names that an engineer would accept for it (docs/shapes.md), `variables` those
    that an answer must name, without what they are a part of.
    """

    signature: str
    points: tuple[TruePoint, ...]
    shapes: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


class Bug(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One specimen: the content of its bug.toml, and its folder.

    `sources` are compiled into the command, `fixed_sources` into that of the twin, with `flags`.
    A `public` one has the shape of a program that others published. `first_look` is what its first
    hunt said, before anything was changed for it; empty if nobody wrote that down.
    """

    name: str
    title: str
    type: BugType
    switch: Literal["gil", "free"]
    command: tuple[str, ...]
    fixed: tuple[str, ...]
    source: str
    causes: tuple[Cause, ...] = msgspec.field(name="cause")
    folder: str = ""
    language: Literal["python", "c", "c++"] = "python"
    sources: tuple[str, ...] = ()
    fixed_sources: tuple[str, ...] = ()
    flags: tuple[str, ...] = ("-O1",)
    public: bool = False
    first_look: str = ""

    def cause_of(self, signature: str) -> Cause | None:
        """The cause of failures with this signature."""
        matching = (cause for cause in self.causes if cause.signature in signature)
        return next(matching, None)


class Verdict(msgspec.Struct, frozen=True):
    """How well one finding matches one cause."""

    missing: tuple[TruePoint, ...]
    ordered: bool
    roles: bool
    points: int
    needed: int

    @property
    def matches(self) -> bool:
        """All true points, in the true order, in matching threads."""
        return self.ordered and self.roles

    @property
    def concise(self) -> bool:
        """At most twice as many points as are needed."""
        return self.points <= 2 * self.needed


def load_bug(folder: Path) -> Bug:
    """Reads the bug.toml of a specimen; raises ValueError for one that is not well formed."""
    content = tomllib.loads((folder / "bug.toml").read_text(encoding="utf-8"))
    try:
        return msgspec.convert({**content, "folder": str(folder)}, Bug)
    except msgspec.ValidationError as error:
        raise ValueError(f"{folder / 'bug.toml'}: {error}") from error


def load_zoo(root: Path) -> list[Bug]:
    """All specimens under a folder, by name."""
    return [load_bug(path.parent) for path in sorted(root.glob("*/bug.toml"))]


def judge(cause: Cause, points: Sequence[FindingPoint], folder: Path | str) -> Verdict:
    """Compares the points of a finding with a cause; `folder` holds the specimen's sources."""
    accesses = [point for point in points if point.op != FAIL]
    in_order = sorted(accesses, key=lambda point: (REGIONS.index(point.region), point.time))
    found_at = [matching(cause, point, folder) for point in in_order]
    matches = [
        [place for place, found in enumerate(found_at) if true in found]
        for true in range(len(cause.points))
    ]
    missing = [true for true, found in zip(cause.points, matches, strict=True) if not found]
    roles = [point.role for point in in_order]
    any_role = [0] * len(matches)
    true_roles = [true.role for true in cause.points]

    def assignable(wanted: list[int]) -> bool:
        return any(
            _assignable([matches[i] for i in order], [wanted[i] for i in order], roles)
            for order in _orders(cause.points)
        )

    return Verdict(
        missing=tuple(missing),
        ordered=assignable(any_role),
        roles=assignable(true_roles),
        points=len(accesses),
        needed=len(cause.points),
    )


def _orders(points: Sequence[TruePoint]) -> Iterator[list[int]]:
    """The orders of a cause's points that mean the same: waits in a row may come in any."""
    rows = itertools.groupby(range(len(points)), key=lambda i: -1 if points[i].op == "wait" else i)
    choices = [list(itertools.permutations(row)) for _, row in rows]
    for chosen in itertools.product(*choices):
        yield list(itertools.chain.from_iterable(chosen))


def rank_of_truth(bug: Bug, signature: str, findings: Sequence[Finding]) -> int | None:
    """The rank of the first finding that matches the cause concisely, if any does."""
    cause = bug.cause_of(signature)
    if cause is None:
        return None
    for finding in sorted(findings, key=lambda finding: finding.rank):
        verdict = judge(cause, finding.points, bug.folder)
        if verdict.matches and verdict.concise:
            return finding.rank
    return None


def matching(cause: Cause, point: FindingPoint, folder: Path | str) -> tuple[int, ...]:
    """Which of a cause's points this one is, whatever its thread; their indexes."""
    points = enumerate(cause.points)
    return tuple(at for at, true in points if _matches(true, point, Path(folder)))


def _matches(true: TruePoint, point: FindingPoint, folder: Path) -> bool:
    return (
        PurePath(point.file).name == PurePath(true.file).name
        and point.function == true.function
        and _is_done(true.op, point.op)
        and true.text.strip() in (point.text or _source_line(folder / true.file, point.line))
    )


def _is_done(true: str, shown: str) -> bool:
    """A call of a library that changes nothing is shown as the read that it is (adr 0096)."""
    return shown == true or (true, shown) == ("call", "read")


def _source_line(path: Path, line: int) -> str:
    lines = _lines(path)
    return lines[line - 1] if 1 <= line <= len(lines) else ""


@functools.cache
def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8").splitlines())


def _assignable(
    matches: Sequence[Sequence[int]],
    true_roles: Sequence[int],
    roles: Sequence[int],
    start: int = 0,
    threads: dict[int, int] | None = None,
) -> bool:
    """Whether every true point finds a place after the one before, in its own role's thread."""
    threads = threads or {}
    if not matches:
        return True
    role = true_roles[0]
    for place in matches[0]:
        if place < start or not _agrees(role, roles[place], threads):
            continue
        known = threads | ({role: roles[place]} if role else {})
        if _assignable(matches[1:], true_roles[1:], roles, place + 1, known):
            return True
    return False


def _agrees(role: int, thread: int, threads: dict[int, int]) -> bool:
    """Equal roles are equal threads, different roles are different threads."""
    if role == 0:
        return True
    if role in threads:
        return threads[role] == thread
    return thread not in threads.values()
