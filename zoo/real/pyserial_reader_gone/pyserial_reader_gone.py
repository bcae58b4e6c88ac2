# SPDX-License-Identifier: Apache-2.0
"""A serial port behind a network server (RFC 2217) is opened, written to and closed."""

import socket
import sys
import threading

import serial
from serial import rfc2217


class Server(threading.Thread):
    """Answers one client, as the redirector of the package does; its device is a loop."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.client = None

    def write(self, data):
        self.client.sendall(data)

    def run(self):
        self.client, _ = self.listener.accept()
        with self.client, serial.serial_for_url("loop://") as device:
            manager = rfc2217.PortManager(device, self)
            while True:
                data = self.client.recv(1024)
                if not data:
                    return
                device.write(b"".join(manager.filter(data)))


def main():
    server = Server()
    server.start()
    port = serial.serial_for_url("rfc2217://127.0.0.1:%d" % server.port, timeout=1)
    port.write(b"AT\r")
    try:
        port.close()
    except AttributeError as error:
        print("close():", error)
        return 1
    finally:
        server.join(timeout=5)
        server.listener.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
