# SPDX-License-Identifier: Apache-2.0
"""Convert the prices of orders with a table of exchange rates that is read when it is needed."""

import threading

RATES = """\
USD 1.10
GBP 0.85
JPY 160.0
"""


class Exchange:
    def __init__(self, source):
        self.source = source
        self.lock = threading.Lock()
        self.rates = None

    def rate(self, currency):
        if self.rates is None:
            with self.lock:
                if self.rates is None:
                    self.rates = {}
                    for line in self.source.splitlines():
                        name, value = line.split()
                        self.rates[name] = float(value)
        return self.rates[currency]


class Invoice:
    def __init__(self):
        self.lock = threading.Lock()
        self.total = 0.0

    def add(self, amount):
        with self.lock:
            self.total += amount


def convert(exchange, invoice, orders):
    for price, currency in orders:
        invoice.add(price / exchange.rate(currency))


def main():
    exchange, invoice = Exchange(RATES), Invoice()
    batches = [[(11, "USD"), (320, "JPY")], [(160, "JPY"), (17, "GBP")]]
    threads = [
        threading.Thread(target=convert, args=(exchange, invoice, orders)) for orders in batches
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"total {invoice.total:.2f} EUR")


if __name__ == "__main__":
    main()
