# SPDX-License-Identifier: Apache-2.0
"""SARIF: valid by the official schema, and true."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.reports_of_values import finding, patch, point, report

from unsnarl.model.report import Report, numbered
from unsnarl.reports.render.sarif import sarif

SCHEMA = Path(sys.prefix) / "sarif.json"  # tools/sarif-schema puts it there


@pytest.fixture(scope="module")
def schema() -> jsonschema.protocols.Validator:
    document = json.loads(SCHEMA.read_text("utf-8"))
    return jsonschema.validators.validator_for(document)(document)


def log(one: Report) -> dict:
    return json.loads(sarif(one, numbered(one), "1.2.3"))


def result(**fields) -> dict:
    return log(report(finding(**fields)))["runs"][0]["results"][0]


def test_a_log_is_valid_by_the_official_schema(schema):
    several = finding(status="refuted", shape="", kind="race", patch=patch())
    schema.validate(log(report(finding(patch=patch()), several)))
    schema.validate(log(report()))


@given(st.text(), st.text(), st.text())
def test_whatever_the_program_contains_the_log_is_valid(schema, text, value, file):
    hostile = point(1, 1, text=text, value=value, file=file or "f", variable=text)
    schema.validate(log(report(finding(points=(hostile, hostile), summary=value))))


def test_every_thread_has_a_flow_and_the_steps_their_order():
    (flow,) = result()["codeFlows"]
    orders = {
        one["id"]: [step["executionOrder"] for step in one["locations"]]
        for one in flow["threadFlows"]
    }
    assert orders == {"0.1": [1, 3, 4], "0.2": [2]}
    assert flow["threadFlows"][0]["message"]["text"] == "Thread-1 0.1"


def test_the_result_is_at_the_line_that_fails_and_names_the_finding():
    found = result()
    (location,) = found["locations"]
    assert location["physicalLocation"]["region"]["startLine"] == 29
    assert location["physicalLocation"]["artifactLocation"]["uri"] == "spider.py"
    assert found["partialFingerprints"] == {"unsnarlFinding/v1": "size-7c1e"}
    assert found["properties"]["replay"] == "unsnarl replay 22"


@pytest.mark.parametrize(
    ("status", "level"),
    [("confirmed", "error"), ("untested", "warning"), ("inconclusive", "warning"),
     ("refuted", "none")],
)  # fmt: skip
def test_only_what_is_proved_is_an_error(status, level):
    assert result(status=status)["level"] == level


def test_a_file_outside_of_the_project_has_its_whole_path():
    far = point(3, 1, file="/opt/site packages/x.py")
    uri = result(points=(far, far))["locations"][0]["physicalLocation"]["artifactLocation"]
    assert uri == {"uri": "file:///opt/site%20packages/x.py"}


def test_a_patch_is_a_replacement_of_lines():
    (change,) = result(patch=patch())["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "spider.py"
    first, second = change["replacements"]
    assert first["deletedRegion"] == {
        "startLine": 13, "startColumn": 1, "endLine": 16, "endColumn": 1
    }  # fmt: skip
    assert first["insertedContent"]["text"] == "a = 1\n++ c\nc = 3\nd = 4\n"
    assert second["deletedRegion"]["startLine"] == second["deletedRegion"]["endLine"] == 21
    assert second["insertedContent"]["text"] == "e = 5\n"


def test_warnings_are_notifications_of_the_invocation():
    (invocation,) = log(report(finding()))["runs"][0]["invocations"]
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["descriptor"] == {"id": "cut-off"}
