# SPDX-License-Identifier: Apache-2.0
"""Two sensors report their first values, with the time as text, to a program that has just started."""

import sys
import threading

from influxdb_client import Point

WANTED = ["level,lake=como m=1.5 1656633600000000000", "level,lake=iseo m=2.5 1656633600000000000"]


def report(lake, metres, lines, failures):
    point = Point("level").tag("lake", lake).field("m", metres).time("2022-07-01T00:00:00Z")
    try:
        lines.append(point.to_line_protocol())
    except ValueError as error:
        failures.append(repr(error))


def main():
    lines, failures = [], []
    sensors = [
        threading.Thread(target=report, args=(lake, metres, lines, failures))
        for lake, metres in (("como", 1.5), ("iseo", 2.5))
    ]
    for sensor in sensors:
        sensor.start()
    for sensor in sensors:
        sensor.join()
    if sorted(lines) != WANTED:
        print("written:", sorted(lines), "not written:", failures)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
