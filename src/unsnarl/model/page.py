# SPDX-License-Identifier: Apache-2.0
"""What the HTML report shows, in words: sentences are made here, drawings in the browser."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from unsnarl.model.report import Status


class PageThread(msgspec.Struct, frozen=True):
    """A thread of a finding; `role` chooses its lane and its colour."""

    path: str
    label: str
    role: int


class PageLock(msgspec.Struct, frozen=True):
    """A lock that is held at a step: equal sections are one acquisition."""

    name: str
    section: int


class PageStep(msgspec.Struct, frozen=True):
    """One line of the explanation.

    Attributes:
        number: As in every output; 0 for one of the set-up.
        position: File and line, as short as they are clear.
        what: What was done there, in words.
        mark: What is wrong with it: `was 1`.
        failing: What was raised there; "" if nothing that matters.
        values: What variables were seen to be, by their name.
        writer: The number of the step whose write was read here; 0 if none of another thread.
        stack: The calls that led here, innermost first.
        code: Lines of the source around it, by number.
    """

    number: int
    thread: str
    role: int
    file: str
    line: int
    position: str
    text: str
    what: str
    mark: str = ""
    failing: str = ""
    values: Mapping[str, str] = msgspec.field(default_factory=dict)
    writer: int = 0
    locks: tuple[PageLock, ...] = ()
    stack: tuple[str, ...] = ()
    code: Mapping[int, str] = msgspec.field(default_factory=dict)


class PageArm(msgspec.Struct, frozen=True):
    """One arm of the experiment: its name, what should come of it, and what came."""

    name: str
    wanted: str
    fail: int
    runs: int


class PageCommand(msgspec.Struct, frozen=True):
    """A command to copy, and what it is for."""

    label: str
    text: str


class PagePatch(msgspec.Struct, frozen=True):
    """The fix, if `works`; else what was tried."""

    note: str
    diff: str
    works: bool
    tries: tuple[str, ...] = ()


class PagePassing(msgspec.Struct, frozen=True):
    """The nearest passing run; `moved` is the number of the step that came elsewhere in it."""

    note: str
    moved: int
    steps: tuple[PageStep, ...]


class PageFinding(msgspec.Struct, frozen=True):
    """One finding, ready to be drawn.

    Attributes:
        word: The status in the word that every output has for it.
        sentence: What happened.
        why: What kept it from being confirmed; "" if nothing did.
        notes: More sentences about the steps.
        orders: The proved orders, as pairs of step numbers.
        evidence: What the single methods say.
    """

    number: int
    id: str
    title: str
    status: Status
    word: str
    sentence: str
    why: str
    score: float
    threads: tuple[PageThread, ...]
    steps: tuple[PageStep, ...]
    notes: tuple[str, ...] = ()
    arms: tuple[PageArm, ...] = ()
    experiment: str = ""
    orders: tuple[tuple[int, int], ...] = ()
    passing: PagePassing | None = None
    patch: PagePatch | None = None
    commands: tuple[PageCommand, ...] = ()
    features: Mapping[str, float] = msgspec.field(default_factory=dict)
    evidence: str = ""


class PageFailure(msgspec.Struct, frozen=True):
    """One failure with its findings, the causes first."""

    message: str
    where: str
    kind: str
    count: int
    chain: str
    printed: str
    remarks: tuple[str, ...]
    causes: int
    findings: tuple[PageFinding, ...]


class PageTrace(msgspec.Struct, frozen=True):
    """A whole failing run in columns: an event is one entry of each.

    Attributes:
        threads: Labels; `thread` counts them from 0.
        points: File, line, function, text and variable of each code point; `point` counts them.
        ops: Words; `op` counts them.
        source: How many events before it the write was made that a read took; 0 for none.
        dropped: Events that there was no room for.
    """

    threads: tuple[str, ...]
    points: tuple[tuple[str, int, str, str, str], ...]
    ops: tuple[str, ...]
    thread: tuple[int, ...]
    point: tuple[int, ...]
    op: tuple[int, ...]
    source: tuple[int, ...]
    dropped: int = 0


class Page(msgspec.Struct, frozen=True):
    """Everything that one HTML file shows.

    Attributes:
        verdict: The answer in one sentence.
        summary: Runs and seconds.
        labels: One letter per run, in the order of time: p, f or h.
        coverage: What was instrumented and controlled.
        covered: Whether all threads were controlled.
        first: The number of the finding to show first.
        missing: Why there is no trace, if there is none.
    """

    title: str
    command: str
    campaign: str
    verdict: str
    summary: str
    labels: str
    coverage: str
    covered: bool
    warnings: tuple[str, ...]
    unfinished: tuple[str, ...]
    timings: Mapping[str, float]
    failures: tuple[PageFailure, ...]
    first: int = 1
    trace: PageTrace | None = None
    missing: str = ""
