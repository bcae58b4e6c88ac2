# SPDX-License-Identifier: Apache-2.0
import socket
import threading
import unittest

from amqpstorm.io import IO


class ConcurrentCloseTests(unittest.TestCase):
    """The application closes the connection while the heartbeat gives it up."""

    def setUp(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        host, port = self.listener.getsockname()
        self.io = IO({"hostname": host, "port": port, "ssl": False, "poller": "poll", "timeout": 1})

    def test_close_from_two_threads(self):
        self.io.open()
        errors = []
        together = threading.Barrier(2)

        def close():
            together.wait()
            try:
                self.io.close()
            except Exception as why:
                errors.append(why)

        closers = [threading.Thread(target=close, name=name) for name in ("application", "heartbeat")]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join(5)

        self.assertEqual(errors, [])
        self.assertIsNone(self.io.socket)


if __name__ == "__main__":
    unittest.main()
