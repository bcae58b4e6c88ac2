# SPDX-License-Identifier: Apache-2.0
"""Correct C and C++ programs that look wrong: no run of them fails, whatever the strategy."""

import shutil

import pytest
from evaluation.draws import ZOO_C
from tests.integration.native_programs import build, run

PROGRAMS = sorted(path for path in (ZOO_C.parent / "correct").iterdir() if path.suffix != ".md")
STRATEGIES = ("walk", "pos", "pct")
SEEDS = range(12)


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_a_correct_program_passes(source, tmp_path):
    if not shutil.which("g++"):
        pytest.skip("there is no g++")
    made = build(tmp_path, str(source), "-g")
    for strategy in STRATEGIES:
        for seed in SEEDS:
            done = run(made, strategy, seed, switch="free", heap_errors=True)
            assert done.status == 0, (strategy, seed, done.errors)
            assert done.file is not None and not done.file.failures, (strategy, seed)
