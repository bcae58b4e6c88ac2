# SPDX-License-Identifier: Apache-2.0
"""Whatever goes wrong costs a part of the answer, not the answer (docs/adr/0026)."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from tests.integration.in_process import called, proved

from unsnarl.analyses import methods
from unsnarl.errors import Terminated
from unsnarl.execution.budget import OutOfTimeError
from unsnarl.experiments import prove
from unsnarl.experiments.confirm import Experimenter
from unsnarl.experiments.fix import Fixer
from unsnarl.workflows import campaign_report

PROGRAM = """
import threading

class Counter:
    def __init__(self):
        self.n = 0

    def add(self):
        seen = self.n
        self.n = seen + 1

counter = Counter()
threads = [threading.Thread(target=counter.add) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert counter.n == 2
"""


def hunted(folder, call=proved):
    (folder / "program.py").write_text(PROGRAM)
    limits = ("--fail", "12", "--pass", "12", "--confirm", "1", "--switch", "free")
    answer = folder / "answer.json"
    done = call(folder, "hunt", *limits, "--json", answer, "--", sys.executable, "program.py")
    assert answer.exists(), done.stderr
    return done, json.loads(answer.read_text())


def broken(*_, **__):
    raise IndexError("tuple index out of range")


def test_without_errors_nothing_is_missing(tmp_path):
    done, report = hunted(tmp_path, called)
    assert done.returncode == 1
    assert report["unfinished"] == []
    parts = {"hunt", "rank", "confirm", "minimise", "fix", "patch", "report"}
    assert parts <= set(report["timings"])


PARTS = {
    "rank": (campaign_report, "rank_with"),
    "confirm": (Experimenter, "test"),
    "minimise": (Experimenter, "minimal"),
    "fix": (Fixer, "search"),
    "nearest": (prove, "nearest"),
    "capture": (campaign_report._Ranker, "_with_values"),
    "report": (campaign_report, "proof_facts"),
}


@pytest.mark.parametrize("part", PARTS)
def test_an_error_costs_its_part(tmp_path, monkeypatch, part):
    monkeypatch.setattr(*PARTS[part], broken)
    done, report = hunted(tmp_path)
    assert done.returncode == 1  # what was found is found
    assert report["runs"]["fail"] >= 5
    missing = report["unfinished"][0]
    assert (missing["why"], missing["message"]) == (
        "error",
        "IndexError: tuple index out of range",
    )
    text = (tmp_path / missing["file"]).read_text()
    assert "Traceback" in text and "options: " in text and report["campaign"] in text
    assert "[part-failed]" in done.stdout
    finding = report["failures"][0]["findings"][0]
    assert finding["points"]
    assert part == "confirm" or finding["status"] == "confirmed"


def test_a_ranking_that_is_cut_off_leaves_one_without_cycles_and_its_experiments(
    tmp_path, monkeypatch
):
    def too_long(*_, **__):
        raise OutOfTimeError

    monkeypatch.setattr(campaign_report, "rank_with", too_long)
    _, report = hunted(tmp_path)
    assert [(one["what"], one["why"]) for one in report["unfinished"]] == [("ranking", "time")]
    assert report["failures"][0]["findings"][0]["status"] == "confirmed"


def test_an_error_in_naming_leaves_the_findings(tmp_path, monkeypatch):
    from unsnarl.reports import build

    monkeypatch.setattr(build, "with_proof", broken)
    done, report = hunted(tmp_path)
    assert done.returncode == 1
    finding = report["failures"][0]["findings"][0]
    assert (finding["status"], finding["orders"]) == ("confirmed", [])
    assert report["failures"][0]["replay"] is None
    assert report["unfinished"][0]["what"] == "naming and explaining"


def test_an_error_in_printing_leaves_a_line_for_each_finding(tmp_path, monkeypatch):
    from unsnarl.reports.render import terminal

    monkeypatch.setattr(terminal, "print_report", broken)
    done, report = hunted(tmp_path)
    assert done.returncode == 1
    assert report["failures"][0]["findings"][0]["id"] in done.stdout
    assert "[part-failed]" in done.stderr


@pytest.mark.parametrize(("signalled", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
def test_a_signal_during_the_proof_shows_what_is_known(tmp_path, monkeypatch, signalled, code):
    def press(*_, **__):
        raise signalled

    monkeypatch.setattr(Experimenter, "minimal", press)
    done, report = hunted(tmp_path)
    assert done.returncode == code
    assert "[interrupted]" in done.stderr and "--resume" in done.stderr
    assert report["failures"][0]["findings"][0]["status"] == "confirmed"
    assert {one["why"] for one in report["unfinished"]} == {"interrupted"}


def test_a_signal_during_the_hunt_shows_what_is_known(tmp_path, monkeypatch):
    from unsnarl.campaigns.campaign import Campaign

    finish, sent = Campaign._finish, []

    def count(self, result, phase):
        finish(self, result, phase)
        if not sent and min(self.tally.labels["fail"], self.tally.labels["pass"]) >= 2:
            sent.append(result)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Campaign, "_finish", count)
    done, report = hunted(tmp_path)
    assert done.returncode == 130
    assert report["runs"]["fail"] >= 2
    assert report["failures"][0]["findings"]
    assert "interrupted" in done.stdout
    assert report["failures"][0]["findings"][0]["status"] == "untested"


def test_no_time_for_the_proof_is_said(tmp_path, monkeypatch):
    # A clock that jumps when the hunt is over: nothing here takes time.
    monkeypatch.setattr(campaign_report.Comparisons, "all", _late(campaign_report.Comparisons.all))
    done, report = hunted(tmp_path)
    assert done.returncode == 1
    assert report["failures"][0]["findings"][0]["status"] == "untested"
    assert {one["why"] for one in report["unfinished"]} == {"time"}
    assert "[cut-off]" in done.stdout


def _late(real):
    import gc

    from unsnarl.execution.budget import Budget

    def all_signatures(self):
        for budget in [one for one in gc.get_objects() if isinstance(one, Budget)]:
            budget.limit(0.0)
        return real(self)

    return all_signatures


def test_methods_are_looked_up_where_they_are_broken():
    assert campaign_report.rank_with is methods.rank_with
