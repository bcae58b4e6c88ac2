# SPDX-License-Identifier: Apache-2.0
"""Two nodes join the same virtual bus at the same time; they must hear each other."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import can
import pytest

NUMBERS = itertools.count()


@pytest.fixture
def nodes():
    channel = "garage-%d" % next(NUMBERS)
    with ThreadPoolExecutor(max_workers=2) as executor:
        joining = [executor.submit(can.interface.Bus, channel, bustype="virtual") for _ in range(2)]
    nodes = [job.result(timeout=5) for job in joining]
    yield nodes
    for node in nodes:
        node.shutdown()


def test_nodes_hear_each_other(nodes):
    sender, receiver = nodes
    sender.send(can.Message(arbitration_id=0x123, data=[1, 2, 3]))

    received = receiver.recv(timeout=0)
    assert received is not None
    assert received.arbitration_id == 0x123
