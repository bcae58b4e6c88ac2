# SPDX-License-Identifier: Apache-2.0
"""From a report to the page of the HTML report, and to its file."""

import base64
import hashlib
import json
import re

import msgspec
import pytest
from msgspec.structs import replace
from tests.golden.test_terminal import REPORTS
from tests.unit.reports_of_values import finding, patch, point, report

from unsnarl.errors import ToolError
from unsnarl.model.report import RunCounts
from unsnarl.model.sources import Sources
from unsnarl.model.trace import RunTrace, TracedEvent
from unsnarl.reports.page import columns, page
from unsnarl.reports.render import html as html_form
from unsnarl.reports.render.html import html


def paged(tmp_path, *findings, **more):
    return page(report(*findings, **more), Sources(tmp_path))


def first(shown):
    return shown.failures[0].findings[0]


def test_a_step_says_which_write_it_reads(tmp_path):
    steps = first(paged(tmp_path, finding())).steps
    assert [step.writer for step in steps] == [0, 0, 2, 0]


def test_a_thread_that_reads_its_own_write_gets_no_arrow(tmp_path):
    points = (point(14, 1, "write", value="1"), point(15, 1, value="1"), point(19, 2, "write"))
    assert all(step.writer == 0 for step in first(paged(tmp_path, finding(points=points))).steps)


def test_locks_keep_their_sections(tmp_path):
    held = {"locks": ("Queue.lock",), "sections": (7,)}
    points = (point(14, 1, value="1", **held), point(19, 2, "write", value="0"))
    step = first(paged(tmp_path, finding(points=points))).steps[0]
    assert [(lock.name, lock.section) for lock in step.locks] == [("Queue.lock", 7)]


def test_the_source_around_a_step_has_no_common_indentation(tmp_path):
    lines = ["class Queue:", *(f"    line = {number}" for number in range(2, 40))]
    (tmp_path / "spider.py").write_text("\n".join(lines))
    step = first(paged(tmp_path, finding())).steps[0]
    assert step.code == {number: f"line = {number}" for number in range(10, 19)}


def test_a_source_that_is_gone_leaves_the_line_of_the_report(tmp_path):
    step = first(paged(tmp_path, finding())).steps[0]
    assert step.code == {} and step.text == "return self.size"


@pytest.mark.parametrize(
    ("status", "begin"), [("confirmed", "Thread-1 checked"), ("untested", "Suspected, not")]
)
def test_the_verdict_says_whether_it_was_confirmed(tmp_path, status, begin):
    assert paged(tmp_path, finding(status=status)).verdict.startswith(begin)


def test_without_a_failure_the_verdict_is_a_bound(tmp_path):
    shown = page(report(failures=(), runs=RunCounts(50, 50, 0, 0)), Sources(tmp_path))
    assert "50" in shown.verdict and not shown.failures


def test_the_experiments_are_arms_with_what_should_come_of_them(tmp_path):
    arms = first(paged(tmp_path, finding(patch=patch()))).arms
    assert [(arm.name, arm.wanted, arm.fail, arm.runs) for arm in arms] == [
        ("forced", "must fail", 10, 10),
        ("forbidden", "must pass", 0, 20),
        ("with the patch", "must pass", 0, 200),
    ]


def test_only_what_works_is_offered_as_a_command(tmp_path):
    with_patch = [one.text for one in first(paged(tmp_path, finding(patch=patch()))).commands]
    without = [one.text for one in first(paged(tmp_path, finding(status="untested"))).commands]
    assert "unsnarl fix size-7c1e --apply" in with_patch
    assert without == ["unsnarl replay 22", "unsnarl replay 22 --pdb"]


@pytest.mark.parametrize("name", REPORTS)
def test_every_golden_report_has_a_page(tmp_path, name):
    shown = page(REPORTS[name], Sources(tmp_path))
    assert len(shown.failures) == len(REPORTS[name].failures)


def event(thread, op="read", **more):
    fields = {"file": "a.py", "line": 1, "function": "f", "text": "x", "variable": "x", "cell": 1}
    return TracedEvent(thread=thread, op=op, **(fields | more))


def test_a_run_in_columns_stores_what_repeats_once():
    events = (event("0", "write"), event("0.1"), event("0.1", source=0), event("0", line=2))
    trace = RunTrace(3, "s", {"0": "MainThread", "0.1": ""}, "0", events, dropped=2)
    made = columns(trace)
    assert made.threads == ("MainThread 0", "thread 0.1") and len(made.points) == 2
    assert (made.thread, made.point) == ((0, 1, 1, 0), (0, 0, 0, 1))
    assert made.source == (0, 0, 2, 0) and made.dropped == 2


@pytest.fixture
def assets(monkeypatch):
    """A bundle of one line: what npm makes is tested in a browser."""
    texts = {"report.js": "let a = 1;", "report.css": "p { margin: 0 }"}
    monkeypatch.setattr(html_form, "_asset", texts.__getitem__)
    return texts


def test_no_text_of_the_program_can_end_its_element(tmp_path, assets):
    hostile = "</script><script>alert(1)</script><!-- & "
    points = (point(14, 1, value=hostile, text=hostile), point(19, 2, "write", value=hostile))
    document = html(paged(tmp_path, finding(points=points, summary=hostile)), hostile).decode()
    assert document.count("</script>") == 2 and "alert(1)</" not in document
    (data,) = re.findall(r'id="page">(.*?)</script>', document, re.DOTALL)
    assert json.loads(data)["failures"][0]["findings"][0]["sentence"] == hostile


def test_the_policy_allows_this_script_and_this_style_only(tmp_path, assets):
    document = html(paged(tmp_path, finding()), "").decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', document)[1]
    for text in assets.values():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_an_installation_without_the_bundle_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(html_form, "SCRIPT", "not-there.js")
    with pytest.raises(ToolError, match="made without npm"):
        html(paged(tmp_path, finding()), "")


def test_the_page_is_the_same_after_json(tmp_path):
    shown = paged(tmp_path, replace(finding(), patch=patch()))
    assert msgspec.json.decode(msgspec.json.encode(shown), type=type(shown)) == shown
