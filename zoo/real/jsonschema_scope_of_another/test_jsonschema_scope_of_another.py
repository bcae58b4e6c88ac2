# SPDX-License-Identifier: Apache-2.0
"""One validator checks the orders of all threads; parts of its schema are in folders of their own."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from jsonschema import Draft7Validator

SCHEMA = {
    "$id": "file:///srv/shop/order.json",
    "properties": {
        "customer": {"$ref": "people/customer.json"},
        "item": {"$ref": "stock/item.json"},
    },
    "definitions": {
        "customer": {
            "$id": "file:///srv/shop/people/customer.json",
            "properties": {"name": {"$ref": "name.json"}},
            "definitions": {"name": {"$id": "file:///srv/shop/people/name.json", "type": "string"}},
        },
        "item": {
            "$id": "file:///srv/shop/stock/item.json",
            "properties": {"pieces": {"$ref": "pieces.json"}},
            "definitions": {
                "pieces": {"$id": "file:///srv/shop/stock/pieces.json", "type": "integer"}
            },
        },
    },
}


@pytest.fixture
def validator():
    return Draft7Validator(SCHEMA)


def test_two_orders_at_the_same_time(validator):
    orders = [{"customer": {"name": "ann"}}, {"item": {"pieces": 3}}]
    ready = threading.Barrier(len(orders))

    def check(order):
        ready.wait(timeout=5)
        return validator.is_valid(order)

    with ThreadPoolExecutor(len(orders)) as pool:
        assert list(pool.map(check, orders)) == [True, True]
    assert not validator.is_valid({"item": {"pieces": "three"}})
