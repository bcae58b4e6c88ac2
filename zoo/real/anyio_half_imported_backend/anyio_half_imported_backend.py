# SPDX-License-Identifier: Apache-2.0
"""Two threads start an event loop each, and are the first in the process to do so."""

import sys
import threading

import anyio


async def greet(names, name):
    await anyio.sleep(0)
    names.append(name)


def main():
    names = []
    threads = [threading.Thread(target=anyio.run, args=(greet, names, name)) for name in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    if sorted(names) != ["ann", "bob"]:
        print("only heard of", names)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
