# SPDX-License-Identifier: Apache-2.0
"""A program connects to a broker of messages, and asks for the events of two topics."""

import logging
import os
import socketserver
import sys
import threading
import time
from unittest import mock

from dxlclient.broker import Broker
from dxlclient.client import DxlClient
from dxlclient.client_config import DxlClientConfig
from paho.mqtt import client as mqtt

threading.Thread.isAlive = threading.Thread.is_alive  # this release is older than Python 3.9


class MessageBroker(socketserver.StreamRequestHandler):
    """Answers whatever MQTT packet needs an answer."""

    def handle(self):
        while head := self.rfile.read(2):
            body = self.rfile.read(head[1])
            time.sleep(0.01)  # the way through the network
            kind = head[0] & 0xF0
            if kind == 0x10:
                self.wfile.write(b"\x20\x02\x00\x00")
            elif kind == 0x80:
                self.wfile.write(b"\x90\x03" + body[:2] + b"\x00")
            elif kind == 0xA0:
                self.wfile.write(b"\xb0\x02" + body[:2])
            elif kind == 0xE0:
                return


def listen(client, topics):
    client.connect()
    for topic in topics:
        client.subscribe(topic)


def main():
    logging.disable(logging.CRITICAL)
    topics = ["/doors", "/windows"]
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), MessageBroker) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        broker = Broker("127.0.0.1", port=server.server_address[1])
        with mock.patch.object(mqtt.Client, "tls_set"), mock.patch.object(mqtt.Client, "tls_insecure_set"):
            client = DxlClient(DxlClientConfig("ca.crt", "client.crt", "client.key", [broker]))

        listening = threading.Thread(target=listen, args=(client, topics), daemon=True)
        listening.start()
        listening.join(timeout=5)
        if listening.is_alive():
            print("the subscription does not end", flush=True)
            os._exit(1)  # destroy() would not end, either
        listened = set(client.subscriptions)
        server.shutdown()  # destroy() would take a second
    return 0 if listened >= set(topics) else 2


if __name__ == "__main__":
    sys.exit(main())
