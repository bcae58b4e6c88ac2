# SPDX-License-Identifier: Apache-2.0
"""A recorded schedule, followed again, leads to the same failure every time."""

import shutil
from pathlib import Path

import msgspec
import pytest
from tests.integration.test_server import Client

from unsnarl.campaigns.engine import Done
from unsnarl.campaigns.labels import Labeller
from unsnarl.campaigns.profile import waiting_frames
from unsnarl.runfile.reader import read_run

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
    waiting = waiting_frames(run, client.folder / "codes.json", client.folder) if run.waits else ()
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


@pytest.mark.parametrize("name, kind, file, switch", SUBJECTS, ids=[row[0] for row in SUBJECTS])
def test_a_failing_run_fails_again_whenever_it_is_replayed(start, name, kind, file, switch):
    client = start(name, kind, file)
    number, wanted = failing_run(client, switch)
    schedule = schedule_of(client, number)
    for replay in range(1000, 1000 + REPLAYS):
        plan = {"strategy": "replay", "switch": switch, "schedule": schedule, "seed": number}
        done = client.run(replay, **plan)
        assert signature(client, done, replay) == wanted
        assert read_run(client.path(replay, "run")).counters["diverged"] == 0
        assert schedule_of(client, replay) == schedule


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
