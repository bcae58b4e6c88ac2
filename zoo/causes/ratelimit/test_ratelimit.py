# SPDX-License-Identifier: Apache-2.0
import threading

from ratelimit import Registry


def test_limit_holds():
    reg = Registry()
    granted = []

    def client():
        for _ in range(3):
            if reg.bucket("ann").take():
                granted.append(1)

    ts = [threading.Thread(target=client) for _ in range(2)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    assert len(granted) == 3
