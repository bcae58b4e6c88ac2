# SPDX-License-Identifier: Apache-2.0
"""evaluation.suites: what counts as a difference, and what the page says of it."""

from evaluation.plugin import Compared, Found, zoo_table
from evaluation.session_cost import SessionCost
from evaluation.suites import Suite, SuiteResult, differing, outcomes, page

XML = """<testsuites><testsuite>
<testcase classname="a" name="good"/>
<testcase classname="a" name="bad"><failure/></testcase>
<testcase classname="a" name="left"><skipped/></testcase>
<testcase classname="a" name="broken"><error/></testcase>
</testsuite></testsuites>"""


def test_outcomes_are_read_from_junit_xml(tmp_path):
    (tmp_path / "report.xml").write_text(XML)
    found = outcomes(tmp_path / "report.xml")
    assert found == {
        "a::good": "passed", "a::bad": "failure", "a::left": "skipped", "a::broken": "error",
    }  # fmt: skip


def test_tests_that_end_differently_or_are_missing_differ():
    one = {"same": "passed", "other": "passed", "gone": "passed"}
    other = {"same": "passed", "other": "failure", "new": "passed"}
    assert differing(one, other) == [
        "gone: passed / None",
        "new: None / passed",
        "other: passed / failure",
    ]


def test_the_page_names_every_difference_and_the_cost():
    suite = Suite("pool", "1.0")
    result = SuiteResult(suite, 9, 1, [], ["x: passed / failure"], "3 hunted", (1.0, 1.0, 9.0))
    text = page([result], SessionCost(800, 5.0, 3.0, 1.0, 15.0), "no bugs")
    assert "- pool: x: passed / failure" in text and "+9.0 ms" in text and "3 hunted" in text


def test_the_zoo_is_compared_by_answer_and_time():
    both = Found(True, True, 10.0)
    rows = [
        Compared("a", both, Found(True, True, 12.0)),
        Compared("b", both, Found(True, False, 20.0)),
    ]
    assert "The same answer for 1 of 2; within 1.3x of the command's time for 1." in zoo_table(rows)
