# SPDX-License-Identifier: Apache-2.0
"""Hands out numbers for objects, as a C library would."""


class HandleTable:
    def __init__(self):
        self._objects = {}
        self._next = 1

    def register(self, obj):
        handle = self._next
        while handle in self._objects:
            handle += 1
        self._objects[handle] = obj
        self._next = handle + 1
        return handle

    def lookup(self, handle):
        return self._objects.get(handle)

    def free(self, handle):
        obj = self._objects.pop(handle, None)
        if obj is not None and handle < self._next:
            self._next = handle
        return obj
