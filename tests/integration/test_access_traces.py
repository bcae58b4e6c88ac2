# SPDX-License-Identifier: Apache-2.0
"""Access traces of real runs: the tracker makes the run's own graph again from its trace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.integration.compiling import FAMILIES
from tests.integration.in_process import called
from tests.integration.interpreters import PYTHON
from tests.integration.native_programs import build
from tests.integration.server_client import Client

from unsnarl.model.access_trace import ACCESSES, EventKind, options_of
from unsnarl.model.plan import Plan
from unsnarl.runfile import pieces, read_run
from unsnarl.traces import files
from unsnarl.traces.files import Trace
from unsnarl.traces.offline import LINES, track

# What its threads do is drawn from the run's own seed, so every seed is another program.
RANDOM = """\
import random, threading

class Box:
    value = 0

boxes = [Box() for _ in range(3)]
numbers = [0] * 8
table = {}
locks = [threading.Lock(), threading.RLock()]

def step(draw, most=9):
    box = draw.choice(boxes)
    what = draw.randrange(most)
    if what == 0:
        box.value += 1
    elif what == 1:
        box.value
    elif what == 2:
        numbers[draw.randrange(8)] += 1
    elif what == 3:
        len(numbers)
    elif what == 4:
        table[draw.randrange(3)] = box
    elif what == 5:
        table.get(draw.randrange(3))
    elif what == 6:
        boxes[draw.randrange(3)] = Box()
    else:
        with draw.choice(locks):
            step(draw, 7)  # none inside another: nobody waits for ever

def work(seed):
    draw = random.Random(seed)
    for _ in range(draw.randrange(40)):
        step(draw)

def main():
    seeds = [random.random() for _ in range(random.randrange(2, 6))]
    threads = [threading.Thread(target=work, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

main()
"""
KEY = ("source_point", "sink_point", "source_context", "sink_context")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("random")
    (folder / "program.py").write_text(RANDOM)
    client = Client(folder, "script", "program.py")
    yield client
    client.close()


def same_graph(run, trace):
    tracked = track(trace)
    online, offline = (np.sort(rows, order=KEY) for rows in (run.edges, tracked.edges))
    np.testing.assert_array_equal(online, offline)
    np.testing.assert_array_equal(np.sort(run.patterns), np.sort(tracked.patterns))


plans = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**31),
        "strategy": st.sampled_from(["walk", "pct", "pos", "free", "noise", "record"]),
        "switch": st.sampled_from(["gil", "free"]),
        "context_size": st.integers(0, 5),
        "first_read": st.booleans(),
        "first_write": st.sampled_from(["off", "paper", "shared"]),
        "anti_edges": st.booleans(),
        "own_reads": st.booleans(),
        "window_size": st.sampled_from([0, 2, 5]),
        "granularity": st.sampled_from(["cell", "object"]),
    }
)


@given(plans)
@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_the_offline_tracker_makes_the_graph_of_the_run(server, plan):
    level = {"level": "access"} if plan["strategy"] == "record" else {}
    server.run(1, accesses=True, **plan, **level)
    path = Path(server.path(1, "run"))
    assert pieces.events_path(path).exists()
    stored = files.gather(path, options_of(Plan(**plan)))
    assert stored is not None
    run = read_run(path)
    pieces.discard(path)
    same_graph(run, Trace(stored.path))


def test_writing_accesses_down_changes_nothing(tmp_path):
    """The same schedule, and the same graph but for the times."""
    # Where new objects lie depends on the server's earlier runs, and addresses are reused.
    (tmp_path / "program.py").write_text(RANDOM.replace("= Box()\n", "= box\n"))
    server = Client(tmp_path, "script", "program.py")
    found = []
    for accesses in (False, True):
        server.run(2, seed=77, accesses=accesses)
        run = read_run(server.path(2, "run"))
        edges = np.sort(run.edges[[*KEY, "source_thread", "sink_thread", "count"]], order=KEY)
        found.append((run.schedule, edges.tolist()))
    server.close()
    assert found[0][1]
    assert found[0] == found[1]


@pytest.mark.parametrize(("anti_edges", "own_reads"), [(False, True), (False, False)])
def test_the_papers_graph_has_no_edges_from_reads(server, anti_edges, own_reads):
    """Sources are writes alone (Bugaboo 4.1): reads are none, whoever made them."""

    def sources(**changes):
        server.run(3, seed=5, **changes)
        return {
            point & 15 for point in read_run(server.path(3, "run")).edges["source_point"].tolist()
        }

    assert 0 in sources()
    assert 0 not in sources(anti_edges=anti_edges, own_reads=own_reads)


def test_own_reads_can_be_left_out_alone(server):
    def edges(**changes):
        total = 0
        for seed in range(10):
            server.run(4, seed=seed, **changes)
            total += len(read_run(server.path(4, "run")).edges)
        return total

    assert edges(anti_edges=False, own_reads=False) < edges(own_reads=False) < edges()


# ---- through the command

COUNTING = """\
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
long total, other[64];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *seed) {
    for (int i = 0; i < 200; i++) {
        total++;
        other[(i * 7 + (long)seed) % 64]++;
        if (i % 10 == 0) {
            pthread_mutex_lock(&lock);
            long *block = malloc(100);
            memset(block, 1, 100);
            total += block[3];
            free(block);
            pthread_mutex_unlock(&lock);
        }
    }
    return 0;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"""


def recorded(folder, *words):
    done = called(folder, "record", "--json", "answer.json", "--level", "access", "--all", *words)
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads((folder / "answer.json").read_text())
    return answer["record"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_free_run_of_a_c_program(tmp_path, family):
    (tmp_path / "counting.c").write_text(COUNTING)
    compiler = FAMILIES[family]["UNSNARL_CC"]
    build(tmp_path, str(tmp_path / "counting.c"), compiler=compiler)
    record = recorded(tmp_path, "--", "./counting")
    trace = Trace(record["trace"]["file"])
    assert trace.events == record["trace"]["events"]
    assert record["trace"]["dropped"] == 0
    run = read_run(trace.path.with_suffix(".run"))
    assert run.record is not None
    same_graph(run, trace)
    rows = np.concatenate(list(trace.blocks()))
    data = rows[np.isin(rows["kind"], [EventKind.READ, EventKind.WRITE])]
    # 200 times two variables, each read and written, by three threads.
    assert len(data) >= 3 * 200 * 4
    lines = np.unique(data["address"][data["address"] < 2**63] >> 6)
    assert len(lines) >= 512 // 64
    # A free run is not switched, but its events have one order.
    assert np.all(np.diff(rows["time"].astype(np.int64)) > 0)
    assert len(track(trace, bits=LINES).edges)


def test_a_run_that_is_killed_leaves_a_trace(tmp_path):
    text = RANDOM + "\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    (tmp_path / "program.py").write_text(text)
    record = recorded(tmp_path, "--", PYTHON, "program.py")
    rows = np.concatenate(list(Trace(record["trace"]["file"]).blocks()))
    assert np.isin(rows["kind"], ACCESSES).sum() > 10


def test_a_hunt_keeps_the_traces_of_the_runs_that_it_keeps(tmp_path):
    shutil.copy(Path("zoo/python/bank/bank.py").resolve(), tmp_path / "bank.py")
    words = ("--accesses", "--no-anti-edges", "--no-own-reads", "--no-confirm", "--fail", "2")
    done = called(tmp_path, "hunt", *words, "--pass", "2", "--", PYTHON, "bank.py")
    assert done.returncode == 1, done.stderr
    (folder,) = (tmp_path / ".unsnarl").glob("2*/runs")
    runs = sorted(path.stem for path in folder.glob("*.run"))
    assert runs == sorted(path.stem for path in folder.glob("*.trace"))
    assert not list(folder.glob("*.events.*"))
    for number in runs:
        trace = Trace(folder / f"{number}.trace")
        assert not trace.options.anti_edges
        same_graph(read_run(folder / f"{number}.run"), trace)


def test_all_is_for_accesses(tmp_path):
    (tmp_path / "program.py").write_text(RANDOM)
    done = called(tmp_path, "record", "--all", "--", PYTHON, "program.py")
    assert done.returncode == 2
    assert "--level access" in done.stderr
