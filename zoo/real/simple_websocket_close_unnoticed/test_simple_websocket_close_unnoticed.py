# SPDX-License-Identifier: Apache-2.0
"""The handler of a web socket waits for messages until the client closes the connection."""

import socket
import threading

import pytest
from simple_websocket import ConnectionClosed, Server
from wsproto.connection import Connection, ConnectionType
from wsproto.events import CloseConnection, TextMessage


@pytest.fixture
def sockets():
    pair = socket.socketpair()
    yield pair
    for one in pair:
        one.close()


def environ(server):
    return {
        "werkzeug.socket": server,
        "HTTP_HOST": "example.org",
        "HTTP_CONNECTION": "Upgrade",
        "HTTP_UPGRADE": "websocket",
        "HTTP_SEC_WEBSOCKET_KEY": "dGhlIHNhbXBsZSBub25jZQ==",
        "HTTP_SEC_WEBSOCKET_VERSION": "13",
    }


def test_handler_ends_when_the_client_closes(sockets):
    server, browser = sockets
    received, closed = [], []
    client = Connection(ConnectionType.CLIENT)
    web_socket = Server(environ(server))

    def handler():
        try:
            while True:
                received.append(web_socket.receive())
        except ConnectionClosed as error:
            closed.append(error.reason)

    thread = threading.Thread(target=handler, daemon=True)
    thread.start()
    browser.sendall(client.send(TextMessage(data="hello")))
    browser.sendall(client.send(CloseConnection(code=1000)))
    thread.join(timeout=5)

    assert not thread.is_alive(), "the handler still waits for a message"
    assert closed == [1000]
