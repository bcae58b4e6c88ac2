# SPDX-License-Identifier: Apache-2.0
"""The bars of bugs whose first hunt was written down."""

from evaluation import first_looks
from evaluation.draws import ZOO_C
from evaluation.proof_results import ProvedZoo
from tests.unit.test_proof_evaluation import row

LOOKS = {"one": "not found", "two": "found, right"}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def table_of(*rows):
    return {bar: rest for bar, *rest in map(cells, first_looks.bars(rows).splitlines()[2:])}


def test_twelve_bugs_have_a_first_look():
    assert len(first_looks.looked_at(ZOO_C)) == first_looks.BUGS


def test_a_bar_is_met_by_its_share():
    good, bad = row(bug="one", named=True), row(bug="two", named=False)
    named = "every variable of the cause named"
    assert table_of(*[good] * 11, bad)[named] == ["11 of 12", "8 of 12", "11 of 12", "yes"]
    assert table_of(*[good] * 10, bad, bad)[named][-1] == "no"
    assert table_of()[named][-1] == "no"


def test_a_page_has_one_row_per_bug_with_what_was_said_first():
    rows = (row(bug="one"), row(bug="two", status="inconclusive", true=False), row(bug="two"))
    found = ProvedZoo(
        command="a command", date="", python="", rows=rows, twins={}, wanted=1.0, patched=1.0
    )
    lines = first_looks.page(found, LOOKS).splitlines()
    shown = [cells(line) for line in lines if line.startswith(("| one", "| two"))]
    assert [one[:3] for one in shown] == [
        ["one", "not found", "confirmed"],
        ["two", "found, right", "inconclusive, not the true cause"],
    ]
