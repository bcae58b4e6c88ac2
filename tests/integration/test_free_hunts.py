# SPDX-License-Identifier: Apache-2.0
"""Hunts whose threads run in real parallel: ranked as they are, proved under the gate."""

import dataclasses
import json

import pytest
from tests.integration.in_process import called, proved

from unsnarl.execution import target
from unsnarl.workflows import hunt

# Which runs fail without control is drawn with each run's seed: one of four, about.
PROGRAM = """
import random
import threading
import time

class Box:
    def __init__(self):
        self.count = 0

def work(box, delay):
    value = abs(box.count)
    time.sleep(delay)
    box.count = abs(value) + 1

def main():
    box = Box()
    first, second = (0.02, 0.0) if random.random() < 0.5 else (0.0, 0.0)
    threads = [threading.Thread(target=work, args=(box, delay)) for delay in (first, second)]
    threads[0].start()
    if first == 0.0:
        threads[0].join()
    threads[1].start()
    for thread in threads:
        thread.join()
    assert box.count == 2, f"count is {box.count}"

main()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "box.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.parametrize("plan", ["free", "noise"])
def test_free_runs_are_ranked_and_lead_to_a_proof_under_the_gate(folder, plan):
    flags = ("--plan", plan, "--confirm", 1, "--fail", 5, "--pass", 5, "--jobs", 2)
    done = proved(folder, "hunt", *flags, "--", "python", "box.py")
    assert done.returncode == 1, done.stderr
    assert "CONFIRMED" in done.stdout
    text = " ".join(done.stdout.split())
    assert "free runs failed; their ranking led this hunt" in text
    assert "uncontrolled-threads" not in text
    # Both campaigns are there: that of the free runs, and the one that others mean.
    free, led = sorted((folder / ".unsnarl").glob("*/report.json"))
    ranked = json.loads(free.read_text())["failures"][0]
    assert ranked["findings"][0]["variables"] == ["Box.count"]
    assert ranked["findings"][0]["status"] == "untested"
    assert "CONFIRMED" in called(folder, "show", 1).stdout
    assert json.loads(led.read_text())["failures"][0]["signature"] == ranked["signature"]


def test_without_experiments_the_free_ranking_is_the_answer(folder):
    flags = ("--plan", "free", "--no-confirm", "--fail", 5, "--pass", 5)
    done = called(folder, "hunt", *flags, "--", "python", "box.py")
    assert done.returncode == 1
    assert "SUSPECTED" in done.stdout
    (report,) = (folder / ".unsnarl").glob("*/report.json")
    assert json.loads(report.read_text())["failures"][0]["findings"]


def test_free_runs_without_a_failure_do_not_claim_anything_of_other_orders(folder):
    text = (folder / "box.py").read_text()
    (folder / "box.py").write_text(text.replace("random.random() < 0.5", "False"))
    flags = ("--plan", "free", "--max-runs", 30, "--pass", 20)
    done = called(folder, "hunt", *flags, "--", "python", "box.py")
    assert done.returncode == 4
    assert "other orders were not tried" in " ".join(done.stdout.split())


def test_what_does_not_fail_under_the_gate_stays_suspected(folder, monkeypatch):
    fixed = (folder / "box.py").read_text().replace("random.random() < 0.5", "False")
    (folder / "fixed.py").write_text(fixed)
    led = hunt.Hunter.led

    def led_elsewhere(other, settings):
        other.target = target.parse(("python", "fixed.py"), folder)
        return led(other, dataclasses.replace(settings, max_runs=20))

    monkeypatch.setattr(hunt.Hunter, "led", led_elsewhere)
    flags = ("--plan", "free", "--confirm", 1, "--fail", 5, "--pass", 5)
    done = called(folder, "hunt", *flags, "--", "python", "box.py")
    assert done.returncode == 1
    assert "SUSPECTED" in done.stdout
    assert "not-under-the-gate" in done.stdout
    # What says nothing of the failure is not what others take for the newest campaign.
    assert "SUSPECTED" in called(folder, "show", 1).stdout
