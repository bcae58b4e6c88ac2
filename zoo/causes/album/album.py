# SPDX-License-Identifier: Apache-2.0
"""Photos with the room that they take; the list of them is made when it is needed."""

import threading


def new_list():
    return []


def room(name):
    return len(name)


class Album:
    def __init__(self):
        self._lock = threading.Lock()
        self._photos = None
        self.used = 0

    def add(self, name):
        self._list().append(name)
        self.used = self.used + room(name)

    def _list(self):
        if self._photos is None:
            self._photos = new_list()
        return self._photos

    def names(self):
        return sorted(self._list())
