# SPDX-License-Identifier: Apache-2.0
"""A server takes two messages at once, right after its start; exit 1 if one of them cannot be read."""

import sys
from concurrent.futures import ThreadPoolExecutor, wait

from hl7apy.parser import parse_message

MESSAGES = [
    "MSH|^~\\&|ADT|WARD%d|LAB|CITY|20240305101500||ADT^A01|MSG0000%d|P|2.4\r"
    "EVN|A01|20240305101500\r"
    "PID|1||4711%d||DOE^JANE||19700101|F\r" % (number, number, number)
    for number in (1, 2)
]


def control_id(message):
    return parse_message(message, find_groups=False).msh.msh_10.value


def main():
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(control_id, message) for message in MESSAGES]
        wait(jobs, timeout=60)
    errors = [job.exception() for job in jobs if job.exception()]
    if errors:
        print("cannot read a message:", errors)
        return 1
    if [job.result() for job in jobs] != ["MSG00001", "MSG00002"]:
        print("read:", [job.result() for job in jobs])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
