# SPDX-License-Identifier: Apache-2.0
"""Findings as SARIF 2.1.0: code scanning services and editors show them at their lines.

One result per finding. Its code flow has one thread flow per thread of the program; the execution
order of the locations is that of the steps, so a viewer can go through the interleaving.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from unsnarl.model.report import Finding, Notice, NumberedFinding, Patch, Report
from unsnarl.reports.remarks import experiment_note, thread_label, title
from unsnarl.reports.render.json import indented
from unsnarl.reports.steps import Step, brief_steps

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "SRCROOT"
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
# What is proved is an error; the rest is worth a look.
LEVELS = {"confirmed": "error", "refuted": "none"}

Json = dict[str, Any]


def sarif(report: Report, findings: Sequence[NumberedFinding], version: str) -> bytes:
    """A log of one run of the tool with these findings of a report."""
    rules = list(dict.fromkeys(_rule(one.finding) for one in findings))
    run = {
        "tool": {"driver": _driver(rules, version)},
        "invocations": [_invocation(report)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, rules) for one in findings],
        "properties": {"campaign": report.campaign},
    }
    return indented({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(finding: Finding) -> str:
    return finding.shape or finding.kind


def _driver(rules: Sequence[str], version: str) -> Json:
    described = [
        {"id": _rule_id(rule), "name": _pascal(rule), "shortDescription": {"text": rule}}
        for rule in rules
    ]
    return {"name": "unsnarl", "semanticVersion": version, "rules": described}


def _rule_id(rule: str) -> str:
    return "unsnarl/" + rule.replace(" ", "-")


def _pascal(rule: str) -> str:
    return "".join(word.capitalize() for word in re.split(r"[ -]", rule))


def _invocation(report: Report) -> Json:
    return {
        "executionSuccessful": True,
        "commandLine": shlex.join(report.command),
        "toolExecutionNotifications": [_notification(one) for one in report.warnings],
    }


def _notification(notice: Notice) -> Json:
    return {
        "level": "warning",
        "message": {"text": notice.message},
        "descriptor": {"id": notice.slug},
    }


def _result(chosen: NumberedFinding, rules: Sequence[str]) -> Json:
    failure, finding = chosen.failure, chosen.finding
    steps = brief_steps(finding)
    at_fault = [step for step in steps if step.failing] or steps[-1:]
    result: Json = {
        "ruleId": _rule_id(_rule(finding)),
        "ruleIndex": rules.index(_rule(finding)),
        "level": LEVELS.get(finding.status, "warning"),
        "message": {"text": _message(chosen)},
        "locations": [_location(step) for step in at_fault],
        "partialFingerprints": {"unsnarlFinding/v1": finding.id or str(finding.rank)},
        "codeFlows": [_code_flow(chosen, steps)] if steps else [],
        "properties": {
            "status": finding.status,
            "signature": failure.signature,
            "failureRate": failure.rate,
            "replay": f"unsnarl replay {failure.run.lstrip('0') or 0}",
        },
    }
    if finding.status == "refuted":
        result["kind"] = "notApplicable"
    if finding.patch is not None and finding.patch.works:
        result["fixes"] = [_fix(finding.patch)]
    return result


def _message(chosen: NumberedFinding) -> str:
    """What a reader of a list sees: the bug, what happened, what it leads to, how sure that is."""
    failure, finding = chosen.failure, chosen.finding
    symptom = failure.message.split("\n")[0] or failure.kind
    sentences = [
        f"{title(finding)}.",
        finding.summary,
        f"It ends in: {symptom}.",
        f"{finding.status} {experiment_note(finding)}".strip().capitalize() + ".",
    ]
    return " ".join(filter(None, sentences))


def _code_flow(chosen: NumberedFinding, steps: Sequence[Step]) -> Json:
    flows = []
    for thread in dict.fromkeys(step.thread for step in steps):
        own = [step for step in steps if step.thread == thread]
        name = thread_label(chosen.failure, thread)
        locations = [_thread_location(step) for step in own]
        flows.append({"id": thread, "message": {"text": name}, "locations": locations})
    return {
        "message": {"text": chosen.finding.summary or title(chosen.finding)},
        "threadFlows": flows,
    }


def _thread_location(step: Step) -> Json:
    return {
        "location": {**_location(step), "message": {"text": _did(step)}},
        "executionOrder": step.number,
        "importance": "essential",
    }


def _did(step: Step) -> str:
    """`3: read 0, was 1`."""
    words = [step.what, step.mark, step.swallowed]
    if step.failing and not step.swallowed:
        words.append("fails here")
    return f"{step.number}: " + ", ".join(filter(None, words))


def _location(step: Step) -> Json:
    region: Json = {"startLine": max(step.line, 1)}
    if step.text:
        region["snippet"] = {"text": step.text}
    function = step.points[0].function
    location: Json = {
        "physicalLocation": {"artifactLocation": _artifact(step.file), "region": region}
    }
    if function:
        location["logicalLocations"] = [{"fullyQualifiedName": function, "kind": "function"}]
    return location


def _artifact(file: str) -> Json:
    """Relative to the project's root; a file elsewhere by its whole path."""
    path = PurePath(file)
    if path.is_absolute():
        return {"uri": f"file://{quote(str(path))}"}
    return {"uri": quote(path.as_posix()), "uriBaseId": ROOT}


def _fix(patch: Patch) -> Json:
    return {
        "description": {"text": patch.says},
        "artifactChanges": [
            {"artifactLocation": _artifact(file), "replacements": list(replacements)}
            for file, replacements in _changes(patch.diff)
        ],
    }


def _changes(diff: str) -> Iterator[tuple[str, list[Json]]]:
    """By file, its hunks as replacements of whole lines."""
    file, found, left = "", list[Json](), 0
    for line in diff.split("\n"):
        # Inside of a hunk a line may look like a header: its length says where it ends.
        if left and line[:1] in ("+", " "):
            found[-1]["insertedContent"]["text"] += line[1:] + "\n"
            left -= 1
        elif not left and line.startswith("+++ "):
            if found:
                yield file, found
            file, found = line.removeprefix("+++ ").removeprefix("b/"), []
        elif not left and (hunk := HUNK.match(line)):
            found.append(_replacement(int(hunk[1]), int(hunk[2] or 1)))
            left = int(hunk[3] or 1)
    if found:
        yield file, found


def _replacement(first: int, count: int) -> Json:
    """Nothing yet in place of `count` lines; where there are none, behind line `first`."""
    begin = first if count else first + 1
    return {
        "deletedRegion": {
            "startLine": begin,
            "startColumn": 1,
            "endLine": begin + count,
            "endColumn": 1,
        },
        "insertedContent": {"text": ""},
    }
