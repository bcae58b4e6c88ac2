# SPDX-License-Identifier: Apache-2.0
"""One session for each user, made when it is first asked for."""

import threading


class Session:
    def __init__(self, user):
        self.user = user


class SessionFactory:
    def __init__(self):
        self._sessions = {}
        self._lock = threading.Lock()

    def session(self, user: str):
        found = self._sessions.get(user)
        if found is None:
            found = Session(user)
            with self._lock:
                self._sessions[user] = found
        return found

    def logout(self, user: str):
        with self._lock:
            return self._sessions.pop(user, None) is not None
