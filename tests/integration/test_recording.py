# SPDX-License-Identifier: Apache-2.0
"""`unsnarl record`: what free runs of C and Python programs leave behind, however they end."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from tests.integration.compiling import FAMILIES
from tests.integration.in_process import called
from tests.integration.interpreters import PYTHON
from tests.integration.native_programs import build

from unsnarl.model.event import Op
from unsnarl.recording.clocks import machine, stored
from unsnarl.runfile import SiteTable, pieces, read_run

LEVELS = ("sync", "func", "loop", "funcloop", "block", "access")
ROUNDS = 500
# What each level has beside operations on locks and threads.
KINDS = {
    "sync": set(),
    "func": {Op.ENTER, Op.EXIT},
    "loop": {Op.BLOCK},
    "funcloop": {Op.ENTER, Op.EXIT, Op.BLOCK},
    "block": {Op.BLOCK},
    "access": {Op.READ, Op.WRITE},
}
SYNC = {Op.ACQUIRE, Op.RELEASE, Op.START, Op.BEGIN, Op.END, Op.JOIN}

ADDING = """\
import os, signal, sys, threading

lock = threading.Lock()
total = 0

def add(amount):
    global total
    total += amount

def work():
    for _ in range(50):
        with lock:
            add(1)

threads = [threading.Thread(target=work) for _ in range(int(sys.argv[1]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
how = sys.argv[2]
if how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if how == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
if how == "exit":
    os._exit(3)
if how == "raise":
    raise ValueError(total)
if how == "fork":
    if not os.fork():
        work()
        os._exit(0)
    os.wait()
print(total)
"""


def record(folder, *words):
    return called(folder, "record", *words)


def recorded(folder, *words):
    """The answer of a recording, and its run."""
    done = record(folder, "--json", "answer.json", *words)
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads((folder / "answer.json").read_text())
    path = folder / ".unsnarl" / answer["campaign"] / "runs" / "000001.run"
    return answer, read_run(path)


def ops(run):
    """How often each operation was logged, by thread path."""
    return {
        thread.path: Counter(Op(point & 15) for point in thread.events["point"].tolist())
        for thread in run.record.threads
    }


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return build(tmp_path_factory.mktemp("records"), "records.c", "--loops")


@pytest.mark.parametrize("order", ["clocks", "global"])
@pytest.mark.parametrize("level", LEVELS)
def test_levels_and_orders_of_c(program, level, order):
    answer, run = recorded(program.parent, "--level", level, "--order", order, "--", program, "2")
    found = ops(run)
    assert answer["record"]["label"] == "pass"
    for path in ("0.1", "0.2"):
        assert found[path][Op.ACQUIRE] == found[path][Op.RELEASE] == ROUNDS
        assert found[path][Op.BEGIN] == found[path][Op.END] == 1
    assert found["0"][Op.START] == found["0"][Op.JOIN] == 2
    seen = set().union(*found.values())
    assert seen - SYNC == KINDS[level]
    if "func" in level:
        # `add` is called in each round, `work` once.
        assert found["0.1"][Op.ENTER] == found["0.1"][Op.EXIT] == ROUNDS + 1
    if "loop" in level:
        assert found["0.1"][Op.BLOCK] == ROUNDS - 1
    if level == "access":
        assert found["0.1"][Op.WRITE] == ROUNDS


@pytest.mark.parametrize("order", ["clocks", "global"])
@pytest.mark.parametrize("level", LEVELS)
def test_levels_and_orders_of_python(tmp_path, level, order):
    (tmp_path / "adding.py").write_text(ADDING)
    words = ("--level", level, "--order", order, "--", PYTHON, "adding.py", "2", "")
    _, run = recorded(tmp_path, *words)
    found = ops(run)
    for path in ("0.1", "0.2"):
        assert found[path][Op.ACQUIRE] == found[path][Op.RELEASE] == 50
    assert found["0"][Op.START] == found["0"][Op.JOIN] == 2
    assert set().union(*found.values()) - SYNC - {Op.CALL} == KINDS[level]
    assert found["0"][Op.CALL] == (2 if level == "access" else 0)  # of start()
    if "func" in level:
        assert found["0.1"][Op.ENTER] == found["0.1"][Op.EXIT] == 51
    if "loop" in level:
        assert found["0.1"][Op.BLOCK] == 50
    if level == "block":
        assert found["0.1"][Op.BLOCK] >= 3 * 50
    if level == "access":
        assert found["0.1"][Op.WRITE] == 50


def times(run):
    """When the sections of the lock began and ended, all threads together."""
    return sorted(
        (int(acquired), int(released))
        for thread in run.record.threads
        for acquired, released in zip(
            thread.events["stamp"][thread.events["point"] & 15 == Op.ACQUIRE],
            thread.events["stamp"][thread.events["point"] & 15 == Op.RELEASE],
            strict=True,
        )
    )


def test_a_global_order_numbers_all_events_once(program):
    _, run = recorded(program.parent, "--level", "func", "--order", "global", "--", program, "4")
    stamps = np.concatenate([thread.events["stamp"] for thread in run.record.threads])
    assert sorted(stamps.tolist()) == list(range(1, len(stamps) + 1))
    sections = times(run)
    assert len(sections) == 4 * ROUNDS
    assert all(one[1] < other[0] for one, other in itertools.pairwise(sections))


def test_critical_sections_do_not_overlap_by_the_clocks(program):
    _, run = recorded(program.parent, "--level", "sync", "--", program, "4")
    sections, widest = times(run), 1000  # ticks: far more than the clocks of a machine differ
    assert len(sections) == 4 * ROUNDS
    for one, other in itertools.pairwise(sections):
        assert one[1] < other[0] + widest


@pytest.mark.parametrize(
    ("how", "signature"),
    [
        ("crash", "SIGSEGV in native/records.c:end [*nowhere = 1;]"),
        ("kill", "SIGKILL"),
        ("abort", "SIGABRT"),
        ("exit", "exit status 3"),
        ("assert", "assert in native/records.c:end [assert(total < 0);]: total < N"),
    ],
)
def test_nothing_is_lost_however_a_program_ends(program, how, signature):
    answer, run = recorded(program.parent, "--level", "func", "--", program, "2", how)
    assert answer["record"]["signature"] == signature
    found = ops(run)
    assert found["0.1"][Op.ENTER] == found["0.2"][Op.EXIT] == ROUNDS + 1
    assert [thread.path for thread in run.threads] == ["0", "0.1", "0.2"]
    assert found["0"][Op.JOIN] == 2


@pytest.mark.parametrize(
    ("how", "signature"),
    [
        ("crash", "SIGSEGV"),
        ("kill", "SIGKILL"),
        ("exit", "exit status 3 in adding.py:<module> [os._exit(3)]"),
        ("raise", "ValueError in adding.py:<module> [raise ValueError(total)]: N"),
    ],
)
def test_nothing_is_lost_however_python_ends(tmp_path, how, signature):
    (tmp_path / "adding.py").write_text(ADDING)
    words = ("--level", "func", "--", PYTHON, "adding.py", "2", how)
    answer, run = recorded(tmp_path, *words)
    assert answer["record"]["signature"] == signature
    assert ops(run)["0.2"][Op.EXIT] == 51
    assert [thread.path for thread in run.threads] == ["0", "0.1", "0.2"]


@pytest.mark.parametrize(
    ("source", "arguments", "begins"),
    [
        ("records.c", ("2", "crash"), "SIGSEGV in native/records.c:end [*nowhere = 1;]"),
        ("records.c", ("2", "assert"), "assert in native/records.c:end"),
        ("throws.cpp", (), "OutOfLuck in native/throws.cpp:"),
    ],
)
def test_failures_are_called_alike_when_hunted(tmp_path, source, arguments, begins):
    """Else nobody could tell whether a replay has the recorded failure."""
    made = build(tmp_path, source)
    told = {}
    for level in ("sync", "access"):
        words = ("--noise", "--until-fail", "5000", "--level", level, "--json", f"{level}.json")
        assert record(tmp_path, *words, "--", made, *arguments).returncode == 1
        told[level] = json.loads((tmp_path / f"{level}.json").read_text())["record"]["signature"]
    words = ("--no-confirm", "--fail", "1", "--pass", "1", "--max-runs", "20", "--json", "h")
    called(tmp_path, "hunt", *words, "--", made, *arguments)
    (failure, *_) = json.loads((tmp_path / "h").read_text())["failures"]
    assert told["sync"] == told["access"] == failure["signature"]
    assert failure["signature"].startswith(begins)


def test_a_forked_copy_logs_nothing(program, tmp_path):
    _, run = recorded(program.parent, "--level", "sync", "--", program, "1", "fork")
    assert ops(run)["0"][Op.ACQUIRE] == 0
    (tmp_path / "adding.py").write_text(ADDING)
    _, run = recorded(tmp_path, "--level", "sync", "--", PYTHON, "adding.py", "1", "fork")
    assert ops(run)["0"][Op.ACQUIRE] < 50  # those of starting a thread


def test_many_threads(program):
    answer, run = recorded(program.parent, "--level", "sync", "--", program, "200")
    assert len(run.record.threads) == 201
    assert answer["record"]["dropped"] == 0
    assert sum(found[Op.ACQUIRE] for found in ops(run).values()) == 200 * ROUNDS


def test_logs_grow_beyond_their_first_chunk(program):
    words = ("--level", "access", "--values", "--", program, "2", "", "20000")
    _, run = recorded(program.parent, *words)
    for thread in run.record.threads[1:]:
        found = Counter(Op(point & 15) for point in thread.events["point"].tolist())
        # It reads how many rounds there are, too.
        assert (found[Op.ACQUIRE], found[Op.READ], found[Op.WRITE]) == (20000, 40001, 20000)
        assert thread.events.nbytes > 1 << 20  # the first chunk has 16 KiB
        assert np.all(np.diff(thread.values["position"].astype(np.int64)) >= 0)
        assert len(thread.values) == len(thread.events) - 2  # its begin and its end
    assert not pieces.paths(run.path)


def test_results_are_unchanged(program):
    plain = subprocess.run([program, "3"], capture_output=True, text=True, check=True).stdout
    for level in LEVELS:
        done = record(program.parent, "--level", level, "--fail-if", plain.strip(), "--values",
                      "--", program, "3")  # fmt: skip
        assert done.returncode == 1, done  # the output is the one that is looked for


def test_damaged_clocks_are_told_and_done_without(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = stored.path_for(machine.read())
    assert kept is not None
    kept.parent.mkdir(parents=True)
    kept.write_text("no json")
    (tmp_path / "adding.py").write_text(ADDING)
    done = record(tmp_path, "--", "adding.py", "2", "end")
    assert "[clocks-damaged]" in done.stderr
    assert (done.returncode, done.stdout.count("events")) == (0, 1), done.stdout


def test_a_level_that_the_program_was_not_built_for_is_refused(tmp_path):
    made = build(tmp_path, "records.c")
    for level, word in (("func", "--functions"), ("block", "--blocks")):
        done = record(tmp_path, "--level", level, "--", made, "1")
        assert done.returncode == 2
        assert "level-unavailable" in done.stderr and word in done.stderr
    assert record(tmp_path, "--branches", "--level", "sync", "--", made, "1").returncode == 2
    assert record(tmp_path, "--level", "sync", "--", made, "1").returncode == 0


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_functions_and_blocks_by_the_environment(tmp_path, family, monkeypatch):
    monkeypatch.setenv("UNSNARL_CC_LOOPS", "1")
    made = build(tmp_path, "records.c", compiler=FAMILIES[family]["UNSNARL_CC"])
    for level in ("func", "loop", "block"):
        _, run = recorded(tmp_path, "--level", level, "--", made, "2")
        assert set().union(*ops(run).values()) - SYNC == KINDS[level]
        table = SiteTable.load(run.path.parents[1] / "codes.json", tmp_path)
        points = {int(point) >> 4 for point in run.record.threads[1].events["point"]}
        assert "work" in {table.site(site).function for site in points}


LOSING = """\
import threading

class Account:
    def __init__(self):
        self.balance = 0

    def add(self):
        seen = self.balance
        self.pause()
        self.balance = seen + 1

    def pause(self):
        pass

account = Account()
threads = [threading.Thread(target=account.add) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert account.balance == 2
"""


def test_until_it_fails(tmp_path):
    (tmp_path / "losing.py").write_text(LOSING)
    words = ("--noise", "--until-fail", "5000", "--values", "--", PYTHON, "losing.py")
    command = [sys.executable, "-m", "unsnarl", "record", "--json", "answer.json", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    answer = json.loads((tmp_path / "answer.json").read_text())
    number = answer["record"]["run"]
    assert answer["runs"]["total"] == number
    assert f"unsnarl reproduce {answer['campaign']}/{number}" in done.stdout
    kept = sorted((tmp_path / ".unsnarl" / answer["campaign"] / "runs").iterdir())
    assert [path.suffix for path in kept] == [".out", ".run"]
    run = read_run(kept[1])
    table = SiteTable.load(kept[1].parents[1] / "codes.json", tmp_path)
    seen = {
        thread.path: [
            (Op(row["point"] & 15), int(row["value"]))
            for row in thread.values
            if table.site(int(row["point"]) >> 4).name == "balance"
        ]
        for thread in run.record.threads
    }
    # One sum was lost: both threads have read the same.
    assert seen["0.1"] == seen["0.2"] == [(Op.READ, 0), (Op.WRITE, 1)]
    assert seen["0"][-1] == (Op.READ, 1)


def test_none_fails(tmp_path):
    (tmp_path / "adding.py").write_text(ADDING)
    done = record(tmp_path, "--until-fail", "3", "--", PYTHON, "adding.py", "2", "")
    assert done.returncode == 0
    assert (
        "3 runs recorded, none failed: failure rate below 100 % at 95 % confidence [no-failure]"
        in done.stdout
    )
    assert not list(tmp_path.glob(".unsnarl/*/runs/*"))


def test_time_runs_out(tmp_path):
    (tmp_path / "adding.py").write_text(ADDING)
    words = ("--until-fail", "1000", "--time", "0.5", "--", PYTHON, "adding.py", "2", "")
    done = record(tmp_path, *words)
    assert done.returncode == 4
    assert "budget-out" in done.stdout and "no-failure" in done.stdout


def test_a_program_that_is_not_the_projects_is_refused(tmp_path):
    (tmp_path / "pyproject.toml").write_text("")
    done = record(tmp_path, "--", PYTHON, "-m", "this")
    assert done.returncode == 3
    assert "nothing-instrumented" in done.stderr


DEADLOCK = """\
import threading
one, other = threading.Lock(), threading.Lock()
both = threading.Barrier(2)
def take(first, second):
    with first:
        both.wait()
        with second:
            pass
threads = [threading.Thread(target=take, args=pair) for pair in ((one, other), (other, one))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_a_deadlock_is_told_as_one(tmp_path):
    (tmp_path / "deadlock.py").write_text(DEADLOCK)
    answer, run = recorded(tmp_path, "--timeout", "120", "--", PYTHON, "deadlock.py")
    assert answer["record"]["signature"] == "deadlock: deadlock.py:take [with second:]"
    assert answer["record"]["seconds"] < 60  # nobody waited for the limit
    assert {wait.thread for wait in run.waits} == {0, 1, 2}


BRANCHING = """\
import threading

class Odd:
    asked = 0
    def __bool__(self):
        self.asked += 1
        return self.asked % 2 == 1

odd = Odd()
def work(wanted):
    taken = []
    for i in range(6):
        if i > 3:
            taken.append(i)
        if wanted is None:
            wanted = i
        if odd:
            taken.append(-i)
    return taken

thread = threading.Thread(target=work, args=(None,))
thread.start()
thread.join()
assert odd.asked == 6, odd.asked
"""


def test_branches_are_told_and_no_object_is_asked_twice(tmp_path):
    (tmp_path / "branching.py").write_text(BRANCHING)
    answer, run = recorded(tmp_path, "--branches", "--level", "sync", "--", PYTHON, "branching.py")
    assert answer["record"]["label"] == "pass"
    rounds = run.record.threads[1].branches.reshape(-1, 3).tolist()
    wanted = [[i > 3, i == 0, i % 2 == 0] for i in range(6)]
    assert rounds == wanted


HASHED = """\
import threading

class Key:
    hashed = 0
    def __hash__(self):
        type(self).hashed += 1
        return 1
    def __eq__(self, other):
        raise SystemExit("compared")

key, table = Key(), {}
def work():
    table[key] = 1
    table[key] += 1
    del table[key]

thread = threading.Thread(target=work)
thread.start()
thread.join()
assert Key.hashed == 4, Key.hashed
"""


def test_values_run_no_code_of_the_targets_keys(tmp_path):
    (tmp_path / "hashed.py").write_text(HASHED)
    answer, _ = recorded(tmp_path, "--values", "--level", "access", "--", PYTHON, "hashed.py")
    assert answer["record"]["label"] == "pass"


def test_values_of_c(program):
    _, run = recorded(program.parent, "--values", "--level", "func", "--", program, "2")
    table = SiteTable.load(run.path.parents[1] / "codes.json", "/")
    written = sorted(
        int(row["value"])
        for thread in run.record.threads[1:]
        for row in thread.values
        if row["point"] & 15 == Op.WRITE and table.site(int(row["point"]) >> 4).function == "add"
    )
    assert written == list(range(1, 2 * ROUNDS + 1))


ATOMICS = """\
#include <pthread.h>
#include <stdatomic.h>
static atomic_long sum;
static atomic_uchar small;
static void *work(void *unused) {
    for (int i = 0; i < 500; i++) {
        atomic_fetch_add(&sum, 1);
        unsigned char seen = atomic_load(&small);
        while (!atomic_compare_exchange_weak(&small, &seen, (unsigned char)(seen - 1)))
            ;
    }
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&sum, 7);
    return atomic_exchange(&sum, 9) != 7;
}
"""
KNOWN, MORE = 1, 4


def test_values_of_atomic_accesses_are_certain(tmp_path):
    (tmp_path / "atomics.c").write_text(ATOMICS)
    made = build(tmp_path, str(tmp_path / "atomics.c"))
    _, run = recorded(tmp_path, "--values", "--level", "access", "--", made)
    table = SiteTable.load(run.path.parents[1] / "codes.json", "/")
    added, counted = [], []
    for thread in run.record.threads[1:]:
        rows = thread.values[np.isin(thread.values["point"] & 15, (Op.READ, Op.WRITE))]
        for found, left in itertools.pairwise(rows):
            if not left["flags"] & MORE:
                continue
            assert found["flags"] & left["flags"] & KNOWN
            text = table.site(int(left["point"]) >> 4).line
            (added if text == ADDS else counted).append((int(found["value"]), int(left["value"])))
    assert sorted(added) == [(n, n + 1) for n in range(1000)]
    done = [(found, left) for found, left in counted if found != left]  # others came between
    assert len(done) == 1000
    assert all(left == (found - 1) % 256 for found, left in done)
    ended = [int(row["value"]) for row in run.record.threads[0].values[-3:]]
    assert ended == [7, 7, 9]


ADDS = ATOMICS.split("\n").index("        atomic_fetch_add(&sum, 1);") + 1


OWN_HOOKS = """\
import sys, threading
total = 0

def work():
    global total
    total += 1

def hook(*event):
    return None

exec(sys.argv[1])
thread = threading.Thread(target=work)
thread.start()
thread.join()
work()
"""


@pytest.mark.core
@pytest.mark.parametrize(
    ("level", "does", "replaced"),
    [
        ("func", "pass", ""),
        ("func", "sys.setprofile(hook)", "sys.setprofile"),
        ("func", "sys.setprofile(None)", "sys.setprofile"),
        ("func", "threading.setprofile(hook)", "sys.setprofile"),
        ("func", "sys.settrace(hook)", ""),
        ("funcloop", "sys.setprofile(hook)", "sys.setprofile"),
        ("loop", "sys.setprofile(hook); sys.settrace(hook)", ""),
        ("block", "pass", ""),
        ("block", "sys.settrace(hook)", "sys.settrace"),
        ("block", "threading.settrace(hook)", "sys.settrace"),
        ("block", "sys.setprofile(hook)", ""),
        ("access", "sys.setprofile(hook); sys.settrace(hook)", ""),
    ],
)
def test_hooks_of_the_programs_own_are_told(tmp_path, level, does, replaced):
    """There is but one profile function: where the program sets its own, ours is gone."""
    (tmp_path / "own.py").write_text(OWN_HOOKS)
    command = ["--level", level, "--", PYTHON, "own.py", does]
    told = record(tmp_path, "--json", "answer.json", *command).stdout
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer["record"]["replaced"] == replaced
    assert (f"the program called {replaced}: " in told) == bool(replaced)
    assert ("[hooks-replaced]" in told) == bool(replaced)
