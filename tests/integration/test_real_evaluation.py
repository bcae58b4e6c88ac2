# SPDX-License-Identifier: Apache-2.0
"""Real bugs are hunted, replayed and verified by the evaluation, each in its own environment."""

import subprocess

import pytest
from evaluation.real_cases import FOLDERS, load_cases
from evaluation.real_environments import BUILT, SMALL, TWIN, install, put
from evaluation.real_measure import Budget, measure, workplace

CASES = {case.name: case for case in load_cases(FOLDERS)}
# Runs are limited, not time: a busy machine must not change what is found.
LITTLE = Budget(
    time=600,
    verify=600,
    fixed=600,
    processes=1,
    times=5,
    runs=0,
    options=("--fail", "5", "--pass", "5", "--max-runs", "1000", "--no-confirm"),
    later=("--max-runs", "30"),
)


def environments(case):
    # In a folder that cannot be made, a missing environment is an error: nothing is installed now.
    return install(case, [BUILT, BUILT / "built" / "nowhere"])


def test_small_cases_are_never_held_out():
    assert {CASES[name].set for name in SMALL} == {"work"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_real_bug_is_found_replayed_and_gone_in_the_fixed_release(name):
    case = CASES[name]
    environments(case)
    row = measure(case, 1, LITTLE)
    assert row.found and row.points_at_bug and not row.broke, row
    assert row.replayed == row.replays == 5
    assert row.same.still_fails, row.same
    assert row.fixed.ended.code is not None and not row.fixed.ended.broke, row.fixed
    assert row.fixed_hunt.runs and row.fixed_hunt.alarms == (), row.fixed_hunt


def test_the_environment_has_this_unsnarl_and_nothing_else_of_ours(tmp_path):
    environment, _ = environments(CASES[SMALL[0]])
    put(environment, tmp_path / "put")
    code = "import unsnarl._core, pytest; print(unsnarl.__file__); import numpy"
    python = tmp_path / "put" / "bin" / "python"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    import unsnarl

    assert done.stdout.strip() == unsnarl.__file__
    assert "No module named 'numpy'" in done.stderr


def test_an_upgrade_puts_the_corrected_files_where_the_others_were():
    case = CASES[TWIN]
    bug, fixed = environments(case)
    with workplace(case, bug) as here:
        assert not (here.folder / case.twin).exists()
        before = (here.folder / "config.py").read_text()
        here.upgrade(fixed)
        after = (here.folder / "config.py").read_text()
    assert before == (case.folder / "config.py").read_text()
    assert after == (case.folder / case.twin / "config.py").read_text()


def test_a_command_that_goes_on_is_stopped():
    case = CASES[SMALL[0]]
    with workplace(case, environments(case)[0]) as here:
        ended = here.run("hunt", "--", *case.command, limit=0.2)
    assert ended.code is None
