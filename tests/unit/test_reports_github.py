# SPDX-License-Identifier: Apache-2.0
"""Annotations and the summary of a GitHub job."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.reports_of_values import finding, patch, point, report

from unsnarl.model.report import numbered
from unsnarl.reports.render.github import summary, workflow_commands


def annotated(**fields) -> str:
    return workflow_commands(numbered(report(finding(**fields))))


def test_a_proved_finding_is_an_error_at_the_line_that_fails():
    text = annotated()
    head = "::error file=spider.py,line=29,title=unsnarl%3A check-then-act on Queue.size::"
    assert text.startswith(head)
    assert "%0A2. Thread-2 0.2  spider.py:19  self.size -= 1  write 0%0A" in text


def test_what_is_not_proved_is_a_warning():
    assert annotated(status="untested").startswith("::warning ")


@given(st.text(), st.text())
def test_no_text_of_the_program_can_end_the_command(text, file):
    hostile = point(1, 1, text=text, file=file, variable=text)
    found = annotated(points=(hostile, hostile), summary=text)
    assert found.count("\n") == 1 and "\r" not in found
    properties = found.split("::")[1].partition(" ")[2]
    assert re.fullmatch(r"file=[^,:]*,line=1,title=[^,:]*", properties, re.DOTALL)


def test_the_summary_has_the_explanation_and_the_patch():
    one = report(finding(patch=patch()))
    text = summary(one, numbered(one))
    assert "50 runs, 25 failing, 25 passing." in text
    assert "#### confirmed: check-then-act on Queue.size" in text
    assert "```diff\n--- a/spider.py" in text
    assert "- warning: the time ran out" in text


def test_no_source_text_can_leave_its_block():
    one = report(finding(points=(point(1, 1, text="x = '````'"), point(2, 2))))
    text = summary(one, numbered(one))
    assert "\n`````text\n" in text and text.count("\n`````\n") == 1
