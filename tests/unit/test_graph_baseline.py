# SPDX-License-Identifier: Apache-2.0
"""Baselines of communication: unions, cut contexts, damaged files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsnarl.anomalies import baseline
from unsnarl.anomalies.baseline import GraphBaseline
from unsnarl.anomalies.points import Anchored
from unsnarl.errors import UsageError

POINTS = [Anchored("a.py", f"f{number}", "x = 1", "x", "x", "write") for number in range(3)]
EDGES = st.tuples(
    st.sampled_from(POINTS),
    st.sampled_from(POINTS),
    st.integers(0, 0o44444),
    st.integers(0, 0o44444),
)
BASELINES = st.frozensets(EDGES, max_size=8).map(GraphBaseline)


@given(BASELINES, BASELINES, BASELINES)
def test_order_and_repetition_do_not_matter(
    one: GraphBaseline, other: GraphBaseline, third: GraphBaseline
) -> None:
    left = one.merged(other).merged(third)
    right = third.merged(other.merged(one)).merged(one)
    assert left.encoded() == right.encoded() and left.digest == right.digest


def test_a_file_is_read_back(tmp_path: Path) -> None:
    found = GraphBaseline({(POINTS[0], POINTS[1], 0o12, 0o34)})
    (tmp_path / "b.json").write_bytes(found.encoded())
    assert baseline.load(tmp_path / "b.json").edges == found.edges


def test_a_context_that_was_cut_short_is_compared_as_far_as_it_goes() -> None:
    known = GraphBaseline({(POINTS[0], POINTS[1], 0o11111, 0o43214)})
    assert known.has((POINTS[0], POINTS[1], 0, 0o14))
    assert known.has((POINTS[0], POINTS[1], 0o11, 0))
    assert not known.has((POINTS[0], POINTS[1], 0, 0o13))
    assert not known.has((POINTS[1], POINTS[0], 0, 0))
    assert known.has_pair(POINTS[0], POINTS[1]) and not known.has_pair(POINTS[1], POINTS[0])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "no baseline"),
        (b'{"version":2,"kind":"communication"}', "newer"),
        (b'{"version":1}', "communication"),
        (b'{"version":1,"hunts":[]}', "communication"),
        (b'{"version":1,"kind":"communication","points":[],"edges":[[0,0,0,0]]}', "damaged"),
        (b'{"version":1,"kind":"communication","points":[["a"]]}', "no baseline"),
        (b'{"version":1,"kind":"communication","edges":[[0,-1,0,0]]}', "no baseline"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "b.json").write_bytes(content)
    with pytest.raises(UsageError, match=complaint) as caught:
        baseline.load(tmp_path / "b.json")
    assert caught.value.slug == "bad-baseline"


def test_one_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no baseline"):
        baseline.load(tmp_path / "b.json")
