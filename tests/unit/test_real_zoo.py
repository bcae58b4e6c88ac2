# SPDX-License-Identifier: Apache-2.0
"""The cases of real bugs are well formed, and their points are where they say."""

import ast
from collections import Counter

import pytest
from evaluation.real_cases import FOLDERS, load_cases

CASES = load_cases(FOLDERS)
PROGRAMS = [case for case in CASES if case.twin]
PACKAGES = [case for case in CASES if case.package]


def by_name(case):
    return case.name


def functions(text):
    """The lines of every function and class, by qualified name."""
    found = {}

    def visit(node, path):
        for child in ast.iter_child_nodes(node):
            inner = path
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = [*path, child.name]
                lines = text.splitlines()[child.lineno - 1 : child.end_lineno]
                found[".".join(inner)] = [line.strip() for line in lines]
            visit(child, inner)

    visit(ast.parse(text), [])
    return found


def test_there_are_twenty_programs_in_several_forms():
    assert len(PROGRAMS) == 20
    assert {case.form for case in PROGRAMS} == {"pytest", "unittest"}
    assert {case.set for case in PROGRAMS} == {"users"}


@pytest.mark.parametrize("case", PROGRAMS, ids=by_name)
def test_the_points_of_a_program_are_lines_of_its_functions(case):
    for point in case.points:
        lines = functions((case.folder / point.file).read_text())[point.function]
        assert [text for text in point.texts if text not in lines] == []


@pytest.mark.parametrize("case", PROGRAMS, ids=by_name)
def test_a_twin_corrects_the_files_with_the_points(case):
    twins = sorted(path.name for path in (case.folder / case.twin).glob("*.py"))
    assert twins == sorted({point.file for point in case.must})
    for name in twins:
        assert (case.folder / case.twin / name).read_text() != (case.folder / name).read_text()


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_a_case_has_few_points_and_a_reason_for_each(case):
    assert 1 <= len(case.must) <= 6
    assert [point.line for point in case.points if not point.why] == []
    assert case.kind and case.symptom and case.threads


def test_no_package_comes_twice():
    counted = Counter(case.package.lower() for case in PACKAGES)
    assert [name for name, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("case", PACKAGES, ids=by_name)
def test_a_package_is_pinned_and_instrumented(case):
    assert case.include and case.reference
    assert [pin for pin in case.requires if "==" not in pin] == []
