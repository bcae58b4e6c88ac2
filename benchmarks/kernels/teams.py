# SPDX-License-Identifier: Apache-2.0
"""Starting threads and waiting for them, as the kernels do."""

import threading


def in_threads(count, work):
    """The results of `work(place)` in `count` threads; one is run where we stand."""
    if count == 1:
        return [work(0)]
    results = [None] * count

    def keep(place):
        results[place] = work(place)

    threads = [threading.Thread(target=keep, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
