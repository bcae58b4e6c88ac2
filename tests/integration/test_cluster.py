# SPDX-License-Identifier: Apache-2.0
"""Runs on a cluster of dask, whose workers are processes of this machine."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.integration.in_process import called
from tests.integration.test_shards import newest, rows, write_project

from unsnarl.campaigns.store import Store
from unsnarl.config import Settings
from unsnarl.errors import UnsnarlError
from unsnarl.execution import target
from unsnarl.execution.cluster.engine import ClusterEngine
from unsnarl.execution.runner import Runner, started
from unsnarl.execution.server import descendants
from unsnarl.reports.render import json

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.cluster import kill_workers, plans

pytestmark = pytest.mark.slow
PROGRAM = """
import os
import threading

box = []

def work():
    box.append(os.getppid())

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(os.getppid())
"""


@pytest.fixture(scope="module")
def cluster():
    """Two workers that several tests share."""
    import distributed

    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    )
    yield made
    made.close()


@pytest.fixture
def counting(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "counting.py").write_text(PROGRAM)
    return tmp_path


def runs_on(folder, address):
    found = target.parse(("python", "counting.py"), folder)
    return started(found, folder, Settings(), jobs=2, cluster=address)


def test_the_target_never_runs_inside_a_worker(counting, cluster):
    workers = {info["pid"] for info in pids(cluster)}
    with runs_on(counting, cluster.scheduler_address) as runner:
        results = list(runner.run(plans(counting, 6)))
        parents = {int((counting / f"{one.plan.number}.out").read_text()) for one in results}
    assert [one.judgement.label for one in results] == ["pass"] * 6
    # Forks of a fork server, which a host has started, which a worker has started.
    assert not parents & workers


def pids(cluster):
    return [{"pid": worker.process.pid} for worker in cluster.workers.values() if worker.process]


def test_a_run_is_the_same_on_a_cluster_and_here(counting, cluster):
    files = []
    for address in ("", cluster.scheduler_address):
        with runs_on(counting, address) as runner:
            results = sorted(runner.run(plans(counting, 5)), key=lambda one: one.plan.number)
            files.append([[tuple(row) for row in one.run.segments.tolist()] for one in results])
    assert files[0] == files[1]


def test_killed_workers_lose_nothing(counting):
    with runs_on(counting, "local") as runner:
        done = threading.Event()
        killer = threading.Thread(target=kill_workers, args=(runner, 3, done.set))
        killer.start()
        seen, made = [], 0
        while made < 60 or not done.is_set():
            some = plans(counting, made + 20)[made:]
            seen += [(one.plan.number, one.judgement.label) for one in runner.run(some)]
            made += 20
        killer.join()
    assert sorted(seen) == [(number, "pass") for number in range(1, made + 1)]


def test_runs_that_nobody_wants_any_more_make_room(counting, cluster):
    with runs_on(counting, cluster.scheduler_address) as runner:
        for plan in plans(counting, 4):
            runner.submit(plan)
        before = runner.vacant
        runner.drop()
        assert runner.vacant == before + 4
        (last,) = runner.run(plans(counting, 5)[4:])
        assert last.judgement.label == "pass"


def test_hosts_end_with_the_hunt_and_with_their_worker(counting, cluster):
    with runs_on(counting, cluster.scheduler_address) as runner:
        list(runner.run(plans(counting, 2)))
        assert hosts()
        engine = runner.engine
        assert isinstance(engine, ClusterEngine)
    wait_until(lambda: not hosts())


def hosts() -> list[int]:
    """The hosts below this process: other tests have theirs."""
    return [pid for pid in descendants(os.getpid()) if is_host(Path(f"/proc/{pid}/cmdline"))]


def is_host(command: Path) -> bool:
    try:
        return b"unsnarl.execution.cluster.host" in command.read_bytes()
    except OSError:
        return False


def wait_until(condition) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_a_hunt_on_a_cluster_is_that_of_its_shards_late_code_and_all(tmp_path, cluster):
    here = write_project(tmp_path / "project")
    flags = ("--max-runs", 50, "--fail", 99, "--pass", 99, "--switch", "free", "--no-confirm")
    command = ("--", "python", "box.py")
    there = ("--cluster", cluster.scheduler_address)
    done = called(here, "hunt", *there, *flags, *command)
    assert done.returncode == 1, done.stderr
    on_cluster = newest(here)
    called(here, "hunt", "--shard", "1/1", *flags, *command)
    assert rows(on_cluster) == rows(newest(here))
    findings = [
        json.decode((one / "report.json").read_bytes()).failures[0].findings
        for one in (on_cluster, newest(here))
    ]
    assert findings[0] == findings[1]
    Store.open(on_cluster).close()


def test_what_cannot_be_started_is_said_as_it_is_here(tmp_path, cluster):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    done = called(tmp_path, "hunt", "--cluster", cluster.scheduler_address, "--", "python",
                  "broken.py")  # fmt: skip
    here = called(tmp_path, "hunt", "--", "python", "broken.py")
    assert (done.returncode, done.stderr.splitlines()[:1]) == (
        here.returncode, here.stderr.splitlines()[:1],
    )  # fmt: skip


def test_a_cluster_that_nobody_started_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("unsnarl.execution.cluster.engine.CONNECT_SECONDS", 0.5)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "some.py").write_text("import threading\n")
    done = called(tmp_path, "hunt", "--cluster", "tcp://127.0.0.1:1", "--", "python", "some.py")
    assert done.returncode == 3
    assert "cluster-failed" in done.stderr


def test_a_worker_with_other_code_is_refused(counting, cluster):
    with runs_on(counting, cluster.scheduler_address) as runner:
        engine = runner.engine
        assert isinstance(runner, Runner)
        assert isinstance(engine, ClusterEngine)
        engine._digest = b"another"
        with pytest.raises(UnsnarlError, match="other code"):
            list(runner.run(plans(counting, 1)))
