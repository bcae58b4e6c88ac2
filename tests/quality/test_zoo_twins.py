# SPDX-License-Identifier: Apache-2.0
"""A repaired program stays silent, wherever threads may switch. The evaluation makes more runs."""

import pytest
from tests.quality.conftest import TWIN_RUNS, twin

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_fixed_twin_never_fails(bug):
    report = twin(bug)
    assert report.failures == ()
    runs = report.runs
    assert (runs.total, runs.passed, runs.fail, runs.hang) == (TWIN_RUNS, TWIN_RUNS, 0, 0)
    assert report.instrumented.threads_controlled == report.instrumented.threads_seen > 1
