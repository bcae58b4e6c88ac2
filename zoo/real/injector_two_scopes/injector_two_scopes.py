# SPDX-License-Identifier: Apache-2.0
"""Two handlers are the first to ask the application's injector for the price list."""

import sys
import threading

from injector import Injector, inject, singleton


class Settings:
    currency = "EUR"


@singleton
class PriceList:
    @inject
    def __init__(self, settings: Settings):
        self.currency = settings.currency
        self.prices = {}


class Handler(threading.Thread):
    def __init__(self, application, article, price):
        super().__init__(daemon=True)
        self.application = application
        self.article, self.price = article, price

    def run(self):
        self.application.get(PriceList).prices[self.article] = self.price


def main():
    application = Injector()
    handlers = [Handler(application, "tea", 4), Handler(application, "salt", 1)]
    for handler in handlers:
        handler.start()
    for handler in handlers:
        handler.join(timeout=5)
    prices = application.get(PriceList).prices
    if prices != {"tea": 4, "salt": 1}:
        print("the price list has only", prices)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
