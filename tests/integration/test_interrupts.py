# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while a failure is being reproduced: it ends at once, says so, and nothing is lost."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from evaluation.synthetic_orders import Machine, simulate
from tests.integration.recorded_bugs import ZOO, record

from unsnarl.cli.main import run
from unsnarl.reproduce.orders import OrderProblem
from unsnarl.reproduce.orders.native import NativeSolver
from unsnarl.reproduce.orders.smt import checked, load_z3
from unsnarl.workflows.reproduce import Reproduction

# Far below what the work would take (a solver's deadline), far above what ending takes.
SOON, DEADLINE = 60.0, 240.0


class LateSignal(threading.Thread):
    """Sends Ctrl-C to this process when somebody has worked for a while, and notes when."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.sent = 0.0

    def run(self) -> None:
        began = time.process_time()
        while time.process_time() < began + 0.3:
            time.sleep(0.01)
        self.sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)


def hard() -> OrderProblem:
    """One cell, two values, no clocks: minutes of work, as clauses first."""
    return simulate(Machine(3000, 8, cells=1, values=2, seed=1)).problem()


def cubes() -> object:
    solver = load_z3().Solver()
    solver.from_string(
        "(declare-const a Int)(declare-const b Int)(declare-const c Int)"
        "(assert (and (> a 1) (> b 1) (> c 1) (= (+ (* a a a) (* b b b)) (* c c c))))"
    )
    solver.set("timeout", int(1000 * DEADLINE))
    return solver


@pytest.mark.parametrize("kind", ["native", "z3"])
def test_solvers_see_the_signal(kind):
    if kind == "native":
        problem = hard()

        def work():
            return NativeSolver().solve(problem, DEADLINE)
    else:
        solver = cubes()

        def work():
            return checked(solver)

    late = LateSignal()
    late.start()
    with pytest.raises(KeyboardInterrupt):
        pytest.fail(f"it was done before: {work()}")
    assert time.monotonic() < late.sent + SOON


def test_the_native_solver_keeps_its_time_while_it_writes_clauses():
    began = time.monotonic()
    NativeSolver().solve(hard(), 0.5)
    assert time.monotonic() < began + SOON


# It fails only where there is the file: then no try can.
GONE = """\
import os, sys, threading
cell = [0]

def work():
    for _ in range(3):
        cell[0] += 1

threads = [threading.Thread(target=work) for _ in range(2)]
for each in threads:
    each.start()
for each in threads:
    each.join()
sys.exit("it is there" * os.path.exists("flag"))
"""


def test_a_search_ends_at_once_and_the_record_stays(tmp_path):
    (tmp_path / "gone.py").write_text(GONE)
    (tmp_path / "flag").touch()
    word = record(tmp_path, [sys.executable, "gone.py"], "--level", "sync")
    (tmp_path / "flag").unlink()
    campaign = tmp_path / ".unsnarl" / word.partition("/")[0]
    before = sorted(path.name for path in campaign.rglob("*.run"))
    command = [sys.executable, "-m", "unsnarl", "reproduce", "--tries", "1000000", "--", word]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + DEADLINE
    while not (campaign / "replay" / "sketch").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SOON)
    assert (process.returncode, out) == (130, "")
    assert "interrupted after" in err and "not reproduced so far [interrupted]" in err
    assert "Traceback" not in err
    assert sorted(path.name for path in campaign.rglob("*.run")) == before
    assert not (campaign / "replay").exists()
    again = subprocess.run(
        [*command[:4], "--tries", "2", "--json", "--", word],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert json.loads(again.stdout)["tries"] == 2, again.stderr


def test_a_schedule_that_was_found_is_kept(tmp_path, monkeypatch, capsys):
    shutil.copy(ZOO / "python" / "weblech" / "weblech.py", tmp_path)
    word = record(tmp_path, [sys.executable, "weblech.py"], "--level", "access")
    monkeypatch.chdir(tmp_path)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Reproduction, "_explained", interrupted)
    assert run(["reproduce", "--tries", "50", "--", word]) == 130
    out, err = capsys.readouterr()
    assert "interrupted while looking for the cause [interrupted]" in err
    told = re.search(r"next: unsnarl replay (\S+)", out)
    command = [sys.executable, "-m", "unsnarl", "replay", "--times", "20", "--json", "--", told[1]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["failed"] == 20, done.stderr
