# SPDX-License-Identifier: Apache-2.0
"""A recorded schedule, followed again, leads to the same failure every time."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from tests.integration.in_process import called, proved
from tests.integration.interpreters import PYTHON
from tests.integration.test_server import Client

from unsnarl.execution.judge import waiting_frames
from unsnarl.execution.labels import Labeller
from unsnarl.execution.server import Done
from unsnarl.model.run import RunRecord
from unsnarl.replay.anchors import Anchorer, Codes, plan_of, resolve
from unsnarl.runfile import SiteTable, read_run

pytestmark = pytest.mark.core

ZOO = Path(__file__).resolve().parents[2] / "zoo" / "python"
MOST_RUNS = 150
REPLAYS = 20
SUBJECTS = [
    ("weblech", "script", "weblech.py", "gil"),
    ("workerpool", "script", "workerpool.py", "gil"),
    ("bank", "script", "bank.py", "free"),
    ("abba", "script", "abba.py", "gil"),
    ("strbuf", "pytest", "test_strbuf.py", "gil"),
]


@pytest.fixture
def start(tmp_path):
    clients = []

    def make(name, kind, file):
        shutil.copy(ZOO / name / file, tmp_path)
        clients.append(Client(tmp_path, kind, file))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def signature(client, done, number):
    """The signature that a hunt would give this run; empty for one that passed."""
    run = read_run(client.path(number, "run"))
    waiting = waiting_frames(run, SiteTable.load(client.folder / "codes.json", client.folder))
    output = Path(client.path(number, "out"))
    judged = Labeller(client.folder).label(
        msgspec.convert(done, Done), run.failures, waiting, output
    )
    return judged.signature


def failing_run(client, switch):
    """The number and the signature of the first run that fails."""
    for number in range(1, MOST_RUNS):
        strategy = ("walk", "pos", "pct")[number % 3]
        done = client.run(number, seed=number, strategy=strategy, switch=switch)
        found = signature(client, done, number)
        if found:
            return number, found
    raise AssertionError(f"nothing failed in {MOST_RUNS} runs")


def schedule_of(client, number):
    run = read_run(client.path(number, "run"))
    return [[segment.path, segment.until, segment.point] for segment in run.schedule]


def turns(schedule):
    """Which thread went on how far, one after the other.

    A thread that waits for the disk gives the others a chance. If none takes it, the thread has
    two segments in a row, on a busy machine more often than on another.
    """
    joined = []
    for path, until, point in schedule:
        if joined and joined[-1][0] == path:
            joined[-1][1] = until
        else:
            joined.append([path, until, point])
    return joined


@pytest.mark.parametrize("name, kind, file, switch", SUBJECTS, ids=[row[0] for row in SUBJECTS])
def test_a_failing_run_fails_again_whenever_it_is_replayed(start, name, kind, file, switch):
    client = start(name, kind, file)
    number, wanted = failing_run(client, switch)
    assert "join" not in wanted  # of a deadlock: those that wait for each other
    schedule = schedule_of(client, number)
    for replay in range(1000, 1000 + REPLAYS):
        plan = {"strategy": "replay", "switch": switch, "schedule": schedule, "seed": number}
        done = client.run(replay, **plan)
        assert signature(client, done, replay) == wanted
        assert read_run(client.path(replay, "run")).counters["diverged"] == 0
        assert turns(schedule_of(client, replay)) == turns(schedule)


def test_a_passing_run_passes_again(start):
    client = start("weblech", "script", "weblech.py")
    numbers = range(1, MOST_RUNS)
    passing = (n for n in numbers if not signature(client, client.run(n, seed=n), n))
    number = next(passing)
    schedule = schedule_of(client, number)
    for replay in range(1000, 1005):
        done = client.run(replay, strategy="replay", schedule=schedule, seed=number)
        assert signature(client, done, replay) == ""
        assert read_run(client.path(replay, "run")).counters["diverged"] == 0


def test_a_schedule_of_another_program_is_said_to_diverge(start, tmp_path):
    client = start("weblech", "script", "weblech.py")
    schedule = [["0.1", 5, 16], ["0.7", 3, 32], ["0.2", 900, 48]]
    done = client.run(1, strategy="replay", schedule=schedule)
    assert not done["timed_out"]
    counters = read_run(client.path(1, "run")).counters
    assert counters["diverged"] > 0 and counters["diverged_at"] > 0


def anchored(client, number, switch="gil"):
    """The anchored schedule of a run in terms of the process that made it."""
    run = read_run(client.path(number, "run"))
    codes = client.folder / "codes.json"
    record = RunRecord(number, "fail", "", "walk", number, switch, 1, 0, 0.0, 1, 1)
    schedule = Anchorer(codes, client.folder, "").schedule(record, run)
    known = Codes.load(codes, client.folder)
    resolved = {at: resolve(place, known) for at, place in enumerate(schedule.anchors)}
    return plan_of(schedule, resolved)[0]


@pytest.mark.parametrize("name, kind, file, switch", SUBJECTS, ids=[row[0] for row in SUBJECTS])
def test_an_anchored_schedule_leads_the_same_way_as_the_exact_one(start, name, kind, file, switch):
    client = start(name, kind, file)
    number, wanted = failing_run(client, switch)
    plan = {"strategy": "replay", "switch": switch, "seed": number}
    for replay in range(1000, 1010):
        done = client.run(replay, anchors=anchored(client, number, switch), **plan)
        assert signature(client, done, replay) == wanted
        assert read_run(client.path(replay, "run")).counters["diverged"] == 0
        assert turns(schedule_of(client, replay)) == turns(schedule_of(client, number))


@pytest.mark.parametrize(
    "change, segment",
    [
        (lambda rows: [["0.9", [16], 1], *rows], 1),  # no such thread
        (lambda rows: [*rows[:4], [rows[4][0], [31], 1], *rows[5:]], 5),  # never comes there
    ],
)
def test_an_anchored_schedule_that_cannot_be_followed_says_where(start, change, segment):
    client = start("weblech", "script", "weblech.py")
    number, _ = failing_run(client, "gil")
    done = client.run(1000, strategy="replay", anchors=change(anchored(client, number)))
    counters = read_run(client.path(1000, "run")).counters
    assert not done["timed_out"]
    assert counters["diverged"] and counters["diverged_segment"] == segment


def unsnarl(cwd, *arguments):
    command = [sys.executable, "-m", "unsnarl", *arguments]
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    }
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, env=environment
    )


@pytest.fixture(scope="module")
def hunted(tmp_path_factory):
    """A folder in which weblech was hunted, and the run that its report shows."""
    folder = tmp_path_factory.mktemp("hunted")
    shutil.copy(ZOO / "weblech" / "weblech.py", folder)
    options = ("--fail", "5", "--pass", "5", "--confirm", "1", f"--json={folder / 'a.json'}")
    answer = proved(folder, "hunt", *options, "--", PYTHON, "weblech.py")
    assert answer.returncode == 1, answer.stderr
    return folder, json.loads((folder / "a.json").read_text())["failures"][0]["run"]


@contextmanager
def edited(folder, old, new):
    file = folder / "weblech.py"
    source = file.read_text()
    assert old in source
    try:
        file.write_text(source.replace(old, new, 1))
        yield
    finally:
        file.write_text(source)


def test_a_run_is_repeated_in_a_new_process(hunted):
    folder, run = hunted
    codes = next(folder.glob(".unsnarl/*/codes.json"))
    before = codes.read_bytes()
    answer = unsnarl(folder, "replay", run, "--times", "20", "--json")
    told = json.loads(answer.stdout)
    assert (answer.returncode, told["failed"], told["times"]) == (1, 20, 20)
    assert (told["left"], told["changed"], told["loose"]) == (None, None, False)
    assert codes.read_bytes() == before


CLOSING = """
import queue
import threading

class Jobs:
    def __init__(self):
        self.results = []
        self.queue = queue.Queue()
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def work(self):
        while (job := self.queue.get(timeout=5)) is not None:
            self.queue.task_done()
            self.results.append(job)

    def close(self):
        for _ in self.threads:
            self.queue.put(None)
        for thread in self.threads:
            thread.join(timeout=5)

def test_all_jobs_are_done():
    jobs = Jobs()
    try:
        for job in range(2):
            jobs.queue.put(job)
        jobs.queue.join()
        assert len(jobs.results) == 2
    finally:
        jobs.close()
"""


def test_all_failing_runs_are_repeated_also_if_threads_wait_in_libraries_after_the_failure(
    tmp_path,
):
    (tmp_path / "test_jobs.py").write_text(CLOSING)
    options = ("--no-confirm", "--fail", "8", "--jobs", "2", "--seed", "1")
    hunted = called(tmp_path, "hunt", *options, "--", PYTHON, "-m", "pytest", "test_jobs.py")
    assert hunted.returncode == 1, hunted.stderr
    schedules = sorted(tmp_path.glob(".unsnarl/*/schedules/*.json"))
    assert len(schedules) >= 8
    for schedule in schedules:
        answer = called(tmp_path, "replay", int(schedule.stem), "--times", "3", "--json")
        found = json.loads(answer.stdout)
        assert (found["failed"], found["left"], found["changed"]) == (3, None, None), found


def test_the_text_tells_how_often_it_failed_and_shows_the_traceback(hunted):
    folder, run = hunted
    file = next(folder.glob(f".unsnarl/*/runs/{run}.run"))
    for name in (run, str(int(run)), f"{file.parent.parent.name}/{run}", str(file)):
        answer = unsnarl(folder, "replay", name)
        assert answer.returncode == 1, answer.stderr
        assert "failed as recorded, 1 of 1" in answer.stdout
        assert "AttributeError: 'NoneType' object has no attribute 'get_depth'" in answer.stdout


@pytest.mark.parametrize(
    "old, new",
    [
        ("import threading\n", "import threading\n\nVERSION = 1\n"),
        ("        self.url = url\n", "        self.host = len(url)\n        self.url = url\n"),
        ("    def size(self):\n", "    def size(self):\n        # how many are left\n"),
    ],
    ids=["line above", "another function", "comment"],
)
def test_a_run_is_repeated_after_an_unrelated_edit(hunted, old, new):
    folder, run = hunted
    with edited(folder, old, new):
        answer = unsnarl(folder, "replay", run, "--times", "5", "--json")
    told = json.loads(answer.stdout)
    assert (answer.returncode, told["failed"], told["left"], told["changed"]) == (1, 5, None, None)


def test_a_repaired_program_does_not_fail_and_a_function_that_is_gone_is_named(hunted):
    folder, run = hunted
    with edited(folder, "if page.get_depth()", "if page and page.get_depth()"):
        answer = unsnarl(folder, "replay", run, "--times", "3")
    assert answer.returncode == 4 and "failed as recorded in 0 of 3 replays" in answer.stdout
    renamed = edited(folder, "def dequeue(self)", "def take(self)")
    with renamed, edited(folder, "self.queue.dequeue()", "self.queue.take()"):
        answer = unsnarl(folder, "replay", run, "--json")
    changed = json.loads(answer.stdout)["changed"]
    assert changed["step"] > 0 and changed["file"] == "weblech.py"
    assert changed["message"] in (
        "there is no Queue.dequeue in weblech.py any more",
        "this line of Spider.run has changed: page = self.queue.dequeue()",
    )


@pytest.mark.parametrize(
    "arguments, slug",
    [
        (["twelve"], "no-run"),
        (["999999"], "no-run"),
        (["nowhere/1"], "no-campaign"),
        (["RUN", "--break", "99"], "no-step"),
        (["PASSING"], "no-schedule"),
        (["RUN", "--times", "0"], ""),
    ],
)
def test_bad_input_is_refused(hunted, arguments, slug):
    folder, run = hunted
    failing = {path.stem for path in folder.glob(".unsnarl/*/schedules/*.json")}
    passing = next(p.stem for p in folder.glob(".unsnarl/*/runs/*.run") if p.stem not in failing)
    words = [{"RUN": run, "PASSING": passing}.get(word, word) for word in arguments]
    answer = unsnarl(folder, "replay", *words)
    assert answer.returncode == 2 and f"[{slug}]" in answer.stderr + "[]"


class Terminal:
    """A command at a terminal, and somebody who types."""

    def __init__(self, cwd, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            os.execv(PYTHON, [sys.executable, "-m", "unsnarl", *arguments])

    def read(self, pattern=None, seconds=240):
        """What comes until the pattern, or the end."""
        seen, limit = "", time.monotonic() + seconds
        while time.monotonic() < limit and not (pattern and re.search(pattern, seen)):
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    seen += os.read(self.fd, 4096).decode()
                except OSError:  # the other end is closed
                    break
        return seen

    def end(self):
        seen = self.read()
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return seen, os.waitstatus_to_exitcode(status)


def test_a_debugger_stops_before_the_decisive_access_with_the_others_held(hunted):
    folder, run = hunted
    terminal = Terminal(folder, "replay", run, "--pdb")
    banner = terminal.read(r"\(Pdb\) ")
    assert "is about to read in Queue.dequeue, weblech.py:35; all other threads are held" in banner
    # Whether the other spider has already ended depends on the run.
    assert "held: MainThread" in banner and "-> if self.qsize == 0:" in banner
    os.write(terminal.fd, b"p self.qsize\n")
    assert "0\r\n" in terminal.read(r"\r\n0\r\n\(Pdb\) ")
    time.sleep(0.2)  # for longer than a thread may be silent before it counts as blocked
    os.write(terminal.fd, b"next\n")
    assert "-> return None" in terminal.read(r"return None\r\n\(Pdb\) ")
    os.write(terminal.fd, b"continue\n")
    seen, code = terminal.end()
    assert "failed as recorded: AttributeError in weblech.py:Spider.run" in seen
    assert code == 1


def test_a_debugger_stops_at_a_step_and_can_be_left(hunted):
    folder, run = hunted
    terminal = Terminal(folder, "replay", run, "--break", "1")
    assert "is about to read in Queue.size, weblech.py:31" in terminal.read(r"\(Pdb\) ")
    os.write(terminal.fd, b"quit\n")
    seen, code = terminal.end()
    assert "the run was left" in seen and code == 4


def test_a_debugger_stops_before_the_acquire_that_closes_a_deadlock(tmp_path):
    shutil.copy(ZOO / "abba" / "abba.py", tmp_path)
    options = ("--fail", "3", "--pass", "3", "--confirm", "1", f"--json={tmp_path / 'a.json'}")
    proved(tmp_path, "hunt", *options, "--", PYTHON, "abba.py")
    run = json.loads((tmp_path / "a.json").read_text())["failures"][0]["run"]
    terminal = Terminal(tmp_path, "replay", run, "--pdb")
    banner = terminal.read(r"\(Pdb\) ")
    assert "is about to acquire in transfer, abba.py:15" in banner
    os.write(terminal.fd, b"continue\n")
    seen, code = terminal.end()
    assert "failed as recorded: deadlock: abba.py:transfer" in seen and code == 1
