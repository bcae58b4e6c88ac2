# SPDX-License-Identifier: Apache-2.0
"""No lines are lost that are logged while the handler is flushed by another thread."""

import json
import logging
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from logdna import LogDNAHandler


class Ingestion(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.lines += [entry["line"] for entry in body["ls"]]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with HTTPServer(("127.0.0.1", 0), Ingestion) as server:
        server.lines = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join(timeout=5)


def test_lines_are_logged_during_a_flush(server):
    options = {"url": "http://127.0.0.1:%d" % server.server_port, "hostname": "shop", "flush_interval": 0.2}
    handler = LogDNAHandler("key", options)
    log = logging.Logger("orders")
    log.addHandler(handler)
    log.warning("order 1")
    logged = ["order 1"]

    flush = threading.Thread(target=handler.flush)
    flush.start()
    while flush.is_alive():
        logged.append("order %d" % (len(logged) + 1))
        log.warning(logged[-1])
        time.sleep(0.002)
    flush.join(timeout=10)
    handler.close()

    assert sorted(server.lines) == sorted(logged)
