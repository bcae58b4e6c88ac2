# SPDX-License-Identifier: Apache-2.0
"""Send messages over a connection that may be shut down by another thread at any time."""

import threading
import zlib


class Endpoint:
    def __init__(self, address):
        self.address = address
        self.packets = []

    def write(self, packet):
        self.packets.append(packet)


class Connection:
    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.valid = True

    def pack(self, text):
        data = text.encode("utf-8")
        return zlib.crc32(data).to_bytes(4, "big") + data

    def send(self, text):
        if not self.valid:
            return False
        packet = self.pack(text)
        self.endpoint.write(packet)
        return True

    def shut_down(self):
        self.valid = False
        self.endpoint = None


class Mailer(threading.Thread):
    def __init__(self, connection, messages):
        super().__init__()
        self.connection = connection
        self.messages = messages
        self.sent = []
        self.unsent = []

    def run(self):
        for text in self.messages:
            if self.connection.send(text):
                self.sent.append(text)
            else:
                self.unsent.append(text)


def main():
    endpoint = Endpoint("192.0.2.7:25")
    connection = Connection(endpoint)
    mailer = Mailer(connection, ["hello", "how are you", "goodbye"])
    breaker = threading.Thread(target=connection.shut_down)
    mailer.start()
    breaker.start()
    mailer.join()
    breaker.join()
    assert len(endpoint.packets) == len(mailer.sent)
    print(len(mailer.sent), "sent,", len(mailer.unsent), "not sent")


if __name__ == "__main__":
    main()
