# SPDX-License-Identifier: Apache-2.0
"""Racey, judged by what it is for: its hash differs from run to run, and a replay prints the same.

That it fails again says less: most of its schedules fail.
"""

import shutil

import pytest
from evaluation.draws import ZOO_C, copy_of

from unsnarl.campaigns.rotation import Rotation
from unsnarl.config import Settings
from unsnarl.execution import target
from unsnarl.execution.runner import started
from unsnarl.execution.trials import replaying

RUNS = 25


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_a_replay_of_racey_prints_the_hash_of_its_run(tmp_path):
    output = tmp_path / "output"
    fields = {"switch": "free", "timeout": 10.0, "file": str(tmp_path / "run")}
    rotation, hashes = Rotation(1), []
    with copy_of(ZOO_C / "racey") as folder:
        found = target.parse(("./racey",), folder)
        with started(found, tmp_path / "server", Settings(jobs=1), scratch=True) as runner:

            def printed(plan):
                output.unlink(missing_ok=True)
                (result,) = runner.run([plan])
                return result, output.read_text().splitlines()[0]

            for number in range(1, RUNS + 1):
                plan = rotation.plan(number, output=str(output), **fields)
                made, text = printed(plan)
                again = replaying(made.run, plan.seed, number=number, output=str(output), **fields)
                assert printed(again)[1] == text, number
                hashes.append(text)
    assert len(set(hashes)) > RUNS / 5
