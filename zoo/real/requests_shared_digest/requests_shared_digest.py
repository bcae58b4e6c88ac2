# SPDX-License-Identifier: Apache-2.0
"""Two downloads share one HTTPDigestAuth, each with a session of its own."""

import collections
import collections.abc
import http.server
import re
import sys
import threading
import time
import uuid

for _name in (
    "Mapping",
    "MutableMapping",
    "Callable",
):  # this old release looks for them where Python 2 had them
    if not hasattr(collections, _name):
        setattr(collections, _name, getattr(collections.abc, _name))

import requests  # noqa: E402
from requests.auth import HTTPDigestAuth  # noqa: E402

PAUSE = 0.02  # the second download is usually wanted when the first one is under way, or over


class Vault(http.server.BaseHTTPRequestHandler):
    """Wants a nonce of ours, and each of its counts only once."""

    protocol_version = "HTTP/1.1"
    issued, spent = set(), set()

    def do_GET(self):
        header = self.headers.get("Authorization", "")
        fields = dict(re.findall(r'(\w+)="?([^",]+)', header))
        ticket = (fields.get("nonce"), fields.get("nc"))
        if ticket[0] in self.issued and ticket not in self.spent:
            self.spent.add(ticket)
            return self.answer(200, b"secret")
        nonce = uuid.uuid4().hex
        self.issued.add(nonce)
        self.answer(401, b"who?", ('Digest realm="vault", qop="auth", nonce="%s"' % nonce))

    def answer(self, status, body, challenge=None):
        self.send_response(status)
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def download(url, auth, results):
    session = requests.Session()
    session.trust_env = False
    results.append(session.get(url, auth=auth, timeout=5).status_code)
    session.close()


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Vault)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    auth, results = HTTPDigestAuth("alice", "sesame"), []
    url = "http://127.0.0.1:%d/file" % server.server_port
    downloads = [threading.Thread(target=download, args=(url, auth, results)) for _ in range(2)]
    for thread in downloads:
        thread.start()
        time.sleep(PAUSE)
    for thread in downloads:
        thread.join(timeout=10)
    server.shutdown()
    server.server_close()
    if results != [200] * 2:
        print("status codes with a right password:", results)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
