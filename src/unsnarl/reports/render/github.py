# SPDX-License-Identifier: Apache-2.0
"""Findings for GitHub Actions: annotations at the lines, and a summary of the job in Markdown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from unsnarl.model.report import NumberedFinding, Report
from unsnarl.reports.remarks import experiment_note, failure_bound, plural, thread_label, title
from unsnarl.reports.render.terminal import finding_text
from unsnarl.reports.steps import Step, brief_steps

LEVELS = {"confirmed": "error", "refuted": "notice"}
FENCE = re.compile("`{3,}")


def workflow_commands(findings: Sequence[NumberedFinding]) -> str:
    """One per finding; the runner annotates the line that fails."""
    return "".join(f"{_annotation(one)}\n" for one in findings)


def _annotation(chosen: NumberedFinding) -> str:
    finding = chosen.finding
    steps = brief_steps(finding)
    at = next((step for step in steps if step.failing), steps[-1] if steps else None)
    properties = {"title": f"unsnarl: {title(finding)}"}
    if at is not None:
        properties = {"file": at.file, "line": str(at.line), **properties}
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    level = LEVELS.get(finding.status, "warning")
    return f"::{level} {given}::{_data(_message(chosen, steps))}"


def _message(chosen: NumberedFinding, steps: Sequence[Step]) -> str:
    finding, failure = chosen.finding, chosen.failure
    head = f"{finding.status} {experiment_note(finding)}".strip()
    lines = [finding.summary, head]
    for step in steps:
        who = thread_label(failure, step.thread)
        lines.append(f"{step.number}. {who}  {step.file}:{step.line}  {step.text}  {step.what}")
    return "\n".join(filter(None, lines))


def _data(text: str) -> str:
    """A message of a workflow command ends with its line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(report: Report, findings: Sequence[NumberedFinding]) -> str:
    """The report in Markdown: for a job (`$GITHUB_STEP_SUMMARY`), an issue or a merge request."""
    runs = report.runs
    counts = f"{plural(runs.total, 'run')}, {runs.fail} failing, {runs.passed} passing"
    lines = [f"### unsnarl: {_inline(shlex.join(report.command))}", "", f"{counts}."]
    if not report.failures:
        lines += ["", f"{failure_bound(runs)}."]
    for one in findings:
        lines += ["", *_section(report, one)]
    if report.warnings:
        lines += ["", *(f"- warning: {_escaped(one.message)}" for one in report.warnings)]
    return "\n".join(lines) + "\n"


def _section(report: Report, chosen: NumberedFinding) -> list[str]:
    finding = chosen.finding
    lines = [f"#### {finding.status}: {_escaped(title(finding))}", ""]
    if finding.summary:
        lines += [_escaped(finding.summary), ""]
    lines += _fenced("text", finding_text(report, chosen))
    if finding.patch is not None and finding.patch.works:
        lines += ["", f"Patch: {_escaped(finding.patch.says)}", ""]
        lines += _fenced("diff", finding.patch.diff)
    return lines


def _fenced(language: str, text: str) -> list[str]:
    """A block that no text can leave: its fence is longer than any in it."""
    longest = max((len(one) for one in FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return [fence + language, text.rstrip("\n"), fence]


def _inline(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def _escaped(text: str) -> str:
    """Text as it is: Markdown and HTML see nothing of their own in it."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", text)
