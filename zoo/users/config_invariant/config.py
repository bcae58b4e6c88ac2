# SPDX-License-Identifier: Apache-2.0
"""The address of a service, which may change while the program runs."""


class Config:
    def __init__(self, source):
        self._source = source
        self.reload()

    def reload(self):
        values = self._source()
        self.host = values["host"]
        self.port = int(values["port"])

    def endpoint(self):
        return self.host, self.port
