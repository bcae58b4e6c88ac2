# SPDX-License-Identifier: Apache-2.0
"""What is measured of Bugaboo's hardware, as values that can be stored."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from unsnarl.traces.hardware import HardwareCounts
from unsnarl.workflows.simulate_hw import GraphSize

WORDS, LINES, HARDWARE, QUIET = GRAPHS = (
    "BB-SW, words",
    "BB-SW, lines",
    "BB-HW",
    "BB-HW, quiet locks",
)


class Seen(NamedTuple):
    """What is looked at until the bug is found."""

    points: float
    functions: float


class CaseResult(msgspec.Struct, frozen=True):
    """One failure's runs, with three graphs of each.

    Attributes:
        labelled: By graph, then by the size of contexts; None where the bug is not ranked.
        code_points: That communicate in the graph of words.
        missing: By graph: how many of those do not communicate there.
        counts: The hardware's, over all runs; `plain` and `with_context` are its graphs' sizes.
    """

    failing: int
    passing: int
    labelled: dict[str, dict[int, Seen | None]]
    unlabelled: dict[str, dict[int, Seen | None]]
    code_points: int
    missing: dict[str, int]
    counts: HardwareCounts
    plain: GraphSize
    with_context: GraphSize


class HardwareDraw(msgspec.Struct, frozen=True):
    """One hunt of a bug; a complaint if it came to nothing."""

    bug: str
    language: str
    seed: int
    cases: tuple[CaseResult, ...]
    complaint: str = ""


class KernelResult(msgspec.Struct, frozen=True):
    """A longer program, recorded once.

    Attributes:
        missing: Of `code_points`, by graph.
    """

    name: str
    like: str
    threads: int
    trace_bytes: int
    code_points: int
    missing: dict[str, int]
    counts: HardwareCounts
    plain: GraphSize
    with_context: GraphSize
