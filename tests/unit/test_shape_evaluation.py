# SPDX-License-Identifier: Apache-2.0
"""Reports that are kept with their sources, and named anew by the rules of today."""

from evaluation.kept_reports import keep, load
from evaluation.real_cases import load_case
from evaluation.shapes import named
from msgspec.structs import replace
from tests.unit.test_real_evaluation import CASE, write_case
from tests.unit.test_reports_output import detailed
from tests.unit.test_reports_shapes import point

from unsnarl.model.report import Finding

SOURCE = "if not cls.one:\n    cls.one = One()\n"


def made_twice(shape):
    points = tuple(
        replace(point(f"{role} write one", "cls.one = One()"), line=2) for role in (2, 1)
    )
    return detailed(
        Finding(
            1, "joined", 1.0, {}, "atomicity", ("one",), points, 2, explanation=points,
            orders=((1, 2),), shape=shape, status="confirmed",
        )
    )  # fmt: skip


def test_a_kept_report_is_named_by_the_rules_of_today(tmp_path):
    (tmp_path / "m.py").write_text(SOURCE)
    kept = tmp_path / "results" / "leak-1-report.json"
    keep(made_twice("lost update"), tmp_path, kept)
    (tmp_path / "m.py").unlink()
    text = CASE.replace("[[point]]", 'shapes = ["check-then-act"]\n\n[[point]]', 1)
    case = load_case(write_case(tmp_path, text=text))
    row = named(case, load(kept))
    assert row.right
    assert row.line().split() == (
        ["right", "leak", "confirmed", "check-then-act", "(was", "lost", "update)"]
    )


def test_without_a_finding_there_is_no_name(tmp_path):
    report = replace(made_twice(""), failures=())
    keep(report, tmp_path, tmp_path / "kept.json")
    case = load_case(write_case(tmp_path))
    row = named(case, load(tmp_path / "kept.json"))
    assert not row.right
    assert row.line().startswith("WRONG  leak")
