# SPDX-License-Identifier: Apache-2.0
"""A model is trained and judged at the same time, each with settings of its own."""

import sys
import threading

import gin


@gin.configurable
def batch(size=0):
    return size


SETTINGS = {"training": 64, "judging": 8}


def run(scope, sizes):
    with gin.config_scope(scope):
        sizes[scope] = batch()


def main():
    for scope, size in SETTINGS.items():
        gin.bind_parameter(f"{scope}/batch.size", size)
    sizes = {}
    runs = [threading.Thread(target=run, args=(scope, sizes)) for scope in SETTINGS]
    for one in runs:
        one.start()
    for one in runs:
        one.join()
    if sizes != SETTINGS:
        print("sizes:", sizes)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
