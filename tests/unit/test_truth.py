# SPDX-License-Identifier: Apache-2.0
"""The judge of findings: it must be neither blind nor lenient."""

from __future__ import annotations

import pytest
from evaluation.truth import matching
from msgspec.structs import replace
from tests.quality.truth import Bug, Verdict, judge, load_bug, load_zoo, rank_of_truth

from unsnarl.model.report import Finding, FindingPoint

TOML = """
name = "weblech"
title = "size and get are two critical sections"
type = "atomicity"
switch = "gil"
command = ["python", "weblech.py"]
fixed = ["python", "fixed.py"]
source = "Recon figure 3"

[[cause]]
signature = "AttributeError"
points = [
  {file = "weblech.py", function = "Queue.size", text = "return self.qsize", op = "read", role = 1},
  {file = "weblech.py", function = "Queue.get", text = "self.qsize -= 1", op = "write", role = 2},
  {file = "weblech.py", function = "Queue.get", text = "self.qsize == 0", op = "read", role = 1},
]
"""
SOURCE = """class Queue:
    def size(self):
        return self.qsize
    def get(self):
        if self.qsize == 0:
            return None
        self.qsize -= 1
"""


@pytest.fixture
def bug(tmp_path) -> Bug:
    folder = tmp_path / "weblech"
    folder.mkdir()
    (folder / "bug.toml").write_text(TOML)
    (folder / "weblech.py").write_text(SOURCE)
    return load_bug(folder)


def at(line: int, role: int, /, **changes) -> FindingPoint:
    function = "Queue.size" if line == 3 else "Queue.get"
    values = {
        "file": "weblech.py",
        "line": line,
        "function": function,
        "thread": f"0.{role}",
        "role": role,
        "op": "write" if line == 7 else "read",
        "variable": "Queue.qsize",
        "region": "body",
        "confidence": 1.0,
        "time": 1.5,
    }
    return FindingPoint(**(values | changes))


TRUE = (at(3, 1), at(7, 2), at(5, 1))


def verdict(bug: Bug, *points: FindingPoint) -> Verdict:
    return judge(bug.causes[0], points, bug.folder)


def test_the_truth_is_recognised(bug):
    found = verdict(bug, *TRUE)
    assert found.matches and found.concise
    assert (found.points, found.needed, found.missing) == (3, 3, ())


def test_text_given_with_the_point_is_used_rather_than_the_file(bug):
    points = [at(line, role, line=99) for line, role in ((3, 1), (7, 2), (5, 1))]
    assert not verdict(bug, *points).ordered
    texts = ["    return self.qsize", "    self.qsize -= 1", "    if self.qsize == 0:"]
    points = [
        at(line, role, line=99, text=text)
        for (line, role), text in zip(((3, 1), (7, 2), (5, 1)), texts, strict=True)
    ]
    assert verdict(bug, *points).matches


def test_a_point_in_between_does_no_harm(bug):
    assert verdict(bug, TRUE[0], at(6, 3), *TRUE[1:]).matches


def test_a_missing_point_is_named(bug):
    found = verdict(bug, *TRUE[:2])
    assert not found.ordered
    assert [point.text for point in found.missing] == ["self.qsize == 0"]


def test_the_wrong_order_is_refused(bug):
    assert not verdict(bug, TRUE[0], TRUE[2], TRUE[1]).ordered


def test_regions_and_times_make_the_order_not_the_list(bug):
    shuffled = [
        at(5, 1, region="suffix", time=2.1),
        at(7, 2, region="body", time=1.8),
        at(3, 1, region="body", time=1.2),
    ]
    assert verdict(bug, *shuffled).matches
    late = [at(3, 1, region="body", time=1.9), at(7, 2, region="body", time=1.8), shuffled[0]]
    assert not verdict(bug, *late).ordered


@pytest.mark.parametrize("roles", [(1, 1, 1), (1, 2, 2), (1, 2, 3)])
def test_threads_that_do_not_match_are_refused(bug, roles):
    points = [at(line, role) for line, role in zip((3, 7, 5), roles, strict=True)]
    found = verdict(bug, *points)
    assert found.ordered and not found.roles and not found.matches


def test_roles_may_have_other_numbers(bug):
    assert verdict(bug, at(3, 2), at(7, 1), at(5, 2)).matches


def test_the_right_one_of_several_candidates_is_taken(bug):
    assert verdict(bug, at(3, 2), at(3, 1), at(7, 2), at(5, 3), at(5, 1)).matches


@pytest.mark.parametrize(
    "change", [{"op": "write"}, {"function": "size"}, {"file": "other.py"}, {"line": 5}]
)
def test_each_property_of_a_point_counts(bug, change):
    assert not verdict(bug, at(3, 1, **change), *TRUE[1:]).ordered


@pytest.mark.parametrize(
    ("true", "shown", "is_done"),
    [("call", "call", True), ("call", "read", True), ("call", "write", False)],
)
def test_a_call_that_changes_nothing_is_a_read(bug, true, shown, is_done):
    (cause,) = bug.causes
    called = replace(cause, points=tuple(replace(one, op=true) for one in cause.points))
    assert bool(matching(called, at(3, 1, op=shown), bug.folder)) == is_done


def test_more_than_twice_the_points_are_not_concise(bug):
    assert verdict(bug, *TRUE, *[at(6, 1)] * 3).concise
    assert not verdict(bug, *TRUE, *[at(6, 1)] * 4).concise


def finding(rank: int, *points: FindingPoint) -> Finding:
    return Finding(rank, "recon", 1.0, {}, "atomicity", (), points, 1)


def test_rank_of_truth_is_that_of_the_first_good_finding(bug):
    findings = [finding(1, *TRUE[:2]), finding(3, *TRUE), finding(2, *TRUE, *[at(6, 1)] * 4)]
    assert rank_of_truth(bug, "AttributeError at weblech.py:9", findings) == 3
    assert rank_of_truth(bug, "AttributeError at weblech.py:9", findings[:1]) is None
    assert rank_of_truth(bug, "KeyError", findings) is None


def test_the_zoo_is_loaded_by_name_and_bad_files_are_named(bug, tmp_path):
    assert [one.name for one in load_zoo(tmp_path)] == ["weblech"]
    (tmp_path / "weblech" / "bug.toml").write_text(TOML.replace('"atomicity"', '"typo"'))
    with pytest.raises(ValueError, match=r"bug\.toml"):
        load_zoo(tmp_path)
    (tmp_path / "weblech" / "bug.toml").write_text(TOML.replace("role = 1}", "rule = 1}"))
    with pytest.raises(ValueError, match="rule"):
        load_zoo(tmp_path)
