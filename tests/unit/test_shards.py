# SPDX-License-Identifier: Apache-2.0
from collections import Counter

import pytest

from unsnarl import config
from unsnarl.campaigns.merging import missing
from unsnarl.campaigns.shards import COMMON_RUNS, Shard
from unsnarl.errors import UsageError

LAST = 600


@pytest.mark.parametrize("count", [1, 2, 3, 8, 50])
def test_every_run_belongs_to_one_shard_and_the_first_ones_to_all(count):
    shards = [Shard(at, count) for at in range(1, count + 1)]
    owners = [sum(shard.owns(number) for shard in shards) for number in range(1, LAST)]
    assert owners[:COMMON_RUNS] == [count] * COMMON_RUNS
    assert set(owners[COMMON_RUNS:]) == {1}


@pytest.mark.parametrize("count", [1, 2, 3, 8, 50])
def test_a_shard_goes_from_one_of_its_runs_to_the_next(count):
    for shard in (Shard(at, count) for at in range(1, count + 1)):
        number, numbers = 0, []
        while (number := shard.next(number)) < LAST:
            numbers.append(number)
        assert numbers == [number for number in range(1, LAST) if shard.owns(number)]


@pytest.mark.parametrize("count", [2, 4, 6, 8])
def test_a_shard_has_odd_and_even_runs(count):
    # Switching modes take turns by number.
    numbers = [number for number in range(COMMON_RUNS + 1, LAST) if Shard(1, count).owns(number)]
    odd = Counter(number % 2 for number in numbers)
    assert min(odd.values()) > len(numbers) / 3


@pytest.mark.parametrize("text", ["0/8", "9/8", "1/0", "3", "3/", "a/b", "1/8/2", "-1/8", 3])
def test_what_is_no_shard_is_refused(tmp_path, text):
    with pytest.raises(UsageError, match="3/8"):
        config.load(tmp_path, {}, {"shard": text})


def test_a_shard_may_come_from_the_environment(tmp_path):
    # As a SLURM array or a matrix of CI has it.
    assert config.load(tmp_path, {"UNSNARL_SHARD": "3/8"}, {}).shard == "3/8"


def test_missing_shards_are_named():
    assert missing(["1/3", "3/3"]) == ("2/3",)
    assert missing(["2/3", "1/3", "3/3"]) == ()
    # All shards of one division have all runs; one more of another division changes nothing.
    assert missing(["1/1", "2/3"]) == ()
