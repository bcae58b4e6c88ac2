# SPDX-License-Identifier: Apache-2.0
"""Prices, with the sum kept until one changes."""

import threading


class PriceList:
    """Sums are computed once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._prices: dict[str, int] = {}
        self._sum: int | None = None

    def set(self, name: str, price: int) -> None:
        """Set a price."""
        with self._lock:
            self._prices[name] = price
            self._sum = None

    def total(self) -> int:
        """The sum of all prices."""
        with self._lock:
            if self._sum is not None:
                return self._sum
            prices = list(self._prices.values())
        found = sum(prices)
        with self._lock:
            self._sum = found
        return found
