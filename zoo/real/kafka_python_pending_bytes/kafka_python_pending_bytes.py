# SPDX-License-Identifier: Apache-2.0
"""Three threads of a client send one request each over one connection; the broker counts what arrives."""

import logging
import socket
import struct
import sys
import threading

from kafka.conn import BrokerConnection
from kafka.protocol.metadata import MetadataRequest


def requests_in(stream):
    """The correlation ids of the requests, in the order of their arrival."""
    ids = []
    while len(stream) >= 12:
        size, _key, _version, correlation = struct.unpack(">ihhi", stream[:12])
        ids.append(correlation)
        stream = stream[4 + size:]
    return ids


def main():
    logging.disable(logging.CRITICAL)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        client = BrokerConnection(host, port, socket.AF_INET, api_version=(0, 10, 1))
        assert client.connect_blocking(timeout=5)
        broker, _ = listener.accept()

    topics = ["orders", "stock", "mail"]
    threads = [threading.Thread(target=client.send, args=(MetadataRequest[0]([topic]),)) for topic in topics]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    client.close()

    received = b""
    with broker:
        broker.settimeout(5)
        while True:
            chunk = broker.recv(4096)
            if not chunk:
                break
            received += chunk
    seen = sorted(requests_in(received))
    if len(seen) != len(topics) or len(set(seen)) != len(topics):
        print("the broker saw the requests", seen)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
