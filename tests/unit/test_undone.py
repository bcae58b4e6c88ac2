# SPDX-License-Identifier: Apache-2.0
"""What a thread did less often than in any passing run."""

from types import SimpleNamespace

import numpy as np

from unsnarl.experiments.undone import LEAST_PASSING, Undone, left_undone
from unsnarl.model.event import PRIVATE_SITES

COUNT = np.dtype([("thread", "u2"), ("site", "u4"), ("count", "u4")])


def run(**sites):
    """A run of a main thread and of one whose sites were counted: `s7=2`."""
    rows = [(1, int(name[1:]), count) for name, count in sites.items()]
    threads = [SimpleNamespace(path="0"), SimpleNamespace(path="0.1")]
    counts = np.array([(0, 7, 9), *rows], dtype=COUNT)
    return SimpleNamespace(threads=threads, counts=counts)


def test_it_is_what_every_passing_run_does_more_often():
    passing = [run(s3=4, s5=6, s7=4), run(s3=5, s5=2, s7=4)] * LEAST_PASSING
    assert left_undone(run(s3=2, s5=2, s7=4), passing, "0.1") == [Undone(3, 2, 4)]
    assert left_undone(run(s5=2, s7=1), passing, "0.1") == [Undone(3, 0, 4), Undone(7, 1, 4)]
    assert left_undone(run(s3=9, s5=9, s7=9), passing, "0.1") == []


def test_what_one_passing_run_does_not_do_is_no_work_of_all():
    passing = [run(s3=4)] * LEAST_PASSING + [run(s5=1)]
    assert left_undone(run(s7=1), passing, "0.1") == []


def test_few_passing_runs_or_none_with_the_thread_say_nothing():
    assert left_undone(run(s3=1), [run(s3=2)] * (LEAST_PASSING - 1), "0.1") == []
    assert left_undone(run(s3=1), [run(s3=2)] * LEAST_PASSING, "0.2") == []


def test_code_of_one_run_alone_is_not_compared():
    private = {f"s{PRIVATE_SITES}": 4, "s0": 4}
    assert left_undone(run(s3=1), [run(**private)] * LEAST_PASSING, "0.1") == []
