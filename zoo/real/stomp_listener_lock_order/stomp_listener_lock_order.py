# SPDX-License-Identifier: Apache-2.0
"""A listener keeps the orders that came in; another thread sends what is due."""

import sys
import threading

from stomp.listener import ConnectionListener
from stomp.transport import BaseTransport
from stomp.utils import Frame


class Loopback(BaseTransport):
    def __init__(self):
        super().__init__()
        self.sent = []

    def send(self, encoded_frame):
        self.sent.append(encoded_frame)


class Orders(ConnectionListener):
    def __init__(self):
        self.lock = threading.Lock()
        self.open = ["first"]

    def on_message(self, headers, body):
        with self.lock:
            self.open.append(body)

    def send_due(self, transport):
        with self.lock:
            for order in self.open:
                transport.transmit(Frame("SEND", {"destination": "/queue/due"}, order))
            self.open.clear()


def main():
    transport, orders = Loopback(), Orders()
    transport.set_listener("orders", orders)
    receiver = threading.Thread(
        target=transport.notify, args=("message", {"message-id": "7"}, "second"), daemon=True
    )
    sender = threading.Thread(target=orders.send_due, args=(transport,), daemon=True)
    receiver.start()
    sender.start()
    for thread in (receiver, sender):
        thread.join(timeout=5)
        if thread.is_alive():
            print("nothing is sent or received any more")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
