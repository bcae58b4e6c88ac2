# SPDX-License-Identifier: Apache-2.0
"""Prints a report for a person at a terminal: the answer first, then how to go on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from unsnarl.model.finding import FailureReport, Finding, Report
from unsnarl.model.site import C_HEADERS, C_SOURCES
from unsnarl.reports import beside, lanes
from unsnarl.reports.details import locks_known, seen_in, thread_label
from unsnarl.reports.fixes import fix_note
from unsnarl.reports.patterns import WAIT
from unsnarl.reports.remarks import (
    cycle_lines,
    cycle_note,
    evidence_note,
    experiment_note,
    failure_bound,
    lock_remark,
    plural,
    stack_lines,
    title,
)
from unsnarl.reports.steps import Step, all_steps, brief_steps, clean

STATUS = {
    "confirmed": ("CONFIRMED", "bold red"),
    "refuted": ("REFUTED", "bold green"),
    "infeasible": ("INFEASIBLE", "bold yellow"),
    "inconclusive": ("INCONCLUSIVE", "bold yellow"),
    "untested": ("SUSPECTED", "bold red"),
}
# These say in the warnings what the report's own sentences say already.
SAID_ALREADY = ("no-failure", "latent")
LATENT = (
    "latent: cannot fail under this interpreter's lock, will fail on a free-threaded interpreter"
)
RARE = (
    "No label was looked at: these code points communicated in the rarest contexts of all runs. "
    "Rare is not wrong; most of them are correct code."
)
MOST_RARE = 20
PLAIN = str.maketrans("✗◄●│┌·…─", "x<o|+-~-")


def make_console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """A console for `stream`; colours only on a terminal and only if NO_COLOR is not set."""
    return Console(file=stream or sys.stdout, width=width, highlight=False, emoji=False)


def print_report(report: Report, console: Console) -> None:
    """What `hunt` prints: the counts, the best finding of each failure, what was not seen."""
    _print(console, Text(_summary(report)))
    number = 1
    for failure in report.failures:
        _print(console, Text())
        _print_failure(report, failure, number, console)
        number += len(failure.findings)
    if not report.failures:
        _print(console, Text(failure_bound(report.runs), style="bold"))
    if report.unlabelled:
        _print(console, Text())
        _print_rare(report, console)
    _print(console, Text())
    _print_coverage(report, console)
    _print_next(report, console)


def print_finding(report: Report, number: int, console: Console) -> bool:
    """What `show N` prints: one finding with all its points; False if there is no such finding."""
    for other, failure, finding in numbered(report):
        if other == number:
            _print(console, *_headline(report, failure, console.width))
            _print_finding(report, failure, finding, console, brief=False)
            return True
    return False


def print_ranking(report: Report, console: Console) -> None:
    """What `rank` prints: all findings, one line each; only what is rare, if that was asked for."""
    if report.unlabelled:
        _print_rare(report, console)
        return
    for failure in report.failures:
        _print(console, *_headline(report, failure, console.width))
        for number, owner, finding in numbered(report):
            if owner is failure:
                _print(console, _ranking_row(finding, number, console.width))
    if not report.failures:
        _print(console, Text(failure_bound(report.runs), style="bold"))


def _print_rare(report: Report, console: Console) -> None:
    _print(console, Text("rare communication", style="bold"))
    _print(console, *_wrapped(RARE, console.width, ""))
    for number, finding in enumerate(report.unlabelled[:MOST_RARE], 1):
        _print(console, _ranking_row(finding, number, console.width, "communication"))


def numbered(report: Report) -> list[tuple[int, FailureReport, Finding]]:
    """All findings with the numbers that `show` takes: counted through, failure by failure."""
    pairs = [(failure, finding) for failure in report.failures for finding in failure.findings]
    return [(number, *pair) for number, pair in enumerate(pairs, 1)]


def _print(console: Console, *lines: Text) -> None:
    for line in lines:
        encoding = console.encoding.lower()
        if not encoding.startswith("utf"):
            # One character for one, so that the styles stay where they are.
            line.plain = line.plain.translate(PLAIN).encode(encoding, "replace").decode(encoding)
        console.print(line, soft_wrap=True)


def _summary(report: Report) -> str:
    runs = report.runs
    parts = [plural(runs.total, "run"), f"{runs.fail} failing", f"{runs.passed} passing"]
    if runs.hang:
        parts.append(f"{runs.hang} hanging")
    spent = ", ".join(f"{kind} {seconds:.1f}" for kind, seconds in report.timings.items())
    seconds = f"{report.seconds:.1f} s" + (f" ({spent})" if len(report.timings) > 1 else "")
    return " · ".join([*parts, seconds])


def _print_failure(report: Report, failure: FailureReport, number: int, console: Console) -> None:
    _print(console, *_headline(report, failure, console.width))
    if failure.latent:
        _print(console, *_wrapped(LATENT, console.width, "yellow"))
    if not failure.findings:
        _print(console, Text("  no interleaving tells the failing runs from the passing ones"))
        return
    _print(console, Text())
    finding = failure.findings[0]
    left = _print_finding(report, failure, finding, console, brief=True)
    if left:
        more = f"  {plural(left, 'further point')} of this finding: unsnarl show {number}"
        _print(console, Text(more, style="dim"))
    for at, other in enumerate(failure.findings):
        if "round" in other.features:
            rest = f"{plural(other.runs, 'failing run')} without it: {title(other)}"
            _print(console, *_wrapped(f"{rest} (unsnarl show {number + at})", console.width, ""))


def _headline(report: Report, failure: FailureReport, width: int) -> list[Text]:
    message = clean(failure.message.split("\n")[0]) or failure.kind
    which = next(i for i, other in enumerate(report.failures, 1) if other is failure)
    total = len(report.failures)
    head = "1 failure: " if total == 1 else f"failure {which} of {total}, {failure.count}x: "
    text = Text().append(head, style="bold")
    text.append(lanes.cut(message, width - cell_len(head)), style="red")
    return _joined(text, "  ", f"({failure.where})", width) if failure.where else [text]


def _print_finding(
    report: Report, failure: FailureReport, finding: Finding, console: Console, *, brief: bool
) -> int:
    """Print one finding; returns how many of its points were left out."""
    width = console.width
    _print(console, *_title_lines(report, failure, finding, width))
    for sentence, place in cycle_lines(failure, finding):
        _print(console, *_joined(Text(f"  {sentence}"), " ", place, width))
    steps = brief_steps(finding) if brief else all_steps(finding)
    if any(point.op != WAIT for step in steps for point in step.points):
        exception = clean(failure.message.split("\n")[0].split(":")[0])
        drawn = lanes.draw(steps, lambda path: thread_label(failure, path), exception, width)
        _print(console, *drawn)
    note = cycle_note(finding) or lock_remark(finding, steps, known=locks_known(finding))
    files = lanes.files_note(steps)
    for line in (note, *_proof_lines(failure, finding), f"files: {files}" if files else ""):
        if line:
            _print(console, *_wrapped(line, width, ""))
    if not brief:
        _print(console, *beside.side_by_side(failure, finding, width))
        _print_background(finding, steps, console)
    shown = sum(len(step.points) for step in steps)
    return 0 if finding.orders else len(finding.points) - shown


def _odd(count: int) -> str:
    ended = "1 more ended" if count == 1 else f"{count} more ended"
    return f" ({ended} in another failure)" if count else ""


def _proof_lines(failure: FailureReport, finding: Finding) -> list[str]:
    """What experiments showed, beside the verdict: what is certain, what differs, what helps."""
    lines = []
    replay = failure.replay
    if finding.orders and replay is not None:
        told = beside.order_note(finding)
        count = f"{replay.reproduced}/{replay.tries} fresh runs fail{_odd(replay.odd)}"
        lines.append(f"With {told}, {count}." if told else f"{count} under this order.")
    difference = beside.difference_note(finding)
    if difference:
        lines.append(f"In the nearest run that passes {difference}.")
    if finding.fix is not None:
        lines.append(fix_note(finding.fix))
    if finding.orders and failure.run:
        again = f"unsnarl replay {failure.run.lstrip('0')}"
        native = any(point.file.endswith(C_SOURCES + C_HEADERS) for point in finding.points)
        lines.append(f"replay: {again} · debug: {again} --{'gdb' if native else 'pdb'}")
    return lines


def _print_background(finding: Finding, steps: Sequence[Step], console: Console) -> None:
    """Who called what, and what single methods say."""
    lines = [*stack_lines(steps), evidence_note(finding)]
    for line in filter(None, lines):
        _print(console, *_wrapped(line, console.width, "dim"))


def _title_lines(
    report: Report, failure: FailureReport, finding: Finding, width: int
) -> list[Text]:
    word, style = STATUS[finding.status]
    if finding.kind == "deadlock" and finding.status == "untested":
        # The gate saw the cycle itself; there is nothing to suspect.
        word = "OBSERVED"
    head = Text().append(word, style=style).append(f"  {title(finding)}", style="bold")
    tail = experiment_note(finding) or f"score {finding.score:.2f} · {seen_in(failure, finding)}"
    return _joined(head, "   ", tail, width)


def _ranking_row(finding: Finding, number: int, width: int, what: str = "") -> Text:
    ends = [p for p in finding.points if p.region in ("source", "sink")] or finding.points[:2]
    places = " → ".join(f"{point.file}:{point.line}" for point in ends)
    text = f"{number:>3}  {finding.score:>7.2f}  {title(finding, what)}  {places}"
    return Text(lanes.cut(text, width))


def _print_coverage(report: Report, console: Console) -> None:
    seen = report.instrumented
    text = (
        f"instrumented: {plural(seen.modules, 'module')}, {plural(seen.sites, 'site')}"
        f" · threads controlled: {seen.threads_controlled} of {seen.threads_seen}"
    )
    missing = seen.threads_seen - seen.threads_controlled
    _print(console, *_wrapped(text, console.width, "yellow" if missing else "dim", indent=0))
    for notice in report.warnings:
        if notice.slug not in SAID_ALREADY:
            line = f"warning: {clean(notice.message)} [{notice.slug}]"
            _print(console, *_wrapped(line, console.width, "yellow", indent=0))


def _print_next(report: Report, console: Console) -> None:
    count = len(numbered(report))
    if count:
        show = "unsnarl show 2 · " if count > 1 else "unsnarl show 1 · "
        _print(console, Text(f"next: {show}unsnarl rank  ({plural(count, 'finding')})"))


def _joined(head: Text, glue: str, tail: str, width: int) -> list[Text]:
    """`tail` behind `head` where it fits, else on a line of its own."""
    if cell_len(head.plain) + cell_len(glue + tail) <= width:
        return [head.append(glue + tail)]
    indent = len(head.plain) - len(head.plain.lstrip()) + 2
    return [head, Text(" " * indent + lanes.cut(tail, width - indent))]


def _wrapped(text: str, width: int, style: str, indent: int = 2) -> list[Text]:
    """Whole words on lines of at most `width` cells."""
    lines = [" " * indent]
    for word in text.split(" "):
        glue = "" if lines[-1].isspace() or not lines[-1] else " "
        if glue and cell_len(lines[-1] + glue + word) > width:
            lines.append(" " * indent + word)
        else:
            lines[-1] += glue + word
    return [Text(line, style=style) for line in lines]
