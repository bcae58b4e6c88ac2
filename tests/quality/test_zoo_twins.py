# SPDX-License-Identifier: Apache-2.0
"""A repaired program stays silent, wherever threads may switch. The benchmark makes 500 runs."""

import pytest
from evaluation.draws import hunt

pytestmark = pytest.mark.slow

RUNS = 100


@pytest.mark.parametrize("switch", ["gil", "free"])
def test_a_fixed_twin_never_fails(bug, switch):
    report = hunt(bug, bug.fixed, "--switch", switch, "--max-runs", str(RUNS))
    assert report.failures == ()
    runs = report.runs
    assert (runs.total, runs.passed, runs.fail, runs.hang) == (RUNS, RUNS, 0, 0)
    assert report.instrumented.threads_controlled == report.instrumented.threads_seen > 1
