# SPDX-License-Identifier: Apache-2.0
"""Workers of a shop log what goes wrong; a filter drops the messages that were logged a moment ago."""

import io
import logging
import os
import sys
from concurrent.futures import ThreadPoolExecutor

os.environ["LOG_CACHE_SIZE"] = "3"
os.environ["LOG_CACHE_EXPIRE"] = "60"

from belogging.filters import LoggerDuplicationFilter  # noqa: E402

ORDERS = {1: "no stock", 2: "card refused", 3: "no address", 4: "no stock", 5: "out of paper", 6: "card refused"}


def handle(logger, order):
    logger.warning(ORDERS[order])
    return order


def main():
    logger = logging.getLogger("shop")
    logger.propagate = False
    handler = logging.StreamHandler(io.StringIO())
    handler.addFilter(LoggerDuplicationFilter())
    logger.addHandler(handler)

    with ThreadPoolExecutor(max_workers=2) as pool:
        pending = [pool.submit(handle, logger, order) for order in ORDERS]
    lost = [repr(future.exception()) for future in pending if future.exception()]
    if lost:
        print("orders not handled:", *lost)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
