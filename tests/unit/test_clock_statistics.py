# SPDX-License-Identifier: Apache-2.0
"""Equations 4 to 9 on simulated clocks, whose skew is known."""

import numpy as np
import pytest
from evaluation.simulated_clocks import Trigger

from unsnarl.recording.clocks import statistics
from unsnarl.recording.clocks.estimates import M, N, table_5


# Values of any table of Student's distribution.
@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    [
        (0.975, 1, 12.706),
        (0.975, 2, 4.303),
        (0.95, 4, 2.132),
        (0.975, 4, 2.776),
        (0.995, 9, 3.250),
        (0.9995, 19, 3.883),
        (0.975, 30, 2.042),
        (0.975, 1000, 1.962),
    ],
)
def test_students_quantiles(probability, freedom, value):
    assert statistics.quantile(probability, freedom) == pytest.approx(value, abs=6e-4)


def test_an_interval_by_hand():
    low, high = statistics.interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.95)
    reach = 2.776445 * np.sqrt(2.5) / np.sqrt(5)
    assert (low, high) == pytest.approx((3 - reach, 3 + reach), abs=1e-4)


def test_one_sample_has_no_interval():
    with pytest.raises(ValueError, match="two samples"):
        statistics.interval([1.0], 0.9)


@pytest.mark.parametrize("skew", [-20_000, -37, 0, 0.3, 1_000_003])
def test_the_skew_is_found_between_the_spikes(skew):
    found = Trigger(skew).differences(100_000, 1)
    assert statistics.skew(*statistics.split(found)) == pytest.approx(skew, abs=0.5)


def test_the_plain_mean_would_be_wrong_where_one_worker_is_first_more_often():
    found = Trigger(100.0, first=0.9).differences(100_000, 2)
    assert statistics.skew(*statistics.split(found)) == pytest.approx(100, abs=1.5)
    assert abs(float(np.median(found)) - 100) > 40


def test_interrupted_runs_are_left_out():
    found = Trigger(5.0, interrupted=0.02).differences(50_000, 3)
    first, second = statistics.split(found)
    assert len(first) + len(second) < len(found)
    assert max(first.max() - 5, 5 - second.min()) < 400
    assert statistics.skew(first, second) == pytest.approx(5, abs=1)


def test_the_spikes_are_where_the_delay_puts_them():
    left, right = statistics.spikes(Trigger(10.0).differences(50_000, 4))
    assert (left, right) == pytest.approx((10 - 55, 10 + 55), abs=2)


def test_differences_without_spread_do_not_confuse_the_split():
    same = np.full(100, 7)
    left, right = statistics.spikes(same)
    assert left == right == 7


def test_intervals_hold_the_skew_as_often_as_they_say():
    held = 0
    for seed in range(200):
        sides = statistics.split(Trigger(3.0).differences(4_000, seed))
        values = statistics.samples(*sides, 200, 10)
        low, high = statistics.interval(values, 0.9)
        held += low <= 3.0 <= high
    assert 165 <= held <= 195  # 180 expected, 4 is the standard deviation


def test_more_confidence_is_wider_and_more_runs_are_narrower():
    sides = statistics.split(Trigger(3.0).differences(400_000, 5))

    def width(n, m, confidence):
        return statistics.interval(statistics.samples(*sides, n, m), confidence).width

    assert width(100, 20, 0.9) < width(100, 20, 0.99) < width(100, 20, 0.99999)
    assert width(10_000, 20, 0.9) < width(100, 20, 0.9)
    assert width(100, 500, 0.9) < width(100, 5, 0.9)


def test_samples_are_spread_over_all_runs():
    drifting = np.arange(1000.0)
    values = statistics.samples(drifting, drifting, 20, 5)
    assert len(values) == 5
    assert values[0] < 20
    assert values[-1] > 980


def test_too_few_runs_give_no_samples():
    assert statistics.samples(np.arange(3), np.arange(3), 100, 5) == []


def test_messages_far_off_are_left_out():
    some = np.concatenate((np.full(990, 100), np.full(10, 90_000)))
    assert statistics.near(some).max() == 100


def test_an_estimate_is_told_with_every_confidence():
    sides = statistics.split(Trigger(12.0).differences(2 * N * M, 6))
    rows = [*table_5("figure 6", 0, 1, *sides)]
    assert [row.confidence for row in rows] == [*statistics.CONFIDENCES]
    assert all(row.low < row.value < row.high for row in rows)
    assert rows[-1].low <= 12 <= rows[-1].high


def test_nothing_is_told_of_too_few_runs():
    assert [*table_5("figure 6", 0, 1, np.arange(5), np.arange(5))] == []
