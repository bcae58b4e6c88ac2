# SPDX-License-Identifier: Apache-2.0
"""Three threads call one service over one connection and expect quick answers."""

import sys
import threading

import rpyc
from rpyc.utils.factory import connect_thread

PATIENCE = 2.0


class Calculator(rpyc.Service):
    def exposed_double(self, number):
        return 2 * number


def ask(double, answers, first):
    for number in range(first, first + 3):
        answers.append(double(number))


def main():
    connection = connect_thread(remote_service=Calculator, config={"sync_request_timeout": 4})
    double = connection.root.double
    answers = []
    callers = [
        threading.Thread(target=ask, args=(double, answers, 10 * n), daemon=True) for n in range(3)
    ]
    for caller in callers:
        caller.start()
    slow = []
    for caller in callers:
        caller.join(timeout=PATIENCE)
        if caller.is_alive():
            slow.append(caller.name)
    if slow:
        print("still waiting for a reply:", ", ".join(slow))
        return 1
    wanted = [2 * (10 * n + i) for n in range(3) for i in range(3)]
    connection.close()
    return 0 if sorted(answers) == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
