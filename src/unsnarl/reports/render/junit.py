# SPDX-License-Identifier: Apache-2.0
"""A report as JUnit XML, for CI systems that show test results.

The hunted command is one test case. A failure that only some schedules bring about is flaky: it
becomes a `flakyFailure`, as Maven Surefire writes it; one that every run has is a `failure`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Literal
from xml.etree import ElementTree as Xml

from unsnarl.model.report import FailureReport, NumberedFinding, Report, numbered
from unsnarl.reports.remarks import failure_bound, title
from unsnarl.reports.render.terminal import finding_text

Family = Literal["xunit1", "xunit2"]
# XML 1.0 has no way to write these.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "unsnarl"


def junit(report: Report, family: Family = "xunit2") -> bytes:
    """The report as one test suite with one test case."""
    failed = bool(report.failures)
    counts = {
        "tests": "1",
        "failures": str(int(failed and _is_certain(report))),
        "errors": "0",
        "skipped": "0",
        "time": f"{report.seconds:.3f}",
    }
    root = Xml.Element("testsuites")
    suite = Xml.SubElement(root, "testsuite", {"name": SUITE, **counts})
    case = Xml.SubElement(suite, "testcase", _attributes(report, family))
    _properties(case, report)
    for failure in report.failures:
        case.append(_failure(report, failure))
    if not failed:
        Xml.SubElement(case, "system-out").text = failure_bound(report.runs)
    Xml.indent(root)
    document: bytes = Xml.tostring(root, "utf-8", xml_declaration=True)
    return document + b"\n"


def _is_certain(report: Report) -> bool:
    return report.runs.passed == 0


def _attributes(report: Report, family: Family) -> dict[str, str]:
    """The class and name of the test; only the older family has a file and a line."""
    classname, name = _test_names(report.command)
    attributes = {"classname": classname, "name": name, "time": f"{report.seconds:.3f}"}
    point = next(_failing_points(report), None)
    if family == "xunit1" and point is not None:
        attributes |= {"file": point[0], "line": str(point[1])}
    return {key: _plain(value) for key, value in attributes.items()}


def _test_names(command: tuple[str, ...]) -> tuple[str, str]:
    """As pytest names a test by its node id; else the command."""
    node = next((word for word in command if "::" in word), "")
    if not node:
        return SUITE, shlex.join(command)
    file, *rest = node.split("::")
    module = file.removesuffix(".py").replace("/", ".")
    return ".".join([module, *rest[:-1]]), rest[-1]


def _failing_points(report: Report) -> Iterator[tuple[str, int]]:
    for one in numbered(report):
        for point in one.finding.explanation or one.finding.points:
            yield point.file, point.line


def _properties(case: Xml.Element, report: Report) -> None:
    properties = Xml.SubElement(case, "properties")
    rows = [("unsnarl.campaign", report.campaign), ("unsnarl.runs", str(report.runs.total))]
    for failure in report.failures:
        rows += [("unsnarl.finding", one.id) for one in failure.findings[:1]]
        rows.append(("unsnarl.replay", _replay(failure)))
    for name, value in rows:
        Xml.SubElement(properties, "property", {"name": name, "value": _plain(value)})


def _replay(failure: FailureReport) -> str:
    return f"unsnarl replay {failure.run.lstrip('0') or 0}"


def _failure(report: Report, failure: FailureReport) -> Xml.Element:
    """With the explanation of its first finding as the text that CI systems show."""
    certain = _is_certain(report)
    first = next((one for one in numbered(report) if one.failure is failure), None)
    message = failure.message.split("\n")[0] or failure.signature
    cause = f"{title(first.finding)}: " if first else ""
    element = Xml.Element(
        "failure" if certain else "flakyFailure",
        {"message": _plain(f"{cause}{message}"), "type": _plain(failure.kind)},
    )
    text = _plain(_explanation(report, failure, first))
    if certain:
        element.text = text
    else:
        Xml.SubElement(element, "stackTrace").text = text
    return element


def _explanation(report: Report, failure: FailureReport, first: NumberedFinding | None) -> str:
    text = finding_text(report, first) if first else f"{failure.message}\n"
    share = f"{failure.count} of {report.runs.total} runs failed so. Repeat it: {_replay(failure)}"
    return f"\n{text}{share}\n"


def _plain(text: str) -> str:
    return FORBIDDEN.sub("?", text)
