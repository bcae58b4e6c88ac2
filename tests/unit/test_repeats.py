# SPDX-License-Identifier: Apache-2.0
from evaluation.repeats import differences, without_times


def test_times_are_no_difference():
    one = {"seconds": 1.0, "runs": {"total": 4}, "failures": [{"rate": 0.5, "seconds": 3}]}
    other = {"seconds": 2.0, "runs": {"total": 4}, "failures": [{"rate": 0.5, "seconds": 4}]}
    assert not list(differences(without_times(one), without_times(other)))


def test_each_difference_says_where():
    one = {"runs": {"total": 4}, "failures": [{"rate": 0.5}], "stop": None}
    other = {"runs": {"total": 5}, "failures": [{"rate": 0.25}], "extra": 1}
    found = list(differences(one, other))
    assert found == [".extra: None | 1", ".failures[0].rate: 0.5 | 0.25", ".runs.total: 4 | 5"]
    assert list(differences([1], [1, 2])) == [": [1] | [1, 2]"]
