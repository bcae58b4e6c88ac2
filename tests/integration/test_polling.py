# SPDX-License-Identifier: Apache-2.0
"""A thread that polls yields until somebody writes, and is named if nobody ever does."""

import shutil

import pytest
from tests.integration.native_programs import build, run
from tests.integration.rule_programs import Program

STRATEGIES = ("walk", "pos", "pct", "surw")
SEEDS = range(1, 7)
# A thread that nothing makes yield comes to the gate 20000 times before another one does once.
MOST_STEPS = 15000

FLAG = """
class Flag:
    on = False
    other = 0
flag = Flag()

def waits():
    while not flag.on:
        pass

def sets():
    for _ in range(40):
        flag.other
    flag.on = True

go(waits, sets)
"""

# It ends by itself, however often it looks.
SETTING = """
class Box:
    limit = 200
    value = 0
box = Box()

def counts():
    n = 0
    while n < box.limit:
        n += 1
    print('counted', box.value)

def sets():
    for _ in range(3):
        box.other = 0
    box.value = 1

go(counts, sets)
"""


@pytest.fixture(params=["gil", "free"])
def started(request, tmp_path):
    programs = []

    def start(source):
        programs.append(Program(tmp_path, source, request.param))
        return programs[-1]

    yield start
    for program in programs:
        program.client.close()


def test_a_python_thread_that_polls_yields(started):
    program = started(FLAG)
    for strategy in STRATEGIES:
        for seed in SEEDS:
            done, found = program.run(strategy=strategy, seed=seed)
            assert done["status"] == 0
            assert found.counters["steps"] < MOST_STEPS, (strategy, seed)


def test_a_loop_that_only_looks_like_it_may_still_end_first(started):
    program = started(SETTING)
    seen = set()
    for seed in range(1, 41):
        program.run(strategy="pct", seed=seed)
        seen.add(program.output())
    assert seen == {"counted 0\n", "counted 1\n"}


@pytest.fixture(scope="module")
def polls(tmp_path_factory):
    if not shutil.which("gcc"):
        pytest.skip("there is no gcc")
    return build(tmp_path_factory.mktemp("polls"), "polls.c", "-g")


@pytest.mark.parametrize("how", ["spins", "yields", "sleeps"])
def test_a_thread_of_c_that_polls_yields(polls, how):
    """Also to one that sleeps: time passes while nobody does anything else."""
    for strategy in STRATEGIES:
        for seed in SEEDS:
            done = run(polls, strategy, seed, how, switch="free")
            assert done.output == "ok\n", (strategy, seed)
            assert done.file.counters["steps"] < MOST_STEPS, (strategy, seed)


def test_a_run_that_never_ends_names_who_polls(polls):
    done = run(polls, "walk", 1, "never", switch="free", timeout=2.0)
    (failure,) = done.file.failures
    assert failure.kind == "hang"
    assert failure.message.endswith("; polling: 0.1")
