# SPDX-License-Identifier: Apache-2.0
"""A worker still logs while the program takes all of its sinks away before it ends."""

import sys
import threading

from loguru import logger


class Sink:
    def __init__(self):
        self.lines = []

    def write(self, line):
        self.lines.append(line)


def work(failures):
    try:
        for step in range(3):
            logger.info("step {}", step)
    except Exception as error:
        failures.append(repr(error))


def main():
    logger.remove()
    for _ in range(3):
        logger.add(Sink(), format="{message}", catch=False)

    failures = []
    worker = threading.Thread(target=work, args=(failures,))
    worker.start()
    logger.remove()
    worker.join()
    if failures:
        print("the worker could not log:", *failures)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
