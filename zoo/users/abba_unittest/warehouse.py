# SPDX-License-Identifier: Apache-2.0
"""Goods in warehouses, moved from one to another."""

import threading


class Warehouse:
    def __init__(self, name, **stock):
        self.name = name
        self.stock = stock
        self.lock = threading.Lock()

    def __repr__(self):
        return f"Warehouse({self.name!r})"


def transfer(source, target, item, count):
    with source.lock:
        if source.stock.get(item, 0) < count:
            raise ValueError(f"{source} has too few {item}")
        with target.lock:
            source.stock[item] -= count
            target.stock[item] = target.stock.get(item, 0) + count
