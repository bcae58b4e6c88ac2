# SPDX-License-Identifier: Apache-2.0
"""A small web application that counts the visits of its users."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Session:
    def __init__(self, user):
        self.user = user
        self.pages = []


class SessionStore:
    def __init__(self):
        self._sessions = {}
        self._lock = threading.Lock()

    def session_of(self, user):
        with self._lock:
            session = self._sessions.get(user)
            if session is None:
                session = self._sessions[user] = Session(user)
            return session


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        (user,) = parse_qs(url.query)["user"]
        session = self.server.store.session_of(user)
        session.pages.append(url.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(user.encode())

    def log_message(self, *args):
        pass


class Application(ThreadingHTTPServer):
    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.store = SessionStore()
