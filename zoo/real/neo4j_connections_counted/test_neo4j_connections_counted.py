# SPDX-License-Identifier: Apache-2.0
"""A pool says how many connections are in use, while another thread opens one more."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j import Config, PoolConfig, WorkspaceConfig
from neo4j._sync.io import BoltPool
from neo4j.addressing import Address

SERVER = Address(("127.0.0.1", 7687))


class Connection:
    connection_id, local_port = "bolt-1", 50000
    in_use = False
    is_reset = True

    def __init__(self, address, timeout):
        self.unresolved_address = address

    def close(self):
        pass

    def closed(self):
        return False

    defunct = stale = closed


@pytest.fixture
def pool():
    settings = Config.consume_chain({}, PoolConfig, WorkspaceConfig)
    with BoltPool(Connection, *settings, SERVER) as pool:
        yield pool


@pytest.mark.parametrize("opened", [1, 2])
def test_count_while_connections_are_opened(pool, opened):
    first = pool.acquire(None, 5, None, None, None)
    with ThreadPoolExecutor(opened) as users:
        more = [users.submit(pool.acquire, None, 5, None, None, None) for _ in range(opened)]
        assert 1 <= pool.in_use_connection_count(SERVER) <= 1 + opened

    pool.release(first, *(future.result() for future in more))
    assert pool.in_use_connection_count(SERVER) == 0
