# SPDX-License-Identifier: Apache-2.0
"""Parcels are announced from a pool of workers; a mock stands in for the carrier."""

import threading
from concurrent.futures import ThreadPoolExecutor

import mock


class Depot:
    def __init__(self, carrier, workers):
        self.carrier = carrier
        self.workers = workers
        self.ready = threading.Barrier(workers)

    def _announce(self, parcel):
        self.ready.wait()
        self.carrier.tracking.announce(parcel)

    def ship(self, parcels):
        with ThreadPoolExecutor(max_workers=self.workers) as pool:
            list(pool.map(self._announce, parcels))


def test_every_parcel_is_announced():
    carrier = mock.Mock()
    Depot(carrier, workers=3).ship(["book", "lamp", "kite"])
    announced = [call.args[0] for call in carrier.tracking.announce.call_args_list]
    assert sorted(announced) == ["book", "kite", "lamp"]
