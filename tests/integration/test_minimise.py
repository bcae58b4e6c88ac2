# SPDX-License-Identifier: Apache-2.0
"""Real failures cut down to what matters, and set beside the nearest run that passes."""

import itertools
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace
from tests.integration.rule_programs import START

from unsnarl.config import Settings
from unsnarl.execution import target
from unsnarl.execution.runner import started
from unsnarl.execution.symptom import Symptom
from unsnarl.execution.trials import Trials, fresh_plans
from unsnarl.experiments.minimise import Minimal, Minimiser, explanation
from unsnarl.experiments.nearest import Nearest, nearest

PROGRAMS = {
    "update": """
class Account:
    balance = 0
account = Account()

def deposit():
    balance = account.balance
    pause()
    account.balance = balance + 1

go(deposit, deposit)
assert account.balance == 2
""",
    # The third thread must look after the first one's write and before the second one's.
    "three": """
class Door:
    state = "shut"
    seen = None
door = Door()

def opens():
    door.state = "open"

def shuts():
    if door.state == "open":
        door.state = "locked"

def looks():
    door.seen = door.state

go(opens, shuts, looks)
assert (door.state, door.seen) != ("locked", "open")
""",
    "deadlock": """
forks = [threading.Lock() for _ in range(3)]

def eater(at):
    def eat():
        with forks[at]:
            with forks[(at + 1) % 3]:
                pass
    return eat

go(eater(0), eater(1), eater(2))
""",
}


@dataclass
class Case:
    trials: Trials
    signature: str
    minimal: Minimal
    nearest: Nearest | None
    seeds: Any

    def fails(self, constraints, count):
        """In how many fresh runs with these constraints it fails."""
        rules = [one.rule for one in constraints]
        plans = fresh_plans(f"test/{next(self.seeds)}", count, rules=rules)
        return sum(trial.fails_as(self.signature) for trial in self.trials.run(plans))


@contextmanager
def minimised(folder, name):
    (folder / f"{name}.py").write_text(START + PROGRAMS[name])
    found = target.parse((sys.executable, f"{name}.py"), folder)
    with started(found, folder, Settings(jobs=2)) as runner:
        trials = Trials(runner, folder, "gil", 5.0)
        failing = [
            trial
            for trial in trials.run(fresh_plans(name, 30, trace=True))
            if trial.label != "pass" and trial.run is not None
        ]
        runs = sorted((one.run for one in failing), key=lambda run: len(run.schedule))
        signature = failing[0].signature
        minimal = Minimiser(trials, Symptom(signature)).minimise(runs, [])
        near = nearest(trials, minimal)
        yield Case(trials, signature, minimal, near, itertools.count())


@pytest.fixture(scope="module", params=PROGRAMS)
def case(tmp_path_factory, request):
    with minimised(tmp_path_factory.mktemp(request.param), request.param) as made:
        yield made


def test_few_constraints_make_the_failure_certain(case):
    assert 1 <= len(case.minimal.constraints) <= 3
    assert case.minimal.is_certain
    assert case.minimal.tries >= 100
    assert case.minimal.replays <= 300
    assert case.fails(case.minimal.constraints, 100) == 100


def test_none_of_them_can_be_left_out(case):
    for one in case.minimal.constraints:
        others = [other for other in case.minimal.constraints if other != one]
        assert case.fails(others, 20) < 20


def test_the_explanation_is_in_the_order_of_the_failing_run(case):
    told = explanation(case.minimal, case.minimal.timeline)
    keys = [event.key for event in told]
    assert len(set(keys)) == len(keys) <= 8
    for one in case.minimal.constraints:
        assert keys.index(one.before.key) < keys.index(one.after.key)


def test_the_nearest_run_passes_and_has_one_order_the_other_way_round(case):
    (again,) = case.trials.run([replace(case.nearest.plan, trace=True)])
    assert again.label == "pass"
    moved = case.nearest.reversed
    assert moved in case.minimal.constraints
    assert case.nearest.differences <= 1
    keys = [event.key for event in case.nearest.events]
    assert keys.index(moved.after.key) < keys.index(moved.before.key)
