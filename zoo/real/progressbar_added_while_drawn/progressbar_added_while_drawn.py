# SPDX-License-Identifier: Apache-2.0
"""Downloads show a bar each; their bars are added while the others are already drawn."""

import io
import sys
import threading

import progressbar

FILES = ["data", "docs", "images", "code"]
CRASHED = []


def main():
    threading.excepthook = lambda args: CRASHED.append(repr(args.exc_value))
    bars = progressbar.MultiBar(fd=io.StringIO(), update_interval=0.001)
    bars["total"].start(max_value=len(FILES))
    with bars:
        for name in FILES:
            bars[name].start(max_value=1)
            bars[name].finish()
            bars["total"].increment()
        bars["total"].finish()
    if CRASHED:
        print("the bars are not drawn any more:", *CRASHED)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
