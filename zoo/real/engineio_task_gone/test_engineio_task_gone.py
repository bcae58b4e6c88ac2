# SPDX-License-Identifier: Apache-2.0
from unittest import mock

import engineio
import pytest


@pytest.fixture
def client():
    eio = engineio.Client(handle_sigint=False)
    eio.state = "connected"
    eio.base_url = "http://localhost/engine.io/?transport=polling&EIO=4"
    eio.current_transport = "polling"
    eio.ping_interval, eio.ping_timeout = 25, 20
    eio.queue = eio.create_queue()
    eio._send_request = mock.MagicMock(return_value=None)
    return eio


class TestConnectionRefused:
    def test_disconnect_handler_is_told(self, client):
        reasons = []
        client.on("disconnect", reasons.append)
        client.write_loop_task = client.start_background_task(client._write_loop)
        client.read_loop_task = client.start_background_task(client._read_loop_polling)
        client.read_loop_task.join(timeout=10)
        assert reasons == [client.reason.TRANSPORT_ERROR]
        assert client.state == "disconnected"
