# SPDX-License-Identifier: Apache-2.0
"""The Graphviz drawing of a finding, read back without Graphviz."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsnarl.model.report import Finding, FindingPoint
from unsnarl.reports.render.dot import dot, quoted

STRING = r'"(?:[^"\\]|\\.)*"'


def shown(string: str) -> str:
    """What Graphviz shows for a quoted string: escapes, then entities."""
    text = re.sub(r"\\(.)", lambda found: {"l": "\n", "n": "\n"}.get(found[1], found[1]), string)
    return text[1:-1].replace("&amp;", "&")


def point(line: int, role: int, region: str, **more) -> FindingPoint:
    fields = {"file": "spider.py", "function": "Queue.get", "op": "read", "variable": "Queue.size"}
    given = fields | {"thread": f"0.{role}", "confidence": 1.0} | more
    return FindingPoint(line=line, role=role, region=region, **given)


def finding(*points: FindingPoint, **more) -> Finding:
    fields = {"rank": 1, "method": "falcon", "score": 0.5, "features": {}, "kind": "atomicity"}
    return Finding(**(fields | {"variables": ("Queue.size",), "runs": 1} | more), points=points)


TRIPLE = finding(
    point(14, 1, "prefix", text="  return self.size"),
    point(19, 2, "source", op="write", value="0"),
    point(17, 1, "sink"),
)


def test_every_access_is_a_box_in_the_lane_of_its_thread():
    lanes = re.findall(r"subgraph cluster_(\d+) \{(.*?)\}", dot(TRIPLE), re.DOTALL)
    boxes = {role: re.findall(r"\b(p\d+) \[", lane) for role, lane in lanes}
    assert boxes == {"1": ["p1", "p3"], "2": ["p2"]}
    assert 'label="thread 0.1"' in lanes[0][1] and 'label="thread 0.2"' in lanes[1][1]


def test_arrows_follow_the_order_of_accesses():
    assert re.findall(r"p\d+ -> p\d+", dot(TRIPLE)) == ["p1 -> p2", "p2 -> p3"]
    assert "->" not in dot(finding(point(1, 1, "sink")))


def test_a_box_says_where_what_and_the_source_line():
    labels = dict(re.findall(rf"(p\d+) \[label=({STRING})", dot(TRIPLE)))
    assert shown(labels["p1"]) == (
        "1  spider.py:14  Queue.get\nread Queue.size\nreturn self.size\n"
    )
    assert shown(labels["p2"]) == "2  spider.py:19  Queue.get\nwrite Queue.size = 0\n"


def test_the_title_names_kind_variable_and_score():
    (title,) = re.findall(rf"digraph finding \{{\s*label=({STRING})", dot(TRIPLE))
    assert shown(title) == "1. atomicity on Queue.size (falcon 0.5)"


def test_a_thread_without_a_path_is_named_by_its_role():
    assert 'label="thread 3"' in dot(finding(point(1, 3, "sink", thread="")))


@pytest.mark.parametrize(
    "text", ['print("a\\n")', "x = '\\\\'", "a &lt; b", "\\N \\G {|<p>", '\\"']
)
def test_source_text_is_shown_as_it_is(text):
    (label,) = re.findall(rf"p1 \[label=({STRING})", dot(finding(point(1, 1, "sink", text=text))))
    assert shown(label).split("\n")[2] == text


def test_control_characters_are_left_out():
    assert quoted("a\tb\x00c\x1b[1m") == '"a b c [1m"'


@given(st.text())
def test_any_text_is_one_string(text):
    assert re.fullmatch(STRING, quoted(text))
    assert "\n" not in quoted(text)
    printable = [line for line in text.splitlines() if line.isprintable()]
    assert set(printable) <= set(shown(quoted(text)).split("\n"))
