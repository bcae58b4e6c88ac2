# SPDX-License-Identifier: Apache-2.0
"""Two requests end at the same time, and each of them flushes the log handler before it answers."""

import sys
import threading

from logzio.sender import LogzioSender


class Listener:
    """Takes the place of the session, and accepts every bulk."""

    def __init__(self):
        self.lines = []

    def post(self, url, headers, data, timeout):
        self.lines += data.splitlines()
        return self

    status_code = 200


def main():
    sender = LogzioSender("secret", url="http://localhost", logs_drain_timeout=0.1)
    listener = sender.requests_session = Listener()
    for number in range(3):
        sender.append({"message": "request %d" % number})

    flushers = [threading.Thread(target=sender.flush, name=name, daemon=True) for name in ("ann", "bob")]
    for flusher in flushers:
        flusher.start()
    for flusher in flushers:
        flusher.join(timeout=3)
    stuck = [flusher.name for flusher in flushers if flusher.is_alive()]
    if stuck:
        print("flush() does not return for", stuck)
        for _ in range(3):  # lets them and the sending thread go
            sender.append({"message": "bye"})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
