# SPDX-License-Identifier: Apache-2.0
"""A simulated fix is certified only where there is no patch: that one was run itself."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from unsnarl.execution.budget import Budget
from unsnarl.model.report import (
    FailureReport,
    Finding,
    Fix,
    Instrumented,
    Patch,
    PatchChecks,
    Report,
    RunCounts,
    SourceLine,
)
from unsnarl.patches.search import FoundPatch
from unsnarl.patches.trying import Tried
from unsnarl.workflows import fix as fixes

SCREENED = Fix("region", SourceLine("a.py", 1, "f"), SourceLine("a.py", 2, "f"), runs=46, tried=1)
WORKS = Patch("diff", ("a.py",), "lock", "hold it", PatchChecks(260, serial=True), 1, works=True)


class Search:
    """Counts how often a fix is certified."""

    def __init__(self, found=None):
        self.asked = 0
        self.found = found

    def certified(self):
        self.asked += 1
        return self.found


@pytest.fixture
def certified(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("first\nsecond\n")
    monkeypatch.setattr(fixes, "named", lambda found: found)
    store = SimpleNamespace(description=SimpleNamespace(root=str(tmp_path)))

    def made(patch, search, seconds=60.0):
        finding = Finding(1, "joined", 1.0, {}, "atomicity", ("x",), (), 5, fix=SCREENED)
        finding = replace(finding, patch=patch, status="confirmed")
        failure = FailureReport("s", "exception", "gil", False, 2, 0.5, "boom", "", (finding,))
        counts, instrumented = RunCounts(3, 3, 0, 0), Instrumented(1, 2, 1, 1)
        report = Report(1, "c", ("a.py",), 1.0, counts, instrumented, (failure,), ())
        budget = Budget(seconds)
        report = fixes.certified(store, report, {"s": search}, budget)
        return report.failures[0].findings[0].fix, budget

    return made


def test_a_patch_that_works_needs_no_certified_fix(certified):
    search = Search()
    fix, _ = certified(WORKS, search)
    assert (fix, search.asked) == (SCREENED, 0)


@pytest.mark.parametrize("patch", [None, replace(WORKS, works=False)])
def test_without_a_patch_the_fix_is_certified(certified, patch):
    search = Search(replace(SCREENED, runs=200))
    fix, _ = certified(patch, search)
    assert (fix.runs, fix.begin.text, search.asked) == (200, "first", 1)


def test_what_there_was_no_time_to_certify_is_not_called_a_fix(certified):
    search = Search()
    fix, budget = certified(None, search, seconds=0.0)
    assert not fix.works and search.asked == 0
    assert [one.what for one in budget.unfinished] == ["certifying the fix"]


class Begun:
    """A search whose first candidate survives its screening, or does not."""

    def __init__(self, works):
        self.fix = SimpleNamespace(works=works)

    def screened(self):
        return self.fix


@pytest.mark.parametrize("works", [True, False])
def test_a_fix_is_screened_after_the_answer_and_what_survives_can_be_certified(
    tmp_path, monkeypatch, works
):
    (tmp_path / "a.py").write_text("first\nsecond\n")
    monkeypatch.setattr(fixes, "named", lambda found: SCREENED)
    store = SimpleNamespace(description=SimpleNamespace(root=str(tmp_path)))
    begun = Begun(works)
    report, open_ones = fixes.screened(store, a_report(), {"s": lambda: begun}, Budget())
    first, second = report.failures[0].findings
    assert (first.fix.begin.text, second.fix) == ("first", None)
    assert open_ones == ({"s": begun} if works else {})


def test_where_no_fix_can_be_tried_the_report_is_as_it_was():
    report = a_report()
    assert fixes.screened(None, report, {"s": lambda: None}, Budget()) == (report, {})


def a_report():
    finding = Finding(1, "joined", 1.0, {}, "atomicity", ("x",), (), 5, status="confirmed")
    both = (finding, replace(finding, rank=2))
    failure = FailureReport("s", "exception", "gil", False, 2, 0.5, "boom", "", both)
    counts, instrumented = RunCounts(3, 3, 0, 0), Instrumented(1, 2, 1, 1)
    return Report(1, "c", ("a.py",), 1.0, counts, instrumented, (failure,), ())


class Runs:
    """Runs a patch of another failure along the schedules of this one."""

    def __init__(self, *came):
        self.came = list(came)

    def run_on_others(self, draft, sources, runs, known):
        return self.came.pop(0)


def certified_ones(count):
    return [fixes._Certified(FoundPatch(WORKS, at), {}, "gil") for at in range(count)]


def test_the_patch_of_another_failure_is_taken_if_no_schedule_defeats_it():
    fails, holds = (
        PatchChecks(260, replayed=1, replayed_fail=1),
        PatchChecks(260, 0, 0, 46, 0, True),
    )
    runs = Runs(None, Tried(fails), Tried(holds))
    found = fixes._of_another(runs, certified_ones(4), 200, Budget())
    assert found.found.draft == 2 and found.found.patch.checks == holds
    assert (found.found.patch.works, found.found.patch.tried) == (True, 1)
    assert len(found.found.patch.tries) == 1


def test_without_time_no_patch_is_tried_again():
    assert fixes._of_another(Runs(), certified_ones(1), 200, Budget(0.0)) is None
