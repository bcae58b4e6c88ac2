# SPDX-License-Identifier: Apache-2.0
"""Which runs of a hunt belong to one of several machines that know nothing of each other.

The first runs are everybody's: each shard makes them itself, and they teach all later plans. After
them a plan depends on the seed and the run's number alone. So run 700 is the same run in whichever
shard it is made, and shards put together are the one hunt that made all of them (docs/adr/0083).
"""

from __future__ import annotations

import dataclasses

# Ten runs, then five serial ones if none has passed (campaign.py): the sites that threads share,
# the length of a run and the reads to aim at are known by then.
COMMON_RUNS = 16
# All of a hunt whose plans are those of shards: a merged one, or one on a cluster.
WHOLE = "1/1"


@dataclasses.dataclass(frozen=True, order=True)
class Shard:
    """Part `index` of `count`; the first one is 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From `3/8`, which the settings have checked."""
        index, count = map(int, text.split("/"))
        return cls(index, count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def owns(self, number: int) -> bool:
        """Whether this shard makes a run.

        The turn moves on by one each round: strategies and switching modes go by number, too, and
        a shard would otherwise have every second one of them.
        """
        if number <= COMMON_RUNS:
            return True
        turn, at = divmod(number - COMMON_RUNS - 1, self.count)
        return (at + turn) % self.count == self.index - 1

    def next(self, number: int) -> int:
        """The first run of this shard after run `number`."""
        return next(one for one in range(number + 1, number + 2 * self.count + 1) if self.owns(one))
