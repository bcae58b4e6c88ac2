# SPDX-License-Identifier: Apache-2.0
"""Three sensors, each with a thread of its own, are zipped to one stream of readings."""

import sys
import threading

import rx
from rx.subject import Subject

READINGS = 4


class Sensor(threading.Thread):
    def __init__(self, name, gate):
        super().__init__(name=name)
        self.gate = gate
        self.readings = Subject()

    def run(self):
        self.gate.wait()
        for number in range(READINGS):
            self.readings.on_next((self.name, number))


def main():
    gate = threading.Barrier(3)
    sensors = [Sensor(name, gate) for name in ("heat", "light", "noise")]
    rows, errors = [], []
    stream = rx.zip(*[sensor.readings for sensor in sensors])
    subscription = stream.subscribe(on_next=rows.append, on_error=errors.append)
    for sensor in sensors:
        sensor.start()
    for sensor in sensors:
        sensor.join(timeout=10)
    subscription.dispose()
    if errors:
        print("the stream broke off:", repr(errors[0]))
        return 1
    return 0 if len(rows) == READINGS else 2


if __name__ == "__main__":
    sys.exit(main())
