# SPDX-License-Identifier: Apache-2.0
import json
import threading

import pytest
from elasticapm.transport.base import Transport


class Recorder(Transport):
    """Keeps what would be sent to the server."""

    def __init__(self, **kwargs):
        super().__init__(compress_level=0, max_flush_time=30, **kwargs)
        self.sent = []

    def send(self, data):
        self.sent += [json.loads(line) for line in bytes(data).splitlines()]


@pytest.fixture
def transport():
    recorder = Recorder(metadata={"service": {"name": "shop"}})
    yield recorder
    recorder.close()


def test_first_events_of_two_threads(transport):
    gate = threading.Barrier(2)

    def report(name):
        gate.wait()
        transport.queue("error", {"exception": name})

    threads = [threading.Thread(target=report, args=(name,)) for name in ("KeyError", "OSError")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    transport.flush(sync=True, start_flush_timer=False)
    errors = {event["error"]["exception"] for event in transport.sent if "error" in event}
    assert errors == {"KeyError", "OSError"}
