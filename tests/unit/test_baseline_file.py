# SPDX-License-Identifier: Apache-2.0
"""Baselines as values: what is quiet, what is new, what is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.reports_of_values import finding, report

from unsnarl.errors import UsageError
from unsnarl.workflows import baseline
from unsnarl.workflows.hunt import HuntResult

ONE, OTHER, THIRD = (finding(id=name) for name in ("size-7c1e", "lock-9cf4", "head-0a11"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known.json"


def slugs(result: HuntResult) -> list[str]:
    names = [one.slug for one in result.report.warnings]
    return [one for one in names if one.startswith("baseline")]


def test_what_was_written_is_quiet(file: Path) -> None:
    found = report(ONE, OTHER)
    stored = baseline.updated(found, file, baseline.Baseline())
    assert baseline.load(file) == stored
    result = baseline.applied(HuntResult(found, 1), "known.json", stored)
    assert result.exit_code == 0
    assert result.report.failures == ()
    assert result.report.quiet == found.failures
    assert slugs(result) == ["baseline-quiet"]


def test_another_finding_may_come_first(file: Path) -> None:
    stored = baseline.updated(report(ONE, OTHER), file, baseline.Baseline())
    result = baseline.applied(HuntResult(report(OTHER, THIRD), 1), "known.json", stored)
    assert result.exit_code == 0


def test_one_that_is_not_there_is_new(file: Path) -> None:
    stored = baseline.updated(report(ONE), file, baseline.Baseline())
    result = baseline.applied(HuntResult(report(THIRD, ONE), 1), "known.json", stored)
    assert result.exit_code == 1
    assert result.report.failures
    assert slugs(result) == []


def test_every_cause_must_be_there(file: Path) -> None:
    stored = baseline.updated(report(ONE), file, baseline.Baseline())
    found = report(ONE, OTHER)
    failure = replace(found.failures[0], causes=("size-7c1e", "lock-9cf4"))
    result = baseline.applied(
        HuntResult(replace(found, failures=(failure,)), 1), "known.json", stored
    )
    assert result.exit_code == 1


def test_names_may_have_more_digits(file: Path) -> None:
    stored = baseline.updated(report(ONE), file, baseline.Baseline())
    longer = report(finding(id="length-7c1ef0"))
    assert baseline.applied(HuntResult(longer, 1), "known.json", stored).exit_code == 0


def test_a_failure_without_findings_goes_by_its_signature(file: Path) -> None:
    stored = baseline.updated(report(), file, baseline.Baseline())
    assert baseline.applied(HuntResult(report(), 1), "known.json", stored).exit_code == 0
    failure = replace(report().failures[0], signature="KeyError in spider.py")
    other = replace(report(), failures=(failure,))
    assert baseline.applied(HuntResult(other, 1), "known.json", stored).exit_code == 1


def test_what_did_not_occur_is_named(file: Path) -> None:
    stored = baseline.updated(report(ONE), file, baseline.Baseline())
    result = baseline.applied(HuntResult(replace(report(), failures=()), 0), "known.json", stored)
    assert slugs(result) == ["baseline-gone"]
    assert result.exit_code == 0


def test_commands_do_not_meet(file: Path) -> None:
    stored = baseline.updated(report(ONE), file, baseline.Baseline())
    other = report(ONE, command=("python", "other.py"))
    result = baseline.applied(HuntResult(other, 1), "known.json", stored)
    assert result.exit_code == 1
    assert slugs(result) == []
    both = baseline.updated(other, file, stored)
    assert len(both.hunts) == 2


def test_an_inconclusive_hunt_stays_one(file: Path) -> None:
    result = HuntResult(replace(report(), failures=()), 4)
    assert baseline.applied(result, "known.json", baseline.Baseline()).exit_code == 4


@pytest.mark.parametrize("text", ["", "[]", '{"hunts": 1}', '{"version": 9}'])
def test_what_is_no_baseline_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=r"baseline|newer"):
        baseline.load(file)
