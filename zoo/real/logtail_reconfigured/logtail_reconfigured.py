# SPDX-License-Identifier: Apache-2.0
"""A service sends its logs to a server; then it reads its configuration, and sets up its logging anew."""

import logging
import logging.config
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from logtail import LogtailHandler

SETTINGS = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"null": {"class": "logging.NullHandler"}},
    "root": {"handlers": ["null"], "level": "INFO"},
}


class LogServer(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(202)
        self.end_headers()

    def log_message(self, *args):
        pass


def main():
    with ThreadingHTTPServer(("127.0.0.1", 0), LogServer) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

        log = logging.getLogger("service")
        log.setLevel(logging.INFO)
        address = f"http://127.0.0.1:{server.server_port}"
        handler = LogtailHandler("token", host=address, flush_interval=0.01, check_interval=0.01)
        log.addHandler(handler)
        log.info("the service starts")
        time.sleep(0.15)

        setting_up = threading.Thread(target=logging.config.dictConfig, args=(SETTINGS,), daemon=True)
        setting_up.start()
        setting_up.join(timeout=5)
        if setting_up.is_alive():
            print("the logging is not set up", flush=True)
            os._exit(1)  # the end of the program would wait for the handler, too
        handler.flush()
        server.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
