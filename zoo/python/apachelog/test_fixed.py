# SPDX-License-Identifier: Apache-2.0
"""Tests of a web server's access log, which is written to disk a buffer at a time."""

import io
import threading


class LogWriter:
    """Gathers log lines in a buffer of fixed size."""

    def __init__(self, file, size):
        self.lock = threading.RLock()
        self.file = file
        self.buffer = bytearray(size)
        self.used = 0

    def flush(self):
        with self.lock:
            self.file.write(self.buffer[: self.used])
            self.used = 0

    def write(self, line):
        with self.lock:
            if self.used + len(line) > len(self.buffer):
                self.flush()
            start = self.used
            self.buffer[start : start + len(line)] = line
            self.used = start + len(line)


class Server:
    def __init__(self, log):
        self.log = log
        self.lock = threading.Lock()
        self.served = 0

    def handle(self, path, status):
        with self.lock:
            self.served += 1
        self.log.write(f"{path} {status}\n".encode())


def client(server, requests):
    for path, status in requests:
        server.handle(path, status)


def test_every_request_is_logged():
    disk = io.BytesIO()
    log = LogWriter(disk, 256)
    server = Server(log)
    browsers = [
        threading.Thread(target=client, args=(server, [("/", 200), ("/logo.png", 200)])),
        threading.Thread(target=client, args=(server, [("/favicon.ico", 404)])),
    ]
    for browser in browsers:
        browser.start()
    for browser in browsers:
        browser.join()
    log.flush()
    assert server.served == 3
    lines = disk.getvalue().decode().splitlines()
    assert sorted(lines) == ["/ 200", "/favicon.ico 404", "/logo.png 200"]
