# SPDX-License-Identifier: Apache-2.0
"""A server takes messages from two wards, right after its start; exit 1 if one of them cannot be read."""

import sys
from concurrent.futures import ThreadPoolExecutor, wait

from hl7apy.parser import parse_message

MESSAGE = (
    "MSH|^~\\&|ADT|WARD|LAB|CITY|20240305101500||ADT^A01|MSG%s|P|%s\r"
    "EVN|A01|20240305101500\r"
    "PID|1||4711||DOE^JANE||19700101|F\r"
)


def control_ids(*versions):
    messages = [parse_message(MESSAGE % (version, version), find_groups=False) for version in versions]
    return [message.msh.msh_10.value for message in messages]


def main():
    with ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(control_ids, "2.4"), pool.submit(control_ids, "2.5", "2.4")]
        wait(jobs, timeout=60)
    errors = [job.exception() for job in jobs if job.exception()]
    if errors:
        print("cannot read a message:", errors)
        return 1
    if [job.result() for job in jobs] != [["MSG2.4"], ["MSG2.5", "MSG2.4"]]:
        print("read:", [job.result() for job in jobs])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
