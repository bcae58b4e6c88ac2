# SPDX-License-Identifier: Apache-2.0
"""Whole hunts of small programs, in processes of their own."""

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.integration.interpreters import PYTHON
from tests.integration.shown_commands import without_figures

PYTEST = (PYTHON, "-m", "pytest", "-q")
README = Path(__file__).parents[2] / "README.md"
ZOO = Path(__file__).parents[2] / "zoo" / "python"
TWO_BUGS = """
import threading

class Box:
    def __init__(self):
        self.first = self.second = 0

def work(box):
    value = abs(box.first)
    other = abs(box.second)
    box.first = abs(value) + 1
    box.second = abs(other) + 1

def main():
    box = Box()
    threads = [threading.Thread(target=work, args=(box,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(box)

def check(box):
    if (box.first, box.second) == (1, 2):
        raise ValueError(f"first is {box.first}")
    if box.second != 2:
        raise ValueError(f"second is {box.second}")

main()
"""
QUIET = """
import threading

def work(box):
    with box["lock"]:
        box["count"] += 1

def test_count():
    box = {"count": 0, "lock": threading.Lock()}
    threads = [threading.Thread(target=work, args=(box,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert box["count"] == 2

if __name__ == "__main__":
    test_count()
"""


def start(cwd: Path, *arguments: str, **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "unsnarl", *arguments]
    return subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def hunt(cwd: Path, *arguments: str, code: int = 1) -> dict:
    process = start(cwd, "hunt", "--json", *arguments)
    out, err = process.communicate()
    assert process.returncode == code, err + out
    return json.loads(out)


def rows(cwd: Path, what: str = "number, label, signature, kept") -> list:
    (database,) = (cwd / ".unsnarl").glob("*/campaign.sqlite")
    with sqlite3.connect(database) as connection:
        return connection.execute(f"SELECT {what} FROM runs ORDER BY number").fetchall()


@pytest.fixture(scope="module")
def hunted(tmp_path_factory):
    """The folder of a hunt, for tests that only read; its report."""
    folder = tmp_path_factory.mktemp("weblech")
    shutil.copy(ZOO / "weblech" / "weblech.py", folder)
    return folder, hunt(folder, "--no-confirm", "--", PYTHON, "weblech.py")


@pytest.mark.core
def test_the_weblech_bug_is_found_and_ranked(hunted):
    _, report = hunted
    (failure,) = report["failures"]
    assert failure["signature"].startswith("AttributeError in weblech.py:Spider.run")
    assert failure["kind"] == "exception" and failure["switch"] == "gil"
    assert report["runs"]["fail"] >= 25 and report["runs"]["pass"] >= 25
    seen = report["instrumented"]
    assert seen["threads_controlled"] == seen["threads_seen"] == 3
    findings = failure["findings"]
    assert any("Queue.qsize" in finding["variables"] for finding in findings)
    assert any(point["value"] is not None for f in findings for point in f["points"])


def test_both_kinds_of_runs_come_from_the_same_mixture(hunted):
    kept = rows(hunted[0], "label, strategy, kept")
    for label in ("pass", "fail"):
        assert "rff" in {strategy for found, strategy, k in kept if found == label and k}


def test_a_deadlock_has_one_signature(tmp_path):
    shutil.copy(ZOO / "abba" / "abba.py", tmp_path)
    report = hunt(tmp_path, "--no-confirm", "--", "abba.py")
    (failure,) = report["failures"]
    assert failure["kind"] == "deadlock"
    assert failure["signature"] == "deadlock: abba.py:transfer [with target.lock:]"


def test_two_bugs_have_two_signatures(tmp_path):
    (tmp_path / "two.py").write_text(TWO_BUGS)
    report = hunt(tmp_path, "--max-runs", "400", "--no-confirm", "--", "two.py")
    signatures = {failure["signature"] for failure in report["failures"]}
    assert len(signatures) == 2
    assert all(s.startswith("ValueError in two.py:check [raise ValueError(f") for s in signatures)


def test_a_silent_twin_stays_silent(tmp_path):
    shutil.copy(ZOO / "weblech" / "fixed.py", tmp_path)
    report = hunt(tmp_path, "--max-runs", "200", "--", "fixed.py", code=0)
    assert report["failures"] == [] and report["runs"]["pass"] == 200
    assert [warning["slug"] for warning in report["warnings"]] == ["no-failure"]


def test_a_kill_loses_at_most_the_runs_in_progress(tmp_path):
    (tmp_path / "test_quiet.py").write_text(QUIET)
    command = ("hunt", "--max-runs", "100000", "--", *PYTEST, "test_quiet.py")
    process = start(tmp_path, *command)
    wait_for(lambda: process.poll() is not None or len(rows(tmp_path)) > 30)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = rows(tmp_path)
    files = list((tmp_path / ".unsnarl").glob("*/runs/*.run"))
    assert len(files) <= sum(kept for *_, kept in before) + 2 * (os.cpu_count() or 1)
    wait_for(lambda: not left_over(tmp_path))
    limit = str(len(before) + 50)
    process = start(tmp_path, "hunt", "--resume", "--max-runs", limit, "--json")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert json.loads(out)["runs"]["total"] == len(before) + 50
    assert rows(tmp_path)[: len(before)] != [] and len(rows(tmp_path)) == len(before) + 50


def test_an_interrupt_leaves_nothing_running(tmp_path):
    (tmp_path / "test_quiet.py").write_text(QUIET)
    process = start(tmp_path, "hunt", "--max-runs", "100000", "--", *PYTEST, "test_quiet.py")
    wait_for(lambda: process.poll() is not None or len(rows(tmp_path)) > 30)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130 and "[interrupted]" in err
    assert not left_over(tmp_path)


def test_a_run_costs_less_than_a_start_of_the_interpreter(tmp_path):
    """Less than half of it on a quiet machine (benchmarks measure it), 0.51 at a load of 55."""
    (tmp_path / "quiet.py").write_text(QUIET)
    command = [PYTHON, "quiet.py"]
    plain = processor_time(lambda: subprocess.run(command, cwd=tmp_path, check=True), times=30)
    hunted = processor_time(
        lambda: hunt(tmp_path, "--max-runs", "400", "--", "quiet.py", code=0), times=1
    )
    assert hunted / 400 <= plain


def processor_time(work, times):
    """What the children take: what else runs on this machine must not count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(times):
        work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / times


def test_rank_works_on_what_was_stored(hunted):
    weblech, report = hunted
    process = start(weblech, "rank", "--json")
    out, err = process.communicate()
    assert process.returncode == 0, err
    ranked = json.loads(out)["findings"]
    wanted = report["failures"][0]["findings"]
    assert [f["score"] for f in ranked] == [f["score"] for f in wanted]


def test_without_experiments_a_finding_is_only_suspected(hunted):
    _, report = hunted
    findings = report["failures"][0]["findings"]
    assert {finding["status"] for finding in findings} == {"untested"}
    assert {finding["forced"] for finding in findings} == {None}


def test_the_demo_finds_its_bug_and_readme_shows_its_report(tmp_path):
    process = start(tmp_path, "demo", env=os.environ | {"COLUMNS": "120"})
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "AttributeError" in out and "Queue.length" in out
    _, _, rest = README.read_text(encoding="utf-8").partition("<!-- demo output: begin -->\n```\n")
    shown, _, _ = rest.partition("\n```\n<!-- demo output: end -->")
    assert without_figures(shown) == without_figures(f"$ unsnarl demo\n{out.strip()}")


def wait_for(condition, seconds: float = 240.0) -> None:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        try:
            if condition():
                return
        except (ValueError, sqlite3.OperationalError):
            pass
        time.sleep(0.05)
    raise AssertionError("timed out")


def left_over(cwd: Path) -> list[str]:
    """Processes that still have `cwd` as their folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").resolve() == cwd.resolve() and entry.name != str(os.getpid()):
                    found.append(entry.name)
            except OSError:
                continue
    return found
