# SPDX-License-Identifier: Apache-2.0
"""A store fails twice in a row; whoever watches it must go home when it is back."""

import threading

import pytest
from ldclient.feature_store import InMemoryFeatureStore
from ldclient.impl.datasystem.fdv2 import DataStoreStatusProviderImpl, FeatureStoreClientWrapper
from ldclient.impl.listeners import Listeners
from ldclient.versioned_data_kind import FEATURES


class StoreDownError(Exception):
    pass


class FlakyStore(InMemoryFeatureStore):
    """Refuses a write, and is back at once."""

    def is_monitoring_enabled(self):
        return True

    def is_available(self):
        return True

    def upsert(self, kind, item):
        raise StoreDownError


@pytest.fixture
def wrapper():
    status = DataStoreStatusProviderImpl(None, Listeners())
    return FeatureStoreClientWrapper(FlakyStore(), status)


def pollers():
    return [thread for thread in threading.enumerate() if "check-availability" in thread.name]


class TestRecovery:
    @pytest.fixture(autouse=True)
    def known_pollers(self):
        self.before = set(pollers())

    def write(self, wrapper, key):
        with pytest.raises(StoreDownError):
            wrapper.upsert(FEATURES, {"key": key, "version": 1})

    def test_no_poller_is_left(self, wrapper):
        writers = [
            threading.Thread(target=self.write, args=(wrapper, key)) for key in ("dark-mode", "beta")
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        new = set(pollers()) - self.before
        for poller in new:
            poller.join(timeout=1)
        assert [poller.name for poller in new if poller.is_alive()] == []
