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
    first, second = sorted((source, target), key=lambda warehouse: warehouse.name)
    with first.lock, second.lock:
        if source.stock.get(item, 0) < count:
            raise ValueError(f"{source} has too few {item}")
        source.stock[item] -= count
        target.stock[item] = target.stock.get(item, 0) + count
