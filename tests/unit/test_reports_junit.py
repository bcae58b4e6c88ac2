# SPDX-License-Identifier: Apache-2.0
"""JUnit XML, read back."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.reports_of_values import finding, point, report

from unsnarl.model.report import RunCounts
from unsnarl.reports.render.junit import junit


def case(one, family="xunit2"):
    return Xml.fromstring(junit(one, family)).find("testsuite/testcase")


def test_a_failure_of_some_runs_is_flaky_and_has_the_explanation():
    flaky = case(report(finding())).find("flakyFailure")
    assert flaky.get("message").startswith("check-then-act on Queue.size: AttributeError")
    text = flaky.find("stackTrace").text
    assert "CONFIRMED" in text and "self.size -= 1" in text and "unsnarl replay 22" in text


def test_a_failure_of_all_runs_is_a_failure():
    one = report(finding(), runs=RunCounts(25, 0, 25, 0))
    suite = Xml.fromstring(junit(one)).find("testsuite")
    assert suite.get("failures") == "1"
    assert suite.find("testcase/flakyFailure") is None
    assert "CONFIRMED" in suite.find("testcase/failure").text


def test_without_a_failure_the_case_passes_and_says_what_that_is_worth():
    one = report(failures=(), runs=RunCounts(100, 100, 0, 0))
    passed = case(one)
    assert passed.find("failure") is None and passed.find("flakyFailure") is None
    assert passed.find("system-out").text.startswith("0 failures in 100 runs")


def test_a_test_is_named_as_pytest_names_it():
    found = case(report(finding()))
    assert (found.get("classname"), found.get("name")) == (
        "tests.test_queue.TestDrain", "test_drain"
    )  # fmt: skip
    script = case(report(finding(), command=("python", "my script.py")))
    assert script.get("name") == "python 'my script.py'"


def test_properties_have_the_finding_and_how_to_repeat_it():
    rows = {one.get("name"): one.get("value") for one in case(report(finding())).iter("property")}
    assert rows["unsnarl.finding"] == "size-7c1e"
    assert rows["unsnarl.replay"] == "unsnarl replay 22"


def test_only_the_older_family_has_files_and_lines():
    assert case(report(finding()), "xunit1").get("file") == "spider.py"
    assert case(report(finding())).get("file") is None


@given(st.text(), st.text())
def test_whatever_the_program_contains_the_document_can_be_read(text, value):
    hostile = point(1, 1, text=text, value=value)
    assert case(report(finding(points=(hostile, hostile), summary=text))) is not None
