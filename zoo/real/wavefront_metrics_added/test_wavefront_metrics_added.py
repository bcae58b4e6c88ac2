# SPDX-License-Identifier: Apache-2.0
"""The metrics of the sender itself are reported once more when it is closed."""

import threading

import pytest
from wavefront_sdk.common.metrics.registry import WavefrontSdkMetricsRegistry


class Sender:
    def __init__(self):
        self.sent = []

    def send_metric(self, name, value, timestamp, source, tags):
        self.sent.append(name)


@pytest.fixture
def sender():
    return Sender()


def test_close_reports_while_a_worker_still_counts(sender):
    registry = WavefrontSdkMetricsRegistry(sender, prefix="sdk", reporting_interval_secs=60)
    for name in ("points", "spans"):
        registry.new_counter(name).inc()

    ready = threading.Barrier(2)

    def work():
        ready.wait(timeout=5)
        for status in (200, 404, 500):
            registry.new_counter("status.%d" % status).inc()

    worker = threading.Thread(target=work)
    worker.start()
    ready.wait(timeout=5)
    registry.close()
    worker.join(timeout=5)

    assert sender.sent[:2] == ["sdk.points.count", "sdk.spans.count"]
