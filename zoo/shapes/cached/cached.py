# SPDX-License-Identifier: Apache-2.0
"""A cached attribute without a lock: two threads that look before either has stored get two values.

Runs in which the second thread comes late never share the sites of the path on which a value is
made. A hunt that switches only at sites seen to be shared may never take that path.
"""

import sys
import threading

LOCK = threading.Lock()


class Cached:
    def __init__(self, make):
        self.make, self.name = make, make.__name__

    def __get__(self, owner, kind=None):
        if "locked" in sys.argv:
            with LOCK:
                return self.value_for(owner)
        return self.value_for(owner)

    def value_for(self, owner):
        try:
            return owner.__dict__[self.name]
        except KeyError:
            value = owner.__dict__[self.name] = self.make(owner)
            return value


class Service:
    @Cached
    def resource(self):
        return [str(number) for number in range(3)]


def main():
    service, values = Service(), []
    threads = [
        threading.Thread(target=lambda: values.append(service.resource), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values[0] is values[1]


main()
