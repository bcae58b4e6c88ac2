# SPDX-License-Identifier: Apache-2.0
"""The zoo of C and C++ is well formed: every bug has its twin and a truth about real lines."""

from pathlib import Path

import pytest
from evaluation.truth import load_zoo

BUGS = load_zoo(Path(__file__).resolve().parents[2] / "zoo" / "c")
every_bug = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)


def test_all_that_the_papers_name_is_there():
    assert len(BUGS) == 63
    assert {bug.language for bug in BUGS} == {"c", "c++"}
    assert sum(bug.public for bug in BUGS) == 39


@every_bug
def test_its_variables_and_shapes_are_set(bug):
    assert all(cause.variables and cause.shapes for cause in bug.causes)


@every_bug
def test_its_files_are_there(bug):
    folder = Path(bug.folder)
    assert bug.name == folder.name
    assert bug.sources and bug.fixed_sources
    for name in (*bug.sources, *bug.fixed_sources):
        assert (folder / name).read_text().startswith("/* SPDX-License-Identifier: Apache-2.0 */")


@every_bug
def test_its_truth_is_about_lines_of_the_program(bug):
    for cause in bug.causes:
        assert len({point.role for point in cause.points}) > 1
        for point in cause.points:
            text = (Path(bug.folder) / point.file).read_text()
            assert any(point.text in line for line in text.splitlines()), point
            assert point.function.rpartition("::")[2].partition("<")[0] in text


@every_bug
def test_the_twin_is_another_program(bug):
    buggy = (Path(bug.folder) / bug.sources[0]).read_text()
    fixed = (Path(bug.folder) / bug.fixed_sources[0]).read_text()
    assert buggy != fixed
