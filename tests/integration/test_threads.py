# SPDX-License-Identifier: Apache-2.0
"""Programs that use threads in every usual way end under the gate as they end without it.

Each prints the same whatever the schedule, so its plain output is the expected one.
"""

import json
import subprocess
import sys
import time
from textwrap import dedent

import pytest
from tests.integration.interpreters import PYTHON
from tests.integration.test_server import Client, plain
from tests.integration.thread_programs import MODULES, PROGRAMS

from unsnarl.runfile import SiteTable
from unsnarl.runfile.reader import read_run

pytestmark = pytest.mark.core

STRATEGIES = ("walk", "pos", "pct", "surw", "noise", "free")
DYING = """
import threading

def work(n):
    if n:
        raise LookupError(n)

threads = [threading.Thread(target=work, args=(n,), name=f"t{n}") for n in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("main goes on")
"""
POLLING = """
import threading, time

done = False

def work():
    global done
    start = time.monotonic()
    time.sleep(40)
    assert 40 <= time.monotonic() - start < 45
    done = True

t = threading.Thread(target=work)
t.start()
while not done:
    time.sleep(0.5)
t.join()
print("done")
"""
STARTING = """
import threading

class Service:
    thread = None

    def open(self):
        self.thread = threading.Thread(target=int)
        self.thread.start()

    def close(self):
        if self.thread is not None:
            self.thread.join()

service = Service()
users = [threading.Thread(target=f) for f in (service.open, service.close)]
for user in users:
    user.start()
for user in users:
    user.join()
"""
CLOCKS = """
import logging, threading, time, warnings
from datetime import datetime, timedelta, timezone
from time import clock_gettime, gmtime, localtime, mktime

warnings.simplefilter("ignore")  # utcnow is deprecated

class Later(datetime):
    pass

def readings():
    utc = datetime.now(timezone.utc)
    return [
        datetime.now().timestamp(),
        utc.timestamp(),
        datetime.now(tz=timezone(timedelta(hours=5))).timestamp(),
        Later.now().timestamp(),
        datetime.utcnow().replace(tzinfo=timezone.utc).timestamp(),
        datetime.today().timestamp(),
        mktime(localtime()),
        mktime(localtime(None)),
        mktime(logging.Formatter.converter()),
        time.mktime(gmtime()) - time.timezone,
        mktime(time.strptime(time.ctime())),
        mktime(time.strptime(time.asctime())),
        mktime(time.strptime(time.strftime("%Y %m %d %H %M %S"), "%Y %m %d %H %M %S")),
        clock_gettime(time.CLOCK_REALTIME),
        time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
        clock_gettime(time.CLOCK_MONOTONIC) - time.monotonic() + time.time(),
    ]

def check():
    now = time.time()
    for number, reading in enumerate(readings()):
        assert now - 2 < reading < now + 60, (number, reading - now)
    assert type(Later.now()) is Later
    assert datetime.now(timezone.utc).utcoffset() == timedelta(0)

check()
before = clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)
sleeper = threading.Thread(target=time.sleep, args=(100000,))  # C code, without a frame of ours
sleeper.start()
sleeper.join()
check()
assert clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID) - before < 100000
for wrong in (lambda: datetime.now(1), lambda: datetime.now(zone=None), lambda: localtime("x"),
              lambda: time.asctime(None), lambda: clock_gettime("x")):
    try:
        wrong()
    except TypeError:
        continue
    raise AssertionError("no error")
print("done")
"""


@pytest.fixture
def client(tmp_path):
    clients = []

    def make(source):
        for name, text in {**MODULES, "subject": source}.items():
            (tmp_path / f"{name}.py").write_text(dedent(text))
        clients.append(Client(tmp_path, "script", "subject.py"))
        return clients[-1]

    yield make
    for one in clients:
        one.close()


def plans(rounds):
    """Every strategy in both switching modes."""
    return [
        {"strategy": strategy, "switch": switch, "seed": 17 * round_ + 1}
        for round_ in range(rounds)
        for strategy in STRATEGIES
        for switch in ("gil", "free")
    ]


def threads_of(client, number):
    return read_run(client.path(number, "run")).threads


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_ends_as_it_does_in_plain_python(client, tmp_path, name):
    server = client(PROGRAMS[name])
    status, output = plain(tmp_path, "subject.py")
    assert status == 0, output
    for number, plan in enumerate(plans(rounds=2), start=1):
        done = server.run(number, **plan)
        assert (done["status"], server.output(number)) == (0, output), (plan, done)
        assert server.failures(number) == (), plan
        if plan["strategy"] not in ("noise", "free"):
            assert all(thread.controlled for thread in threads_of(server, number)), plan


def test_a_thread_that_dies_is_a_failure_in_every_strategy(client, tmp_path):
    server = client(DYING)
    for number, plan in enumerate(plans(rounds=1), start=1):
        done = server.run(number, **plan)
        assert done["status"] == 0
        assert "main goes on" in server.output(number)
        (failure,) = server.failures(number)
        assert (failure.type, failure.message, failure.thread) == ("LookupError", "1", "0.2"), plan


def test_virtual_time_makes_polling_fast(client, tmp_path):
    server = client(POLLING)
    for number, strategy in enumerate(("walk", "pos", "pct", "surw"), start=1):
        begin = time.monotonic()
        assert server.run(number, strategy=strategy)["status"] == 0
        assert time.monotonic() - begin < 40  # what it would take in real time
        assert server.output(number) == "done\n"


def test_all_clocks_agree_on_virtual_time(client):
    server = client(CLOCKS)
    assert server.run(1, strategy="walk")["status"] == 0, server.output(1)
    assert server.output(1) == "done\n"


def test_a_hunt_controls_every_thread(tmp_path):
    (tmp_path / "subject.py").write_text(dedent(PROGRAMS["executor_nested"]))
    command = ["hunt", "--max-runs", "30", "--json", "--", PYTHON, "subject.py"]
    done = subprocess.run(
        [sys.executable, "-m", "unsnarl", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    assert (done.returncode, report["failures"], report["runs"]["pass"]) == (0, [], 30)
    seen = report["instrumented"]
    assert seen["threads_controlled"] == seen["threads_seen"] > 4


@pytest.mark.parametrize("switch", ["gil", "free"])
def test_starting_a_thread_is_one_step(tmp_path, switch):
    # Who joins it sees one that was not started or one that runs, whatever is in between.
    (tmp_path / "starting.py").write_text(STARTING)
    client = Client(tmp_path, "script", "starting.py")
    seen = {_started_and_failed(client, seed, switch) for seed in range(1, 60)}
    client.close()
    assert {(True, False), (False, True)} <= seen <= {(True, False), (False, True), (None, False)}


def _started_and_failed(client, number, switch):
    """Whether the service's thread was started before it was joined, and whether joining failed."""
    client.run(number, seed=number, switch=switch, strategy="walk", trace=True)
    run = read_run(client.path(number, "run"))
    table = SiteTable.load(client.folder / "codes.json", client.folder)
    names = [table.site(point >> 4) for point in run.trace["point"].tolist()]
    inside = [site.name for site in names if site.function.startswith("Service.")]
    joined = "join" in inside
    started = inside.index("start") < inside.index("join") if joined else None
    return started, bool(run.failures)
