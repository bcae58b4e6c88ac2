# SPDX-License-Identifier: Apache-2.0
"""A reader waits in recv() while another thread gives up on a peer that does not answer the closing handshake."""

import socket
import threading

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.protocol import CLIENT, Protocol
from websockets.sync.connection import Connection


@pytest.fixture
def silent_peer():
    """Both ends of a connection; nobody reads or answers at the other end."""
    ours, theirs = socket.socketpair()
    yield ours
    theirs.close()


def test_reader_learns_that_the_connection_was_closed(silent_peer):
    connection = Connection(silent_peer, Protocol(CLIENT), close_timeout=0.02)
    outcome = []

    def reader():
        try:
            outcome.append(connection.recv())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=reader, daemon=True)
    thread.start()
    connection.close()
    thread.join(timeout=5)

    assert not thread.is_alive()
    assert [type(result) for result in outcome] != [AssertionError]
    assert isinstance(outcome[0], ConnectionClosed)
