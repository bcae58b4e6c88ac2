# SPDX-License-Identifier: Apache-2.0
"""The JSON contract: fields may be added within a version, never renamed or removed."""

from __future__ import annotations

from typing import Any

import msgspec

from unsnarl.model.report import FailureReport, Finding, FindingPoint, Report

SCHEMA = "https://json-schema.org/draft/2020-12/schema"
# What `FindingPoint` leaves out.
DEFAULTS: dict[str, Any] = {
    "value": None,
    "locks": [],
    "text": "",
    "time": 0.0,
    "part": "",
    "sections": [],
    "unseen": False,
    "stack": [],
    "due": False,
    "caught": "",
}


def encode(report: Report) -> bytes:
    """The report as one JSON document, indented, with a newline at the end."""
    return indented(as_dict(report))


def encode_findings(method: str, findings: tuple[Finding, ...]) -> bytes:
    """The findings of one method, as `rank --json` gives them."""
    return indented(
        {"version": 1, "method": method, "findings": [_finding(finding) for finding in findings]}
    )


def schema() -> bytes:
    """The JSON Schema of a report, made from the model; docs/report.schema.json has it."""
    document: dict[str, Any] = msgspec.json.schema(Report)
    about = {
        "title": "unsnarl report",
        "description": "What hunt --json and export --format json write.",
    }
    return indented({"$schema": SCHEMA, **about, **document})


def decode(text: bytes | str) -> Report:
    """The report that `encode` was given."""
    return msgspec.json.decode(text, type=Report)


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain values in the contract's shape."""
    document: dict[str, Any] = msgspec.to_builtins(report)
    document["failures"] = [_failure(failure) for failure in report.failures]
    document["unlabelled"] = [_finding(finding) for finding in report.unlabelled]
    return document


def _failure(failure: FailureReport) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(failure)
    document["findings"] = [_finding(finding) for finding in failure.findings]
    return document


def _finding(finding: Finding) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(finding)
    document["points"] = [_point(point) for point in finding.points]
    document["explanation"] = [_point(point) for point in finding.explanation]
    if finding.nearest is not None:
        document["nearest"]["points"] = [_point(point) for point in finding.nearest.points]
    return document


def _point(point: FindingPoint) -> dict[str, Any]:
    """All fields, those with default values too."""
    return {**DEFAULTS, **msgspec.to_builtins(point)}


def plain(value: Any) -> Any:
    """Dictionaries, lists, texts and numbers for any of our values."""
    return msgspec.to_builtins(value)


def indented(document: Any) -> bytes:
    """A document as text, with a newline at the end; its values may be any of ours."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"
