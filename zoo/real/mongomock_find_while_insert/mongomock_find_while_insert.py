# SPDX-License-Identifier: Apache-2.0
"""A report is made of a collection into which a worker still writes; exit 1 if the report breaks off."""

import sys
import threading

import mongomock


def main():
    orders = mongomock.MongoClient().shop.orders
    orders.insert_many([{"_id": number, "state": "open"} for number in range(3)])
    errors = []

    def work():
        for number in range(3, 6):
            orders.insert_one({"_id": number, "state": "new"})

    def report():
        try:
            found = [order["_id"] for order in orders.find({"state": "open"})]
            if found != [0, 1, 2]:
                errors.append("found %r" % found)
        except RuntimeError as error:
            errors.append(error)

    threads = [threading.Thread(target=job) for job in (report, work)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    if errors:
        print("the report breaks off:", errors)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
