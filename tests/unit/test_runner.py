# SPDX-License-Identifier: Apache-2.0
"""The door to a target's process; the fork server is a fake one."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from unsnarl.campaigns.campaign import Campaign
from unsnarl.campaigns.store import Store
from unsnarl.config import Settings
from unsnarl.errors import UnsnarlError
from unsnarl.execution import server
from unsnarl.execution.budget import Budget
from unsnarl.execution.interpreter import Interpreter
from unsnarl.execution.labels import Judgement
from unsnarl.execution.result import Result, read_safely
from unsnarl.execution.runner import started
from unsnarl.execution.server import Done, Server, descendants
from unsnarl.execution.target import Target
from unsnarl.execution.trials import Trials, fresh_plans
from unsnarl.model.plan import Plan
from unsnarl.model.run import Failure

FAKE = Path(__file__).with_name("fake_server.py")
FORKING = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setpgid(0, 0)
        time.sleep(600)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def process(tmp_path, monkeypatch):
    """Starts a process that behaves in a mode of the fake server."""
    monkeypatch.setattr(server, "SERVER", (str(FAKE),))

    def start(mode, **options):
        python = Interpreter(sys.executable, "3.11.7", sys.prefix)
        args = ("program.py", mode)
        target = Target(args, "script", args, python, (), tmp_path, tmp_path)
        return started(target, tmp_path / "made", Settings(jobs=2), scratch=True, **options)

    return start


def plan(folder, number, **fields):
    file, output = folder / f"{number}.run", folder / f"{number}.out"
    fields = {"strategy": "walk", "seed": 1, "switch": "gil", "timeout": 5.0, **fields}
    return Plan(number=number, file=str(file), output=str(output), **fields)


def test_a_plan_goes_in_and_a_result_comes_out(tmp_path, process):
    with process("mixed") as runner:
        (result,) = runner.run([plan(tmp_path, 3)])
    assert result.fails_as("ValueError in program.py:work: boom N")
    assert result.run is not None and not result.damage
    record = result.record(12)
    assert (record.number, record.label, record.strategy, record.seed) == (12, "fail", "walk", 1)
    assert (record.threads_seen, record.threads_controlled) == (3, 3)
    assert record.failure == result.failure


def test_a_server_whose_start_was_broken_into_is_started_anew(tmp_path, process, monkeypatch):
    with process("mixed") as runner:
        engine = runner.engine

        def interrupted(server):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(engine, "_await_ready", interrupted)
            with pytest.raises(KeyboardInterrupt):
                engine._restart(counts=False)
        (result,) = runner.run([plan(tmp_path, 3)])
    assert result.label == "fail"


def test_every_plan_has_its_result_however_many_there_are(tmp_path, process):
    with process("mixed") as runner:
        results = list(runner.run(plan(tmp_path, number, seed=number) for number in range(1, 10)))
    labels = {result.plan.number: result.label for result in results}
    assert labels == {number: "fail" if number % 2 else "pass" for number in range(1, 10)}


def test_a_damaged_file_and_one_that_is_missing(tmp_path, process):
    with process("cut") as runner:
        (cut,) = runner.run([plan(tmp_path, 2)])
    with process("fileless") as runner:
        (missing,) = runner.run([plan(tmp_path, 3)])
    assert cut.run is None and "2.run" in cut.damage
    assert missing.run is None and not missing.damage
    assert cut.record(2).threads_seen == 0


def test_damaged_notes_are_damage_too(tmp_path):
    path = tmp_path / "1.run"
    path.write_bytes(b"UNSNARL\x1a" + bytes(24))
    assert read_safely(path)[0] is None and read_safely(path)[1]
    assert read_safely(tmp_path / "2.run") == (None, "")


def test_results_that_are_dropped_do_not_come(tmp_path, process):
    with process("slow") as runner:
        runner.submit(plan(tmp_path, 1))
        runner.submit(plan(tmp_path, 2))
        assert (runner.vacant, runner.awaited) == (0, 2)
        runner.drop()
        assert runner.awaited == 0
        (result,) = runner.run([plan(tmp_path, 3)])
        cancelled = Path(f"{runner.engine.codes}.cancelled").read_text()
    assert result.plan.number == 3
    assert cancelled == "[1, 2]"


def test_a_run_that_was_dropped_is_not_repeated_by_the_next_server(tmp_path, process):
    with process("dies-once") as runner:
        runner.submit(plan(tmp_path, 1))
        runner.submit(plan(tmp_path, 2))
        runner.drop()
        (result,) = runner.run([plan(tmp_path, 3)])
    assert result.plan.number == 3
    assert not (tmp_path / "1.run").exists()
    assert not (tmp_path / "2.run").exists()


def test_the_end_of_a_dropped_trial_is_not_that_of_another(tmp_path, process):
    with process("mixed") as runner:
        first, second = (Trials(runner, tmp_path, "gil", 5.0) for _ in range(2))
        made = [*first.run(fresh_plans("x", 1)), *second.run(fresh_plans("x", 1))]
        numbers = [trial.plan.number for trial in made]
    assert len(set(numbers)) == 2


def test_a_repeated_run_starts_without_the_files_of_the_first_attempt(tmp_path, process):
    left = tmp_path / "1.run.log.3"
    left.write_bytes(b"events of a thread that the repeated run does not have")
    with process("dies-once") as runner:
        (result,) = runner.run([plan(tmp_path, 1)])
        assert runner.engine.deaths == 1
    assert result.label == "pass" and not left.exists()


def test_a_scratch_folder_goes_when_all_is_done(tmp_path, process):
    with process("pass") as runner:
        assert runner.engine.codes == tmp_path / "made" / "codes.json"
        assert runner.engine.codes.exists()
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("mode", "slug"), [("full", "disk-full"), ("says-full", "server-failed")])
def test_a_full_disk_is_recognised_by_its_number_and_not_by_a_text(process, mode, slug):
    with pytest.raises(UnsnarlError) as caught, process(mode):
        pass
    assert caught.value.slug == slug


@pytest.mark.parametrize("errno", [0, 28])
def test_a_target_that_could_not_write_makes_the_campaign_ask(tmp_path, monkeypatch, errno):
    asked = []
    monkeypatch.setattr(Store, "check_room", lambda store: asked.append(store.name))
    store = Store.create(tmp_path, ("a.py",), tmp_path, tmp_path, options={}, python="3.11.7")
    failure = Failure("exception", "OSError", "[Errno 28] No space left", errno=errno)
    result = Result(plan(tmp_path, 1), Done(1, 1), Judgement("fail", "OSError", failure), object())
    Campaign(store, None, Settings())._check_room(result)
    assert len(asked) == bool(errno)


def test_nothing_lives_on_when_a_server_is_killed():
    process = subprocess.Popen(
        [sys.executable, "-c", FORKING], stdout=subprocess.PIPE, start_new_session=True
    )
    with process.stdout:
        assert process.stdout.readline() == b"ready\n"
    assert len(descendants(process.pid)) == 3
    made = object.__new__(Server)
    made.process, made.socket = process, process.stdout
    start = time.monotonic()
    made.kill()
    assert not descendants(process.pid)
    assert time.monotonic() - start < 100  # they sleep for longer


def hunted(tmp_path, process, proves=True, **settings):
    """Failing and passing runs of a hunt in which one run in eight fails, one at a time."""
    store = Store.create(tmp_path, ("a.py",), tmp_path, tmp_path, options={}, python="3.11.7")
    with process("rarely", jobs=1) as runner:
        target = runner.engine.target
        campaign = Campaign(store, target, Settings(jobs=1, switch="gil", **settings))
        assert campaign.run(runner, proves=proves) == "enough"
    store.close()
    return campaign.tally.labels["fail"], campaign.tally.total


def test_a_hunt_of_rare_failures_ends_with_fewer_if_experiments_follow(tmp_path, process):
    failing, runs = hunted(tmp_path, process)
    assert failing == 15 and runs >= 100
    assert hunted(tmp_path, process, proves=False)[0] == 25
    assert hunted(tmp_path, process, fail=30)[0] == 30
    assert hunted(tmp_path, process, fail=5)[0] == 5


def test_time_runs_since_the_hunt_was_begun(tmp_path, process):
    """What came before the first run counts; one run is made in any case."""
    store = Store.create(tmp_path, ("a.py",), tmp_path, tmp_path, options={}, python="3.11.7")
    with process("rarely", jobs=1) as runner:
        settings = Settings(jobs=1, switch="gil", time=500)
        campaign = Campaign(store, runner.engine.target, settings)
        assert campaign.run(runner, begun=time.monotonic() - 500) == "time"
    store.close()
    assert campaign.tally.total <= 1


def test_what_there_was_no_time_for_is_noted(tmp_path, process):
    ticks = iter(range(1000))
    budget = Budget(30, clock=lambda: next(ticks))
    with process("mixed", jobs=1) as runner:
        trials = Trials(runner, tmp_path, "gil", 5.0, budget)
        made = trials.some(fresh_plans("x", 500), "replaying")
    assert 0 < len(made) < 500 and trials.count == len(made)
    (missing,) = budget.unfinished
    assert (missing.why, missing.what) == ("time", f"replaying: {len(made)} of 500 runs were made")


def test_ctrl_c_ends_trials_like_the_time(tmp_path, process):
    counted = []

    def count(activity):
        counted.append(activity)
        if len(counted) == 4:
            raise KeyboardInterrupt

    budget = Budget(on_change=count)
    with process("mixed", jobs=1) as runner:
        made = Trials(runner, tmp_path, "gil", 5.0, budget).some(fresh_plans("x", 9), "replaying")
    assert len(made) == 3 and budget.is_interrupted
    assert [one.why for one in budget.unfinished] == ["interrupted"]


def test_trials_end_where_enough_is_seen_whatever_ended_first(tmp_path, process):
    with process("mixed") as runner:
        trials = Trials(runner, tmp_path, "gil", 5.0)
        plans = fresh_plans("x", 30)
        whole = [trial.label for trial in trials.run(plans)]
        first = whole.index("fail")
        some = trials.run(plans, until=lambda made: made[-1].label == "fail")
        assert [trial.label for trial in some] == whole[: first + 1]
        assert trials.count == len(plans) + first + 1
        # The runs that were dropped do not disturb those that come after them.
        assert [trial.label for trial in trials.run(plans)] == whole
