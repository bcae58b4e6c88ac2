# SPDX-License-Identifier: Apache-2.0
"""docs/hardware.md: Bugaboo's tables 2, 3 and 5 for its hardware, ours next to the paper's."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from evaluation import markdown
from evaluation.hardware_results import (
    HARDWARE,
    LINES,
    QUIET,
    WORDS,
    CaseResult,
    HardwareDraw,
    KernelResult,
    Seen,
)
from evaluation.papers import BUGABOO_2, BUGABOO_2_HARDWARE, BUGABOO_3, BUGABOO_5
from unsnarl.traces.hardware import HardwareCounts
from unsnarl.workflows.simulate_hw import GraphSize, rates

BAR = 1.5  # inspections on the zoo, against the software tracker's
CONTEXT = 5


class Page(NamedTuple):
    """The page, and the bars in words."""

    text: str
    bars: tuple[str, ...]


class Row(NamedTuple):
    """A bug, and all that was measured of it."""

    bug: str
    language: str
    cases: tuple[CaseResult, ...]

    @property
    def label(self) -> str:
        """Its name in tables."""
        return f"{self.bug} ({self.language.capitalize()})"

    def inspected(
        self, graph: str, size: int = CONTEXT, *, labelled: bool = True
    ) -> list[Seen | None]:
        """The inspections of all its failures and draws, with one of the graphs."""
        return [
            (case.labelled if labelled else case.unlabelled)[graph][size] for case in self.cases
        ]


def rows_of(draws: Iterable[HardwareDraw]) -> list[Row]:
    """By bug, those of the paper first."""
    found: dict[tuple[str, str], list[CaseResult]] = {}
    for draw in draws:
        found.setdefault((draw.bug, draw.language), []).extend(draw.cases)
    rows = [Row(bug, language, tuple(cases)) for (bug, language), cases in found.items() if cases]
    return sorted(rows, key=lambda row: (row.bug not in BUGABOO_2, row.language, row.bug))


def mean(seen: Sequence[Seen | None]) -> float | None:
    """Code points, over the draws that find the bug; None if none does."""
    known = [one.points for one in seen if one is not None]
    return statistics.fmean(known) if known else None


def shown(seen: Sequence[Seen | None]) -> str:
    """`1.4 (1.0)`, and in how many draws if not in all."""
    known = [one for one in seen if one is not None]
    if not known:
        return markdown.NONE
    points, functions = (statistics.fmean(column) for column in zip(*known, strict=True))
    text = f"{points:.1f} ({functions:.1f})"
    return text if len(known) == len(seen) else f"{text}, {len(known)}/{len(seen)}"


def page(draws: Sequence[HardwareDraw], kernels: Sequence[KernelResult]) -> Page:
    """The whole page."""
    rows = rows_of(draws)
    bars = _bars(rows)
    text = markdown.sections(
        "# Bugaboo's hardware, simulated",
        "Made by `python -m evaluation.hardware`. Bugaboo (Lucia, Ceze: MICRO 2009) proposes, in "
        "addition to its software tracker BB-SW, caches that remember which instruction wrote a "
        "line: BB-HW. Here hunts of the zoo keep a trace of every access, on the paper's own kind "
        "of graph: sources are writes (`--no-anti-edges --no-own-reads`). The same traces go "
        "through our tracker with words for cells, through the tracker with lines of 64 bytes, and "
        "through the simulated machine of `unsnarl simulate-hw`: 16 cores, 32 KB of L1 in 8 ways, "
        "MESI, contexts of 10 bits, a table of 16,384 entries. So each row compares graphs of the "
        "very same runs.",
        _what(rows, draws),
        "## Bars",
        "\n".join(f"- {bar}" for bar in bars),
        "## Table 2: inspections until the bug is found",
        "Code points, functions in brackets, means over failures and draws; a dash where the bug "
        "is not ranked. *Without context*: whether the labelled method finds it when contexts are "
        "left out.",
        _table_2(rows),
        _contexts(rows),
        "## Table 3: imprecision",
        "Of the code points that communicate in the graph of words, the share that does not in the "
        "graph of lines, and in that of the hardware. Edges from memory count as no communication.",
        _table_3(rows, kernels),
        _imprecision(rows),
        "## Table 5: what the hardware does",
        "Per 10,000 accesses, traps per 10 million; nodes and edges of the union of all graphs of "
        "a bug. The zoo's programs are kernels of a few hundred accesses: nearly all of their "
        "misses are first touches. The benchmarks' kernels (`benchmarks/native_kernels`), run "
        f"freely once with {kernels[0].threads if kernels else 8} threads, come nearer to the "
        "paper's programs. The paper's row for a program that does work of the same kind stands "
        "below ours.",
        _table_5(rows, kernels),
        "## What differs from the paper",
        _differences(),
    )
    return Page(text, bars)


def _what(rows: Sequence[Row], draws: Sequence[HardwareDraw]) -> str:
    python = sum(row.language == "python" for row in rows)
    lost = sorted({f"{one.bug} ({one.language})" for one in draws if not one.cases})
    seeds = len({draw.seed for draw in draws})
    text = (
        f"Measured: {len(rows)} programs of the zoo, {len(rows) - python} in C and C++ and "
        f"{python} in Python, {seeds} draw{'s' if seeds != 1 else ''} of up to 25 failing and 25 "
        "passing runs each. Those that the paper has come first; the others are those of "
        "`--all` that were measured so far."
    )
    return text + (f" No result: {', '.join(lost)}." if lost else "")


class Compared(NamedTuple):
    """Inspections with words and with a kind of hardware, over the programs where both find it."""

    words: float
    hardware: float
    programs: int

    @property
    def ratio(self) -> float:
        """The hardware's in parts of the tracker's."""
        return self.hardware / self.words


def compared(rows: Sequence[Row], graph: str, *, labelled: bool) -> Compared | None:
    """The means over programs; None if there is none where both find the bug."""
    pairs = [
        [mean(row.inspected(one, labelled=labelled)) for one in (WORDS, graph)] for row in rows
    ]
    both = [(words, other) for words, other in pairs if words is not None and other is not None]
    if not both:
        return None
    words, other = (statistics.fmean(column) for column in zip(*both, strict=True))
    return Compared(words, other, len(both))


def _bars(rows: Sequence[Row]) -> tuple[str, ...]:
    lines = []
    for graph in (HARDWARE, QUIET):
        for name, labelled in (("labelled", True), ("unlabelled", False)):
            found = compared(rows, graph, labelled=labelled)
            if found is None:
                continue
            verdict = "met" if found.ratio <= BAR else "not met"
            lines.append(
                f"{graph}, {name}: {found.hardware:.2f} inspections, {found.words:.2f} with words: "
                f"{found.ratio:.2f} times as many (bar {BAR}: {verdict}), on the {found.programs} "
                f"programs where both find the bug; it finds {_found(rows, graph, labelled)} of "
                f"{len(rows)}, words {_found(rows, WORDS, labelled)}"
            )
    return tuple(lines)


def _found(rows: Sequence[Row], graph: str, labelled: bool) -> int:
    return sum(any(row.inspected(graph, labelled=labelled)) for row in rows)


def _table_2(rows: Sequence[Row]) -> str:
    head = (
        "bug",
        "without context (paper)",
        "without context, HW",
        "HW labelled (paper)",
        "HW labelled",
        "lines labelled",
        "words labelled",
        "HW unlabelled (paper)",
        "HW unlabelled",
        "lines unlabelled",
        "words unlabelled",
    )
    lines = []
    for row in rows:
        paper, theirs = BUGABOO_2.get(row.bug), BUGABOO_2_HARDWARE.get(row.bug)
        plain = any(row.inspected(HARDWARE, 0))
        cells: list[object] = [row.label, paper and paper.without, plain]
        for at, labelled in ((0, True), (1, False)):
            cells.append(f"{theirs[at][0]} ({theirs[at][1]})" if theirs else None)
            graphs = (HARDWARE, LINES, WORDS)
            cells += [shown(row.inspected(graph, labelled=labelled)) for graph in graphs]
        lines.append(cells)
    return markdown.table(head, lines)


def _contexts(rows: Sequence[Row]) -> str:
    """How many are found with contexts, and without."""
    lines = []
    for graph in (HARDWARE, QUIET, LINES, WORDS):
        found = [sum(any(row.inspected(graph, size)) for row in rows) for size in (CONTEXT, 0)]
        lines.append(f"{graph}: {found[0]} with contexts, {found[1]} without")
    total = f"Of {len(rows)} programs the labelled method finds the bug in, by graph: "
    return total + "; ".join(lines) + "."


def percent(missing: int, total: int) -> float | None:
    """Of the code points."""
    return 100 * missing / total if total else None


def _table_3(rows: Sequence[Row], kernels: Sequence[KernelResult]) -> str:
    lines: list[Sequence[object]] = []
    for row in rows:
        paper = BUGABOO_3.get(row.bug)
        total = sum(case.code_points for case in row.cases)
        found = [_missing(row, graph) for graph in (LINES, HARDWARE)]
        theirs = paper or (None, None)
        lines.append((row.label, total, theirs[0], found[0], theirs[1], found[1]))
    for one in kernels:
        found = [percent(one.missing[graph], one.code_points) for graph in (LINES, HARDWARE)]
        lines.append((f"{one.name} (kernel)", one.code_points, None, found[0], None, found[1]))
    head = ("program", "code points", "lines (paper), %", "lines, %", "HW (paper), %", "HW, %")
    return markdown.table(head, lines)


def _missing(row: Row, graph: str) -> float | None:
    total = sum(case.code_points for case in row.cases)
    return percent(sum(case.missing[graph] for case in row.cases), total)


def _imprecision(rows: Sequence[Row]) -> str:
    shares = {
        graph: [share for row in rows if (share := _missing(row, graph)) is not None]
        for graph in (LINES, HARDWARE)
    }
    if not shares[LINES]:
        return ""
    texts = [
        f"{graph} {statistics.fmean(found):.1f} % (from {min(found):.0f} to {max(found):.0f})"
        for graph, found in shares.items()
    ]
    return (
        "Means over the programs of the zoo: "
        + ", ".join(texts)
        + ". The paper has 17 to 27 % and "
        "33 to 60 % for four full applications. " + _evicted(rows)
    )


def _evicted(rows: Sequence[Row]) -> str:
    """Why there is less of it here."""
    lines = sum(case.counts.evictions for row in rows for case in row.cases)
    if lines:
        return f"{lines} lines were evicted in all runs of the zoo together."
    return (
        "No line was evicted in any run of the zoo: its kernels fit into the caches, so what the "
        "hardware misses more than lines do is what it does not note, above all writes to "
        "exclusive lines."
    )


def _table_5(rows: Sequence[Row], kernels: Sequence[KernelResult]) -> str:
    lines: list[Sequence[object]] = []
    for row in rows:
        counts = HardwareCounts()
        for case in row.cases:
            counts = counts.plus(case.counts)
        lines.append(_activity(row.label, counts, row.cases[0].plain, row.cases[0].with_context))
        lines += _theirs(row.bug)
    for one in kernels:
        lines.append(_activity(f"{one.name} (kernel)", one.counts, one.plain, one.with_context))
        lines += _theirs(one.like)
    head = (
        "program",
        "accesses",
        "read misses",
        "write misses",
        "coherence misses",
        "metadata writes",
        "table writes",
        "traps",
        "nodes, edges without context",
        "with",
    )
    return markdown.table(head, lines)


def _activity(
    label: str, counts: HardwareCounts, plain: GraphSize, large: GraphSize
) -> Sequence[object]:
    return (
        label,
        f"{counts.accesses:,}",
        *(round(rate, 2) for rate in rates(counts).values()),
        f"{plain.nodes}, {plain.edges}",
        f"{large.nodes}, {large.edges}",
    )


def _theirs(name: str) -> list[Sequence[object]]:
    row = BUGABOO_5.get(name)
    if row is None:
        return []
    sizes = [f"{nodes}, {edges}" for nodes, edges in (row.plain, row.with_context)]
    return [(f"{name} (paper)", None, *row[:6], *sizes)]


def _differences() -> str:
    return "\n".join(
        (
            "- The runs are gated: one thread at a time, so caches see what a fine interleaving "
            "would bring, without timing. Threads keep their cores.",
            "- An operation on a lock is one write to a line of its own. In the graphs of the "
            "tracker it adds nothing to contexts ([decision 7](adr/0007-anti-edges.md)); to "
            "hardware it is a write like any other, so there it does. *Quiet locks* are those of "
            "hardware that leaves atomic instructions out of contexts.",
            "- The paper says what a full table does, not how long reading it takes: here as many "
            "accesses go by as it has entries (`--trap`).",
            "- In Python an object's cells stand for its memory: they lie behind its header, 8 "
            "bytes each, in the order of the tracker's own table "
            "([decision 79](adr/0079-access-traces-and-hardware.md)).",
            "- Slowdown of BB-SW, the last column of table 5, is in `python -m benchmarks native`.",
        )
    )
