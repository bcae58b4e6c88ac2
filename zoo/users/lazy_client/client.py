# SPDX-License-Identifier: Apache-2.0
"""A client of a web service that logs in when it is first used."""

import logging

log = logging.getLogger(__name__)


class ApiClient:
    def __init__(self, transport):
        self._transport = transport
        self._connected = False
        self._token = None

    def get(self, path):
        """The answer; None if the service cannot be reached."""
        try:
            if not self._connected:
                self._connect()
            headers = {"Authorization": "Bearer " + self._token}
            return self._transport.send(path, headers)
        except Exception:
            log.exception("cannot get %s", path)
            return None

    def _connect(self):
        self._connected = True
        self._token = self._login()

    def _login(self):
        return self._transport.send("/login", {})["token"]
