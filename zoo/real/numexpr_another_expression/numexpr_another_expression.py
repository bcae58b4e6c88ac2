# SPDX-License-Identifier: Apache-2.0
"""The daily report of a weather station: each column is computed by a thread of its own."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numexpr
import numpy

READINGS = {
    "celsius": numpy.array([-3.0, 4.0, 11.0, 8.5]),
    "metres": numpy.array([2.0, 5.5, 7.0, 3.0]),
}
COLUMNS = {
    "fahrenheit": "celsius * 1.8 + 32",
    "knots": "metres / 0.514444",
}


def compute(column):
    return column, numexpr.evaluate(COLUMNS[column], local_dict=READINGS)


def main():
    numexpr.set_num_threads(1)
    with ThreadPoolExecutor(max_workers=len(COLUMNS)) as pool:
        report = dict(pool.map(compute, COLUMNS))

    wanted = {
        "fahrenheit": READINGS["celsius"] * 1.8 + 32,
        "knots": READINGS["metres"] / 0.514444,
    }
    wrong = [column for column in COLUMNS if not numpy.allclose(report[column], wanted[column])]
    if wrong:
        sys.exit(f"wrong columns: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
