# SPDX-License-Identifier: Apache-2.0
"""A sniffer is stopped as soon as it says that it has started."""

import socket
import threading

import pytest
from scapy.sendrecv import AsyncSniffer
from scapy.supersocket import SuperSocket


class OneEnd(SuperSocket):
    """One end of a pair of local sockets."""

    def __init__(self, sock):
        self.ins = self.outs = sock


@pytest.fixture
def quiet_wire():
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    yield OneEnd(left)
    left.close()
    right.close()


def test_sniffer_can_be_stopped_once_it_has_started(quiet_wire):
    started = threading.Event()
    sniffer = AsyncSniffer(opened_socket=quiet_wire, started_callback=started.set, store=False, quiet=True)
    sniffer.start()
    assert started.wait(timeout=5)
    sniffer.stop(join=False)
    sniffer.thread.join(timeout=1)

    assert not sniffer.thread.is_alive()
    assert not sniffer.continue_sniff
