# SPDX-License-Identifier: Apache-2.0
"""A short-lived client: connect, start the network loop, publish one reading, stop the loop."""

import contextlib
import socket
import sys
import threading

import paho.mqtt.client as mqtt

CONNACK = b"\x20\x02\x00\x00"


class OneClientBroker(threading.Thread):
    """Accepts a single client and swallows whatever it sends."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def run(self):
        peer, _ = self.listener.accept()
        with peer, contextlib.suppress(ConnectionError):  # a client may leave without a word
            peer.sendall(CONNACK)
            while peer.recv(1024):
                pass


def use_once(client, port):
    client.connect("127.0.0.1", port)
    client.loop_start()
    client.publish("cellar/temperature", "11.5")
    client.loop_stop()


def main():
    broker = OneClientBroker()
    broker.start()
    client = mqtt.Client("thermometer")
    user = threading.Thread(target=use_once, args=(client, broker.port), daemon=True)
    user.start()
    user.join(timeout=5)
    hung = user.is_alive()
    if hung:
        print("loop_stop() does not return")
    broker.listener.close()
    return 1 if hung else 0


if __name__ == "__main__":
    sys.exit(main())
