# SPDX-License-Identifier: Apache-2.0
"""Request handlers send their metrics in batches over the application's one statsd client."""

from concurrent.futures import ThreadPoolExecutor

from datadog.dogstatsd.base import DogStatsd


class RecordingSocket:
    """Keeps what would have gone over the network."""

    def __init__(self):
        self.packets = []

    def send(self, payload):
        self.packets.append(payload.decode("utf-8"))

    def close(self):
        pass


def test_no_metric_of_a_batch_is_lost():
    statsd = DogStatsd(disable_telemetry=True)
    statsd.socket = RecordingSocket()

    def handle(request):
        with statsd:
            statsd.increment("page.views.%s" % request)
            statsd.gauge("page.size.%s" % request, 17)

    with ThreadPoolExecutor(max_workers=2) as handlers:
        for job in [handlers.submit(handle, name) for name in ("index", "search")]:
            job.result(timeout=5)

    sent = "\n".join(statsd.socket.packets).splitlines()
    assert sorted(line.split(":")[0] for line in sent if line) == [
        "page.size.index", "page.size.search", "page.views.index", "page.views.search"]
