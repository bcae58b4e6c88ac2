# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from pyrate_limiter import Duration, InMemoryBucket, Rate, RateItem


class TestInMemoryBucketWithLeaker:
    """What the background leaker does, at the same time as callers who look and callers who put."""

    @pytest.fixture
    def bucket(self):
        bucket = InMemoryBucket([Rate(50, Duration.SECOND)])
        for stamp in range(4):
            bucket.put(RateItem("old", stamp))
        return bucket

    @pytest.fixture
    def pool(self):
        with ThreadPoolExecutor(max_workers=3) as pool:
            yield pool

    def test_peek_and_put_while_leaking(self, bucket, pool):
        def leak():
            return sum(bucket.leak(3_500) for _ in range(40))

        def fill():
            return [bucket.put(RateItem("new", 2_000 + n)) for n in range(40)]

        def look():
            return [item.timestamp for item in (bucket.peek(1) for _ in range(40)) if item]

        leaked, filled, looked = (pool.submit(job) for job in (leak, fill, look))
        wait([leaked, filled, looked], timeout=10)
        assert all(filled.result())
        assert all(0 <= stamp < 2_040 for stamp in looked.result())
        assert bucket.count() == 4 + 40 - leaked.result()
