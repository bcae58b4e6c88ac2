# SPDX-License-Identifier: Apache-2.0
"""A server answers two requests about public holidays right after its start; exit 1 if one of them fails."""

import sys
from concurrent.futures import ThreadPoolExecutor

import holidays

REQUESTS = {"DE": "2024-10-03", "FR": "2024-07-14"}


def is_holiday(country, day):
    return day in holidays.country_holidays(country)


def main():
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = {country: pool.submit(is_holiday, country, day) for country, day in REQUESTS.items()}
    failed = 0
    for country, job in jobs.items():
        error = job.exception(timeout=60)
        if error or not job.result():
            print("%s: %r" % (country, error))
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
