# SPDX-License-Identifier: Apache-2.0
"""Features are switched off for good while requests ask for them."""

import threading

import pytest
from growthbook import GrowthBook

SALE = {"sale": {"defaultValue": True}}


@pytest.fixture
def client():
    client = GrowthBook(features=SALE, attributes={"id": "ann"})
    yield client
    client.destroy()


@pytest.mark.parametrize("update", [{}, {"news": {"defaultValue": True}}], ids=["none", "another"])
def test_feature_is_taken_away_while_it_is_asked_for(client, update):
    taking = threading.Thread(target=client.set_features, args=(update,))
    taking.start()
    answer = client.is_on("sale")
    taking.join()

    assert answer in (True, False)
    assert not client.is_on("sale")
