# SPDX-License-Identifier: Apache-2.0
"""Send mail in the background until the mailer is closed; later mail goes to a spool."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Mailer:
    def __init__(self):
        self.pool = ThreadPoolExecutor(max_workers=1)
        self.lock = threading.Lock()
        self.closed = False
        self.sent = []
        self.spool = []

    def send(self, address):
        with self.lock:
            if self.closed:
                self.spool.append(address)
                return
            self.pool.submit(self.deliver, address)

    def deliver(self, address):
        with self.lock:
            self.sent.append(address.lower())

    def close(self):
        with self.lock:
            self.closed = True
        self.pool.shutdown()


def newsletter(mailer, addresses):
    for address in addresses:
        mailer.send(address)


def main():
    mailer = Mailer()
    mailer.send("Ada@example.org")
    sender = threading.Thread(
        target=newsletter, args=(mailer, ["Grace@example.org", "Alan@example.org"])
    )
    sender.start()
    mailer.close()
    sender.join()
    assert len(mailer.sent) + len(mailer.spool) == 3, "mail has been lost"


if __name__ == "__main__":
    main()
