# SPDX-License-Identifier: Apache-2.0
import random
import threading
import time
from collections import Counter

from metrics import Metrics


def handle_requests(metrics, number):
    random.seed(number)
    for _ in range(number):
        time.sleep(random.uniform(0.0, 0.01))  # the work
        metrics.count("requests")


def test_all_requests_are_sent():
    sent = Counter()
    metrics = Metrics(sent.update, interval=0.005)
    server = threading.Thread(target=handle_requests, args=(metrics, 3), name="server")
    server.start()
    server.join(timeout=10)
    metrics.close()
    assert sent["requests"] == 3
