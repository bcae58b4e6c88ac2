# SPDX-License-Identifier: Apache-2.0
"""Workers begin tasks with a time limit while the limits are looked at; exit 1 if the guard of the limits stumbles."""

import logging
import sys
import threading
import time

import dramatiq
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import TimeLimit


class Complaints(logging.Handler):
    def __init__(self):
        super().__init__(logging.ERROR)
        self.records = []

    def emit(self, record):
        self.records.append(record)


def main():
    complaints = Complaints()
    logging.getLogger("dramatiq").addHandler(complaints)
    limit = TimeLimit(time_limit=60000, interval=5)
    broker = StubBroker(middleware=[limit])

    @dramatiq.actor(broker=broker)
    def greet(name):
        return "hello %s" % name

    message = greet.message("ann")
    done = threading.Barrier(3)

    def work():
        limit.before_process_message(broker, message)
        done.wait(5)  # so that the threads do not share a number
        limit.after_process_message(broker, message)

    limit.before_process_message(broker, message)
    limit.after_process_boot(broker)
    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    done.wait(5)
    for worker in workers:
        worker.join(5)
    time.sleep(0.02)  # the guard looks once more
    logging.getLogger("dramatiq").removeHandler(complaints)
    for record in complaints.records:
        print(record.getMessage(), record.exc_info[1])
    return 1 if complaints.records else 0


if __name__ == "__main__":
    sys.exit(main())
