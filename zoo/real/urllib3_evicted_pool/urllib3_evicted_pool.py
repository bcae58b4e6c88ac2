# SPDX-License-Identifier: Apache-2.0
"""Two crawlers share one PoolManager that has room for a single host."""

import http.server
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import urllib3


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *args):
        pass


def crawl(manager, url, pages):
    return [manager.request("GET", url, retries=False, timeout=5).data for _ in range(pages)]


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    serving.start()
    manager = urllib3.PoolManager(num_pools=1)
    hosts = ["127.0.0.1", "localhost"]
    try:
        with ThreadPoolExecutor(max_workers=2) as crawlers:
            jobs = [
                crawlers.submit(crawl, manager, "http://%s:%d/" % (host, server.server_port), 3)
                for host in hosts
            ]
        pages = [job.result(timeout=10) for job in jobs]
    except urllib3.exceptions.ClosedPoolError as error:
        print("a pool was closed under a request:", error)
        return 1
    finally:
        manager.clear()
        server.shutdown()
        server.server_close()
    return 0 if pages == [[b"hello"] * 3] * 2 else 1


if __name__ == "__main__":
    sys.exit(main())
