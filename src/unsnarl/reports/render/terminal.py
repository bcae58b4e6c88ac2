# SPDX-License-Identifier: Apache-2.0
"""Prints a report for a person at a terminal: the answer first, then how to go on."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import PurePath
from typing import TextIO

from msgspec.structs import replace
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from unsnarl.model.cpp_names import C_HEADERS, C_SOURCES
from unsnarl.model.report import (
    FailureReport,
    Finding,
    FindingPoint,
    Notice,
    NumberedFinding,
    Patch,
    Replay,
    Report,
    Stressed,
    numbered,
)
from unsnarl.model.run import is_iterated
from unsnarl.reports.chain import chain_note, type_in
from unsnarl.reports.fixes import fix_note, patch_note, same_patch_note, try_notes
from unsnarl.reports.paths import shown_path
from unsnarl.reports.patterns import NO_EVENTS, WAIT, is_data
from unsnarl.reports.remarks import (
    cycle_lines,
    cycle_note,
    experiment_note,
    failure_bound,
    forbidden_note,
    lock_remark,
    outcome,
    plural,
    seen_in,
    stack_lines,
    support_note,
    thread_label,
    title,
)
from unsnarl.reports.render import compare_view, lanes
from unsnarl.reports.shapes import OF_WAITS
from unsnarl.reports.steps import (
    Step,
    all_steps,
    brief_steps,
    clean,
    core_steps,
    setup_orders,
)

STATUS = {
    "confirmed": ("CONFIRMED", "bold red"),
    "refuted": ("REFUTED", "bold green"),
    "infeasible": ("INFEASIBLE", "bold yellow"),
    "inconclusive": ("INCONCLUSIVE", "bold yellow"),
    "untested": ("SUSPECTED", "bold red"),
}
# These say in the warnings what the report's own sentences say already.
# Of the time, what a person waits for; the JSON report has all phases.
PHASES = ("hunt", "confirm", "minimise", "fix", "patch")
# A diff is shown as it is, but for what would move the cursor.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
SAID_ALREADY = ("no-failure", "latent")
# Whoever reads on must know this.
SAID_FIRST = ("always-fails",)
LATENT = (
    "latent: cannot fail under this interpreter's lock, will fail on a free-threaded interpreter"
)
NOTHING_APART = "no interleaving sets the failing runs apart from the passing ones"
UNSEEN_CHANGE = (
    "what changed meanwhile was not seen: a library's code did it (--include PACKAGE observes it), "
    "code in C, or the death of an object that a weak reference watched"
)
UNSEEN = "what differs was not seen: --include PACKAGE observes the code of a library as well"
UNRANKED = "ranking was cut off: what sets the failing runs apart is not known"
RARE = (
    "Labels were ignored: over all runs, these code points communicated in the rarest contexts. "
    "Rare is not wrong; most of them are correct code."
)
NO_NEW_FAILURE = "no new failure"
LATER = "what repairs it is being looked for"
MOST_RARE = 20
MOST_IN_ROW = 4  # accesses of a finding in one row of a ranking
PLAIN = str.maketrans("✗◄●│┌·…─", "x<o|+-~-")


def make_console(stream: TextIO | None = None, width: int | None = None) -> Console:
    """A console for `stream`; colours only on a terminal and only if NO_COLOR is not set."""
    return Console(file=stream or sys.stdout, width=width, highlight=False, emoji=False)


def print_report(report: Report, console: Console) -> None:
    """What `hunt` prints: the counts, the best finding of each failure, what was not seen."""
    _print_failures(report, console)
    _print_end(report, console)


def print_answer(report: Report, console: Console) -> None:
    """The first part of it, as soon as the failures are explained: what repairs them comes later.

    A repair that was only screened is not called one yet.
    """
    _print_failures(without_fixes(report), console)
    _print(console, Text(), Text(LATER, style="dim"))


def print_repairs(report: Report, console: Console) -> None:
    """What follows `print_answer`: the patches, or what was simulated instead."""
    for one in numbered(report):
        finding = one.finding
        if finding.fix is not None and not _is_patched(finding):
            note = fix_note(finding.fix, _points(finding), len(finding.given))
            _print(console, Text(), *_wrapped(f"{one.number}. {note}", console.width, "", indent=0))
    _print_end(report, console)


def without_fixes(report: Report) -> Report:
    """The report without simulated repairs of its findings."""

    def changed(failure: FailureReport) -> FailureReport:
        findings = tuple(replace(one, fix=None) for one in failure.findings)
        return replace(failure, findings=findings)

    return replace(report, failures=tuple(map(changed, report.failures)))


def _print_failures(report: Report, console: Console) -> None:
    _print(console, Text(run_summary(report)))
    if report.stress is not None:
        _print(console, *_wrapped(stress_note(report.stress), console.width, "", indent=0))
    for notice in report.warnings:
        if notice.slug in SAID_FIRST:
            _print(console, *_wrapped(_warning(notice), console.width, "bold yellow", indent=0))
    for failure in report.failures:
        _print(console, Text())
        _print_failure(report, failure, console)
    if not report.failures:
        bound = NO_NEW_FAILURE if report.quiet else failure_bound(report.runs)
        _print(console, Text(bound, style="bold"))
    if report.unlabelled:
        _print(console, Text())
        _print_rare(report, console)


def _print_end(report: Report, console: Console) -> None:
    _print_patches(report, console)
    _print(console, Text())
    _print_coverage(report, console)
    _print_next(report, console)


def print_finding(report: Report, chosen: NumberedFinding, console: Console) -> None:
    """What `show` prints: one finding with all its points."""
    _print(console, *_headline(report, chosen.failure, console.width))
    _print_finding(report, chosen.failure, chosen.finding, console, brief=False)


def finding_text(report: Report, chosen: NumberedFinding, width: int = 100) -> str:
    """The same as `hunt` shows it, for files: no colours, lines of at most `width`."""
    stream = StringIO()
    console = make_console(stream, width)
    _print(console, *_headline(report, chosen.failure, width))
    _print_finding(report, chosen.failure, chosen.finding, console, brief=True)
    return stream.getvalue()


def print_timings(report: Report, console: Console) -> None:
    """The seconds of every phase; the rest is start-up and output."""
    other = report.seconds - sum(report.timings.values())
    rows = [*report.timings.items(), ("other", max(other, 0.0)), ("all", report.seconds)]
    _print(console, Text(), Text("time", style="bold"))
    for phase, seconds in rows:
        share = 100 * seconds / report.seconds if report.seconds else 0.0
        _print(console, Text(f"  {phase:10}{seconds:7.1f} s{share:6.0f} %"))


def print_ranking(report: Report, console: Console) -> None:
    """What `rank` prints: all findings, one line each; only what is rare, if that was asked for."""
    if report.unlabelled:
        _print_rare(report, console)
        return
    first = {one.failure.signature: one.number for one in reversed(numbered(report))}
    for failure in report.failures:
        _print(console, *_headline(report, failure, console.width))
        _print_rows(failure.findings, first.get(failure.signature, 1), console)
    if not report.failures:
        _print(console, Text(failure_bound(report.runs), style="bold"))


def _print_rare(report: Report, console: Console) -> None:
    _print(console, Text("rare communication", style="bold"))
    _print(console, *_wrapped(RARE, console.width, ""))
    _print_rows(report.unlabelled[:MOST_RARE], 1, console, "communication")


def _print(console: Console, *lines: Text) -> None:
    for line in lines:
        encoding = console.encoding.lower()
        if not encoding.startswith("utf"):
            # One character for one, so that the styles stay where they are.
            line.plain = line.plain.translate(PLAIN).encode(encoding, "replace").decode(encoding)
        # Lines are wrapped or cut before; rich would break them once more.
        console.print(line, soft_wrap=True)


def run_summary(report: Report) -> str:
    """What was run, in numbers: `68 runs · 25 failing · 43 passing · 5.3 s (hunt 0.5, …)`."""
    runs = report.runs
    parts = [plural(runs.total, "run"), f"{runs.fail} failing", f"{runs.passed} passing"]
    if runs.hang:
        parts.append(f"{runs.hang} hanging")
    phases = {kind: report.timings[kind] for kind in PHASES if kind in report.timings}
    spent = ", ".join(f"{kind} {seconds:.1f}" for kind, seconds in phases.items())
    seconds = f"{report.seconds:.1f} s" + (f" ({spent})" if len(phases) > 1 else "")
    return " · ".join([*parts, seconds])


def stress_note(stress: Stressed) -> str:
    """What `stress` called before the hunt, and where the program is that failed."""
    text = (
        f"stress of {stress.subject}: {plural(stress.programs, 'program')} of calls in "
        f"{plural(stress.runs, 'run')}, compared with {plural(stress.serial, 'serial run')}"
    )
    return f"{text}; the one that fails: {stress.file}" if stress.file else text


def _print_failure(report: Report, failure: FailureReport, console: Console) -> None:
    _print(console, *_headline(report, failure, console.width))
    if failure.latent:
        _print(console, *_wrapped(LATENT, console.width, "yellow"))
    if not failure.findings:
        if report.runs.passed:
            is_cut = any(part.phase == "rank" for part in report.unfinished)
            _print(console, Text(f"  {UNRANKED if is_cut else NOTHING_APART}"))
            if not is_cut:
                said = UNSEEN_CHANGE if is_iterated(failure.message) else UNSEEN
                _print(console, *_wrapped(f"  {said}", console.width, ""))
        return
    _print(console, Text())
    findings = [one for one in numbered(report) if one.failure is failure]
    if failure.causes_note:
        _print(console, Text(failure.causes_note, style="bold"), Text())
    causes = findings[: max(len(failure.causes), 1)]
    for one in causes:
        if one is not causes[0]:
            _print(console, Text())
        left = _print_finding(report, failure, one.finding, console, brief=True)
        if left:
            more = f"  {plural(left, 'further point')} of this finding: {_show(one)}"
            _print(console, Text(more, style="dim"))
    for other in findings[len(causes) :]:
        if "round" in other.finding.features:
            runs = plural(other.finding.runs, "failing run")
            rest = f"{runs} without it: {title(other.finding)} ({_show(other)})"
            _print(console, *_wrapped(rest, console.width, ""))


def _show(finding: NumberedFinding) -> str:
    """The command that shows a finding."""
    return f"unsnarl show {finding.finding.id or finding.number}"


def _headline(report: Report, failure: FailureReport, width: int) -> list[Text]:
    message = clean(failure.message.split("\n")[0]) or failure.kind
    which = next(i for i, other in enumerate(report.failures, 1) if other is failure)
    total = len(report.failures)
    head = "1 failure: " if total == 1 else f"failure {which} of {total}, {failure.count}x: "
    first, *more = lanes.wrap(head + message, width)
    lines = [Text(first, style="red"), *(Text(line, style="red") for line in more)]
    lines[0].stylize("bold not red", 0, len(head))
    where = f"({shown_path(failure.where)})"
    if failure.where:
        lines = [*lines[:-1], *_joined(lines[-1], "  ", where, width)]
    note = chain_note(failure)
    lines += _wrapped(f"after {note}", width, "red") if note else []
    printed = " · ".join(clean(text) for text in failure.printed.splitlines())
    return [*lines, *(_wrapped(f"it printed: {printed}", width, "") if printed else ())]


def _print_finding(
    report: Report, failure: FailureReport, finding: Finding, console: Console, *, brief: bool
) -> int:
    """Print one finding; returns how many of its points were left out."""
    width = console.width
    _print(console, *_title_lines(report, failure, finding, width))
    cycle = cycle_lines(failure, finding)
    if finding.summary and not (cycle and finding.shape in OF_WAITS):
        _print(console, *_wrapped(finding.summary, width, ""))
    for sentence, position in cycle:
        if len(sentence) + 2 <= width:
            _print(console, *_joined(Text(f"  {sentence}"), " ", position, width))
        else:
            _print(console, *_wrapped(sentence, width, ""), Text(f"    {position}"))
    steps = brief_steps(finding) if brief else all_steps(finding)
    if any(point.op != WAIT for step in steps for point in step.points):
        exception = clean(type_in(failure.message))
        drawn = lanes.draw(steps, lambda path: thread_label(failure, path), exception, width)
        _print(console, *drawn)
    numbered_steps = [step for step in steps if step.number]
    note = cycle_note(finding) or lock_remark(finding, numbered_steps)
    files = lanes.files_note(steps)
    for line in (
        *_setup(finding, brief),
        note,
        *proof_lines(failure, finding),
        f"files: {files}" if files else "",
    ):
        if line:
            _print(console, *_wrapped(line, width, ""))
    if not brief:
        _print(console, *compare_view.side_by_side(failure, finding, width))
        _print_background(finding, steps, console)
    shown = sum(len(step.points) for step in steps)
    return 0 if finding.orders else len(finding.points) - shown


def _setup(finding: Finding, brief: bool) -> Iterator[str]:
    """Orders that only bring the threads there are counted; `show` has them."""
    count = setup_orders(finding) if brief else 0
    if count:
        yield f"set-up: {plural(count, 'more order')}, unsnarl show {finding.id or finding.rank}"


def _odd(count: int) -> str:
    ended = "1 more ended" if count == 1 else f"{count} more ended"
    return f" ({ended} in another failure)" if count else ""


def proof_lines(failure: FailureReport, finding: Finding) -> list[str]:
    """What experiments showed besides the verdict: what is certain, what differs, what helps."""
    lines = []
    replay = finding.replay or failure.replay
    if finding.orders and replay is not None:
        order = compare_view.order_note(finding)
        does = f"fresh runs {outcome(finding)}"
        count = f"{replay.reproduced}/{replay.tries} {does}{_odd(replay.odd)}"
        brought = " and the set-up" if setup_orders(finding) else ""
        seen = _seen(finding, replay)
        lines.append(
            f"With {order}{brought}, {count}{seen}."
            if order
            else f"{count} in this order{brought}{seen}."
        )
    difference = compare_view.difference_note(finding)
    if difference:
        lines.append(f"In the nearest passing run, {difference}.")
    # What a patch does in the source says more than what its simulation did.
    if finding.fix is not None and not _is_patched(finding):
        lines.append(fix_note(finding.fix, _points(finding), len(finding.given)))
    run = finding.replay.run if finding.replay is not None else failure.run
    if finding.orders and run:
        replay_command = f"unsnarl replay {run.lstrip('0')}"
        native = any(point.file.endswith(C_SOURCES + C_HEADERS) for point in finding.points)
        debugger = "gdb" if native else "pdb"
        lines.append(f"replay: {replay_command} · debug: {replay_command} --{debugger}")
    return lines


def _is_patched(finding: Finding) -> bool:
    return finding.patch is not None and finding.patch.works


def _points(finding: Finding) -> Sequence[FindingPoint]:
    return finding.explanation or finding.points


def _seen(finding: Finding, replay: Replay) -> str:
    """Steps that no order of the proof is about were seen, not enforced: in how many runs."""
    steps = brief_steps(finding)
    proved = {step.number for step in core_steps(finding, steps)}
    data = [step for step in steps if any(map(is_data, step.points))]
    if not replay.watched or all(step.number in proved for step in data):
        return ""
    return f"; all steps came in this order in {replay.same}/{replay.watched} of them"


def print_patch(patch: Patch, number: int, console: Console) -> None:
    """The diff, whole lines, and what came of it."""
    for line in _wrapped(patch_note(patch, number), console.width, "bold", indent=0):
        _print(console, line)
    if patch.works:
        for text in patch.diff.splitlines():
            style = DIFF_STYLES.get(text[:1], "")
            console.print(Text(UNPRINTABLE.sub("?", text), style=style), soft_wrap=True)


def print_tries(patch: Patch, console: Console) -> None:
    """All patches that were tried, each in a paragraph."""
    for note in try_notes(patch):
        for line in _wrapped(note, console.width, "dim", indent=0):
            _print(console, line)


def _print_patches(report: Report, console: Console) -> None:
    shown = set()
    for one in numbered(report):
        # Several causes of a failure are repaired by one patch.
        is_first = one.finding.id not in one.failure.causes[1:]
        patch = one.finding.patch
        if patch is None or not is_first:
            continue
        _print(console, Text())
        if patch.works and patch.diff in shown:
            note = same_patch_note(patch, one.number)
            _print(console, *_wrapped(note, console.width, "bold", indent=0))
        else:
            print_patch(patch, one.number, console)
        shown.add(patch.diff)


def _print_background(finding: Finding, steps: Sequence[Step], console: Console) -> None:
    """The calls behind the steps, and what single methods say."""
    lines = [*stack_lines(steps), support_note(finding)]
    for line in filter(None, lines):
        _print(console, *_wrapped(line, console.width, "dim"))


def status_word(finding: Finding) -> str:
    """What every output calls the status of a finding."""
    if finding.kind == "deadlock" and finding.status == "untested":
        # The gate saw the cycle itself; there is nothing to suspect.
        return "OBSERVED"
    return STATUS[finding.status][0]


def _title_lines(
    report: Report, failure: FailureReport, finding: Finding, width: int
) -> list[Text]:
    head = (
        Text()
        .append(status_word(finding), style=STATUS[finding.status][1])
        .append(f"  {title(finding)}", style="bold")
    )
    if finding.id:
        head.append(f" · {finding.id}", style="dim")
    tail = experiment_note(finding) or f"score {finding.score:.2f} · {seen_in(failure, finding)}"
    lines = _joined(head, "   ", tail, width)
    # Next to figures that seem to say otherwise, the status alone would be a riddle.
    note = f"Not confirmed: {finding.why}." if finding.why else ""
    lines += _wrapped(note, width, "yellow") if note else []
    also = forbidden_note(finding)
    return [*lines, *_wrapped(also, width, "dim")] if also else lines


def _print_rows(findings: Sequence[Finding], first: int, console: Console, what: str = "") -> None:
    """Findings numbered from `first`, a line each where it fits; `what` instead of their kind."""
    widest = max((len(finding.id) for finding in findings), default=0)
    heads = [title(finding, what) for finding in findings]
    rows = Counter((head, _course(finding)) for head, finding in zip(heads, findings, strict=True))
    for number, (head, finding) in enumerate(zip(heads, findings, strict=True), first):
        name = f"{finding.id:<{widest}}  " if widest else ""
        row = Text(f"{number:>3}  {finding.score:>7.2f}  {name}{head}")
        course = _course(finding)
        if rows[head, course] > 1:
            course = _course(finding, ops=True)
        _print(console, *_joined(row, "  ", course, console.width, indent=14))


def _course(finding: Finding, *, ops: bool = False) -> str:
    """The accesses that it is about, in order; of many, where their communication begins and ends.

    With `ops` what each of them does: two findings may be about the same lines.
    """
    events = [point for point in finding.points if point.op not in NO_EVENTS]
    if len(events) > MOST_IN_ROW:
        ends = [point for point in events if point.region in ("source", "sink")]
        events = ends or events[:2]
    return " → ".join(_short_lines(events, ops=ops))


def _short_lines(points: Sequence[FindingPoint], *, ops: bool = False) -> Iterator[str]:
    """`spider.py:22`, then `:29` in the same file: a row has little room."""
    before = ""
    for point in points:
        word = f" {point.op}" if ops else ""
        yield f"{'' if point.file == before else PurePath(point.file).name}:{point.line}{word}"
        before = point.file


def _print_coverage(report: Report, console: Console) -> None:
    seen = report.instrumented
    text = (
        f"instrumented: {plural(seen.modules, 'module')}, {plural(seen.sites, 'site')}"
        f" · threads controlled: {seen.threads_controlled} of {seen.threads_seen}"
    )
    missing = seen.threads_seen - seen.threads_controlled
    _print(console, *_wrapped(text, console.width, "yellow" if missing else "dim", indent=0))
    for notice in report.warnings:
        if notice.slug not in (*SAID_ALREADY, *SAID_FIRST):
            _print(console, *_wrapped(_warning(notice), console.width, "yellow", indent=0))


def _warning(notice: Notice) -> str:
    return f"warning: {clean(notice.message)} [{notice.slug}]"


def _print_next(report: Report, console: Console) -> None:
    findings = numbered(report)
    if findings:
        show = _show(findings[min(1, len(findings) - 1)])
        count = plural(len(findings), "finding")
        _print(console, Text(f"next: {show} · unsnarl rank  ({count})"))


def _joined(head: Text, glue: str, tail: str, width: int, indent: int | None = None) -> list[Text]:
    """`tail` behind `head` where it fits, else on lines of its own."""
    if cell_len(head.plain) + cell_len(glue + tail) <= width:
        return [head.append(glue + tail)]
    if indent is None:
        indent = len(head.plain) - len(head.plain.lstrip()) + 2
    return [*_wrapped_text(head, width, indent), *_wrapped(tail, width, "", indent)]


def _wrapped_text(text: Text, width: int, indent: int) -> list[Text]:
    """Styled text on lines of at most `width` cells, the later ones indented."""
    if cell_len(text.plain) <= width:
        return [text]
    lead = len(text.plain) - len(text.plain.lstrip())
    first, *more = lanes.wrap_text(text[lead:], width - max(indent, lead))
    return [Text(" " * lead) + first, *(Text(" " * indent) + line for line in more)]


def _wrapped(text: str, width: int, style: str, indent: int = 2) -> list[Text]:
    """Whole words on lines of at most `width` cells; a longer word stays in one piece."""
    lines = [" " * indent]
    for word in text.split(" "):
        glue = "" if lines[-1].isspace() or not lines[-1] else " "
        if glue and cell_len(lines[-1] + glue + word) > width:
            lines.append(" " * indent + word)
        else:
            lines[-1] += glue + word
    return [Text(line, style=style) for line in lines]
