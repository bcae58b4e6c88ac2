# SPDX-License-Identifier: Apache-2.0
"""Levels loop and funcloop: how often loops go back, the same in recorded and in gated runs."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from tests.integration.compiling import FAMILIES
from tests.integration.native_programs import build, run
from tests.integration.test_recording import ops, record, recorded

from unsnarl.campaigns.store import Store
from unsnarl.model.event import Op
from unsnarl.model.plan import Plan
from unsnarl.replay.target_process import start_target
from unsnarl.reproduce.pres.sketch import Sketch
from unsnarl.runfile import SiteTable

LEVELS = ("loop", "funcloop")
# How often each function's loops go back. Without optimisation, and where a compiler keeps the test
# at the head, once a turn; where it is at the end, once less for every time the loop is entered.
AT_THE_HEAD = {"single": 4, "nested": 20, "calls": 6, "branches": 9, "jumps": 6, "recurses": 39}
AT_THE_END = {"single": 4, "nested": 15, "calls": 5, "branches": 8, "jumps": 6, "recurses": 26}
THREADS = ("0.1", "0.2")


def backs(found, folder):
    """How often loops went back, by thread and function."""
    table = SiteTable.load(found.path.parents[1] / "codes.json", folder)
    return {
        thread.path: Counter(
            table.site(point >> 4).function
            for point in thread.events["point"].tolist()
            if point & 15 == Op.BLOCK
        )
        for thread in found.record.threads
    }


@pytest.mark.parametrize(("how", "wanted"), [("-O0", AT_THE_HEAD), ("-O1", AT_THE_END)])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_loops_of_c_go_back_as_often_as_they_do(tmp_path, family, how, wanted):
    compiler = FAMILIES[family]["UNSNARL_CC"]
    made = build(tmp_path, "loops.c", how, "--loops", compiler=compiler)
    _, alone = recorded(tmp_path, "--level", "loop", "--", made)
    _, both = recorded(tmp_path, "--level", "funcloop", "--", made)
    for path in THREADS:
        found = backs(alone, tmp_path)[path]
        assert {name: found[name] for name in wanted} == wanted
        assert found["catches"] >= 7  # eight turns; longjmp goes back as well
        assert not {"straight", "called", "deep", "thrown"} & found.keys()
        assert backs(both, tmp_path)[path] == found
    assert ops(both)["0.1"][Op.ENTER] == ops(both)["0.2"][Op.ENTER] > 6000
    assert Op.ENTER not in ops(alone)["0.1"]


@pytest.mark.parametrize("how", ["-O2", "-O3", "-Os"])
def test_every_turn_is_told_however_blocks_are_moved(tmp_path, how):
    """Without --loops the compiler moves blocks: there may be more events, but never fewer."""
    made = build(tmp_path, "loops.c", how, "--functions", "--blocks")
    found = backs(recorded(tmp_path, "--level", "loop", "--", made)[1], tmp_path)["0.1"]
    for name in ("single", "calls", "branches", "jumps", "recurses"):
        assert found[name] >= AT_THE_END[name]


THROWING = """\
#include <stdexcept>
#include <cstdio>
#include <thread>
static volatile int caught, turns;
__attribute__((noinline)) static void fail(int depth) {
    if (depth)
        fail(depth - 1);
    turns = turns + 1;
    throw std::runtime_error("so");
}
__attribute__((noinline)) static void catches(int n) {
    for (int i = 0; i < n; i++) {
        try {
            fail(i % 4);
        } catch (const std::exception &) {
            caught = caught + 1;
        }
    }
}
__attribute__((noinline)) static void after(int n) {
    int i = 0;
    do
        turns = turns + 1;
    while (++i < n);
}
int main() {
    std::thread([] { catches(10); after(6); }).join();
    std::printf("%d\\n", caught);
}
"""


def test_exceptions_leave_functions_without_a_word(tmp_path):
    (tmp_path / "throwing.cpp").write_text(THROWING)
    made = build(tmp_path, str(tmp_path / "throwing.cpp"), "--loops")
    found = backs(recorded(tmp_path, "--level", "loop", "--", made)[1], tmp_path)["0.1"]
    assert found["after"] == 5
    assert found["catches"] >= 9
    assert "fail" not in found


def followed(found, folder, level, through):
    """The counters of a gated run along the sketch of a recorded one; and its events."""
    sketch = Sketch(found.record, None)
    sketch.write(folder / "sketch")
    plan = {"sketch": str(folder / "sketch"), "level": level}
    return through(plan), sketch.total


@pytest.mark.parametrize("level", LEVELS)
def test_a_gated_run_of_c_has_the_same_events(tmp_path, level):
    made = build(tmp_path, "loops.c", "-O2", "--loops")
    _, found = recorded(tmp_path, "--level", level, "--", made)
    for strategy in ("sketch", "walk"):
        counters, total = followed(
            found, tmp_path, level, lambda plan, name=strategy: gated(made, name, plan)
        )
        assert (counters["sketch_passed"], counters["diverged"]) == (total, 0)


def gated(made, strategy, plan):
    return run(made, strategy, 1, switch="free", **plan).file.counters


LOOPING = """\
import threading

numbers = []

def nested(n):
    for i in range(n):
        for _ in range(n):
            if i % 2:
                continue
            numbers.append(i)

def until(n):
    while n:
        n -= 1

def made(n):
    return [i * i for i in range(n)]

def given(n):
    for i in range(n):
        yield i

def tried(n):
    for i in range(n):
        try:
            1 / (i % 2)
        except ZeroDivisionError:
            numbers.append(i)
        numbers.append(-i)

def work():
    nested(3)
    until(4)
    made(5)
    sum(given(6))
    tried(7)

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
# A loop over n things goes back n times. The test of a `while` is at its end as well.
OF_PYTHON = {"nested": 3 + 9, "until": 3, "given": 6, "tried": 7}


@pytest.mark.parametrize("level", LEVELS)
def test_loops_of_python(tmp_path, level):
    (tmp_path / "looping.py").write_text(LOOPING)
    answer, found = recorded(tmp_path, "--level", level, "--", sys.executable, "looping.py")
    for path in THREADS:
        counts = backs(found, tmp_path)[path]
        assert {name: counts[name] for name in OF_PYTHON} == OF_PYTHON
        # Comprehensions were functions of their own up to 3.11.
        assert counts["made"] + counts["made.<locals>.<listcomp>"] == 5
        assert (ops(found)[path][Op.ENTER] > 0) == (level == "funcloop")
    store = Store.open(tmp_path / ".unsnarl" / answer["campaign"])
    with start_target(store, loops=True) as process:
        for strategy in ("sketch", "pos"):
            counters, total = followed(
                found, tmp_path, level, lambda plan, name=strategy: tried(process, name, plan)
            )
            assert (counters["sketch_passed"], counters["diverged"]) == (total, 0)
    store.close()


def tried(process, strategy, plan):
    (trial,) = process.trials.run([Plan(strategy=strategy, seed=1, **plan)])
    return trial.run.counters


@pytest.mark.parametrize("words", [(), ("--functions",), ("--blocks",)])
def test_a_program_that_was_not_built_for_loops_is_told_so(tmp_path, words):
    made = build(tmp_path, "records.c", *words)
    for level in LEVELS:
        done = record(tmp_path, "--level", level, "--", made, "1")
        assert done.returncode == 2
        assert "level-unavailable" in done.stderr and "--loops" in done.stderr
