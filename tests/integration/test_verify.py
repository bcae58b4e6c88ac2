# SPDX-License-Identifier: Apache-2.0
"""A bug is hunted and proven, the program is edited, and `verify` says what the edit did."""

import itertools
import json
import os
import re
import resource
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.integration.in_process import proved
from tests.integration.test_replay import ZOO, unsnarl

from unsnarl.campaigns.campaign import Campaign
from unsnarl.cli.main import run as main
from unsnarl.execution.budget import Budget
from unsnarl.replay.anchors import TO_THE_END

FRESH_RUNS = 60
LOOP = """\
        while self.queue.size() > 0:
            page = self.queue.dequeue()
"""
# What was checked and what is done are one critical section.
LOCKED_LOOP = """\
        while True:
            with CHECK:
                if not self.queue.size() > 0:
                    break
                page = self.queue.dequeue()
"""
LOCKED = [(LOOP, LOCKED_LOOP), ("class Spider", "CHECK = threading.Lock()\n\n\nclass Spider")]
# The order stays possible, but does no harm any more.
CHECKED = [("if page.get_depth()", "if page and page.get_depth()")]
UNRELATED = [
    ("import threading\n", "import threading\n\nVERSION = 1\n"),
    ("        self.url = url\n", "        self.host = len(url)\n        self.url = url\n"),
]
REWRITTEN = [
    ("def dequeue(self):", "def take(self, least):"),
    ("if self.qsize == 0:", "if len(self.items) < least:"),
    (LOOP, "        while page := self.queue.take(1):\n"),
    ("            self.qsize -= 1\n", ""),
]


# As wrong as before, under other names.
RENAMED = [
    ("def dequeue(self):", "def take(self):"),
    ("self.queue.dequeue()", "self.queue.take()"),
    ("def size(self):", "def length(self):"),
    ("self.queue.size()", "self.queue.length()"),
]
# 70 runs of 0.5 s do not fit into a few seconds.
SLOW = [("if __name__", "TOTAL = sum(range(30_000_000))\n\n\nif __name__")]


@pytest.fixture(scope="module")
def proven(tmp_path_factory):
    """A folder in which weblech was hunted, the campaign's name and the run that was minimised."""
    folder = tmp_path_factory.mktemp("proven")
    shutil.copy(ZOO / "weblech" / "weblech.py", folder)
    options = ("--fail", "5", "--pass", "5", "--confirm", "1", "--max-runs", str(FRESH_RUNS))
    answer = proved(folder, "hunt", *options, "--", sys.executable, "weblech.py")
    assert answer.returncode == 1, answer.stderr
    files = sorted(folder.glob(".unsnarl/*/schedules/*.json"))
    (minimised,) = [file for file in files if json.loads(file.read_text())["constraints"]]
    return folder, minimised.parent.parent.name, str(int(minimised.stem))


@contextmanager
def edited(folder, edits):
    file = folder / "weblech.py"
    source = changed = file.read_text()
    for old, new in edits:
        assert old in changed
        changed = changed.replace(old, new, 1)
    try:
        file.write_text(changed)
        yield
    finally:
        file.write_text(source)


def verified(folder, *arguments):
    """The exit code, what is said of the one failure, and of the hunt."""
    answer = unsnarl(folder, "verify", *arguments, "--json")
    assert answer.stdout, answer.stderr
    told = json.loads(answer.stdout)
    (failure,) = told["failures"]
    return answer.returncode, failure, told["hunt"]


def test_a_program_that_was_not_repaired_still_fails(proven):
    folder, campaign, _ = proven
    with edited(folder, UNRELATED):
        code, failure, hunt = verified(folder, campaign)
    assert (code, failure["verdict"]) == (1, "fails")
    assert failure["failed"] == len(failure["runs"]) >= 5
    assert failure["constrained"]["failed"] == failure["constrained"]["runs"] == 50
    assert failure["statement"].startswith("the proven interleaving still fails: ")
    assert list(hunt["known"]) == [failure["signature"]] and hunt["new"] == {}


def test_a_lock_makes_the_interleaving_impossible(proven):
    folder, campaign, _ = proven
    with edited(folder, LOCKED):
        code, failure, hunt = verified(folder, campaign)
    assert (code, failure["verdict"], failure["failed"]) == (0, "impossible", 0)
    assert failure["constrained"]["released"] == 50 and failure["constrained"]["kept"] == 0
    assert hunt["runs"] == {"total": FRESH_RUNS, "pass": FRESH_RUNS, "fail": 0, "hang": 0}
    assert hunt["statement"] == [
        f"0 failures in {FRESH_RUNS} runs: failure rate below 5 % at 95 % confidence"
    ]


def test_an_order_that_does_no_harm_any_more_is_not_called_impossible(proven):
    folder, campaign, _ = proven
    with edited(folder, CHECKED):
        code, failure, _ = verified(folder, campaign)
    assert (code, failure["verdict"]) == (0, "harmless")
    assert failure["constrained"]["kept"] == 50 and failure["constrained"]["failed"] == 0


def test_code_that_is_gone_was_not_tested_however_clean_the_hunt_is(proven):
    folder, campaign, _ = proven
    with edited(folder, REWRITTEN):
        code, failure, hunt = verified(folder, campaign)
    assert (code, failure["verdict"], hunt["runs"]["fail"]) == (4, "untested", 0)
    assert "was not tested: its code is gone: " in failure["statement"]
    assert "Queue.dequeue, weblech.py:" in failure["statement"]
    assert "gil runs without a failure would rule it out, " in failure["statement"]


def test_fresh_runs_decide_where_the_code_is_gone_if_they_are_enough(proven):
    folder, campaign, _ = proven
    with edited(folder, REWRITTEN):
        code, failure, hunt = verified(folder, campaign, "--max-runs", "400")
    assert (code, failure["verdict"], hunt["runs"]["fail"]) == (0, "unmet", 0)
    assert failure["fresh"] == hunt["passing"]["gil"] >= 100
    assert f"now, 0 of {failure['fresh']}: had nothing changed" in failure["statement"]


def test_a_failure_that_only_changed_its_code_is_met_by_fresh_runs(proven):
    folder, campaign, _ = proven
    with edited(folder, RENAMED):
        code, failure, hunt = verified(folder, campaign, "--max-runs", "400")
    assert code == 1 and failure["verdict"] not in ("unmet", "harmless", "impossible")
    assert hunt["runs"]["fail"]


def test_the_whole_verification_keeps_to_its_time(proven):
    folder, campaign, _ = proven
    before = children_seconds()
    with edited(folder, SLOW):
        answer = unsnarl(folder, "verify", "--time", "4", campaign)
    assert answer.returncode in (1, 4), answer.stderr
    assert "[cut-off]" in answer.stdout
    # Of processors, which a busy machine gives less of: one or two runs at once, one run past the
    # limit, twice the import of the target. All runs would be 70 times the target.
    assert children_seconds() - before < 4 * (os.cpu_count() or 1) + 8


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_the_text_has_the_statement_the_bound_and_what_to_do_next(proven):
    folder, campaign, run = proven
    with edited(folder, LOCKED):
        answer = unsnarl(folder, "verify", campaign, "--max-runs", "30")
    assert answer.returncode == 0, answer.stderr
    assert "the proven interleaving is now impossible: 0 of" in answer.stdout
    assert "0 failures in 30 runs: failure rate below 10 % at 95 % confidence" in answer.stdout
    answer = unsnarl(folder, "verify", campaign, "--max-runs", "5")
    assert answer.returncode == 1 and f"next: unsnarl replay {campaign}/{run}" in answer.stdout


def test_without_a_name_the_last_hunt_is_verified_and_not_its_verification(proven):
    folder, campaign, _ = proven
    with edited(folder, LOCKED):
        for _ in range(2):
            answer = unsnarl(folder, "verify", "--max-runs", "30", "--json")
            assert json.loads(answer.stdout)["campaign"] == campaign


@contextmanager
def misled(folder, campaign, run):
    """The schedule of a run, for a while: one thread after the other, which never fails."""
    file = folder / ".unsnarl" / campaign / "schedules" / f"{int(run):06d}.json"
    text = file.read_text()
    steps = [[path, TO_THE_END, 0] for path in ("0", "0.1", "0.2")]
    try:
        file.write_text(json.dumps(json.loads(text) | {"steps": steps}))
        yield
    finally:
        file.write_text(text)


def test_replay_falls_back_on_the_constraints_where_the_schedule_is_lost(proven):
    folder, campaign, run = proven
    with misled(folder, campaign, run), edited(folder, UNRELATED):
        answer = unsnarl(folder, "replay", f"{campaign}/{run}", f"--json={folder / 'told.json'}")
    told = json.loads((folder / "told.json").read_text())
    assert (answer.returncode, told["failed"], told["left"]["step"]) == (1, 0, 1)
    assert told["constrained"]["failed"] == told["constrained"]["runs"] == 20
    assert "left the recorded schedule in segment 1 of 3: thread 0 did not reach" in answer.stdout
    assert "the failure comes back under its 2 minimised constraints: 20 of 20" in answer.stdout


@pytest.mark.parametrize(
    "arguments, slug",
    [(["nowhere"], "no-campaign"), (["--max-runs", "0"], "bad-argument")],
)
def test_bad_input_is_refused_before_anything_runs(proven, arguments, slug):
    folder, _, _ = proven
    before = len(list(folder.glob(".unsnarl/*")))
    answer = unsnarl(folder, "verify", *arguments)
    assert answer.returncode == 2 and f"[{slug}]" in answer.stderr
    assert len(list(folder.glob(".unsnarl/*"))) == before


def test_a_campaign_in_which_nothing_failed_has_nothing_to_verify(tmp_path):
    shutil.copy(ZOO / "weblech" / "weblech.py", tmp_path)
    with edited(tmp_path, LOCKED):
        unsnarl(tmp_path, "hunt", "--max-runs", "10", "--", "python", "weblech.py")
        answer = unsnarl(tmp_path, "verify")
    assert answer.returncode == 2 and "[nothing-to-verify]" in answer.stderr


def test_an_edit_that_does_not_compile_is_said(proven):
    folder, campaign, _ = proven
    with edited(folder, [("import threading", "import threading, (")]):
        answer = unsnarl(folder, "verify", campaign)
    assert answer.returncode == 2 and "[target-import-failed]" in answer.stderr


@pytest.fixture
def here(proven, monkeypatch):
    """The folder is the current one, and `python` the one that the tests run in."""
    folder, campaign, run = proven
    monkeypatch.chdir(folder)
    monkeypatch.setenv(
        "PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    )
    return campaign, run


def interrupting(monkeypatch, trials):
    """Ctrl-C comes with this trial."""
    counted = itertools.count(1)

    def count(budget):
        if next(counted) == trials:
            raise KeyboardInterrupt

    monkeypatch.setattr(Budget, "count_trial", count)


def test_ctrl_c_in_the_fresh_hunt_shows_the_verdicts(here, monkeypatch, capsys):
    campaign, _ = here

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Campaign, "run", interrupted)
    assert main(["verify", campaign]) == 130
    out, err = capsys.readouterr()
    assert "the proven interleaving still fails: " in out
    assert "interrupted before everything was tested [interrupted]" in err


def test_ctrl_c_in_the_replays_of_verify_shows_what_was_seen(here, monkeypatch, capsys):
    campaign, _ = here
    interrupting(monkeypatch, 12)
    assert main(["verify", campaign]) == 130
    out, _err = capsys.readouterr()
    # As many as there are before the first whose result is missing, by the order of the plans.
    assert re.search(r"1 of 1 replay and (9|10) of \1 runs under its", out), out
    assert re.search(r"(9|10) of 50 runs were made \[cut-off\]", out), out
    assert "interrupted before the fresh hunt [interrupted]" in out


def test_ctrl_c_shows_what_came_of_the_replays(here, monkeypatch, capsys):
    campaign, run = here
    interrupting(monkeypatch, 4)
    assert main(["replay", "--times", "50", f"{campaign}/{run}"]) == 130
    out, err = capsys.readouterr()
    # How many were made before it is a matter of the machine; the first one is behind, and counts.
    made = re.search(r"warning: interrupted: replaying run \d+: ([012]) of 49 runs were made", out)
    assert made, out
    together = int(made[1]) + 1
    assert f"failed as recorded, {together} of {together}" in out
    assert "interrupted before all replays were made [interrupted]" in err


@pytest.mark.parametrize("verb", ["confirm", "minimise"])
def test_ctrl_c_in_an_experiment_shows_the_finding(here, monkeypatch, capsys, verb):
    campaign, _ = here
    interrupting(monkeypatch, 2)
    assert main([verb, "1", campaign]) == 130
    out, err = capsys.readouterr()
    assert "weblech.py" in out and "warning: interrupted: " in out
    assert "interrupted before the experiment was complete [interrupted]" in err


@pytest.mark.parametrize(
    "words", [("replay", "--times", "5000"), ("confirm",), ("minimise",)], ids=" ".join
)
def test_a_command_that_is_out_of_time_says_what_is_missing(proven, words):
    folder, campaign, run = proven
    what = (f"{campaign}/{run}",) if words[0] == "replay" else ("1", campaign)
    answer = unsnarl(folder, *words, "--time", "0.2", *what)
    assert answer.returncode in (0, 1, 4), answer.stderr
    assert "warning: the time ran out: " in answer.stdout
