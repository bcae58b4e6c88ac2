# SPDX-License-Identifier: Apache-2.0
"""Sites and points: where in the source something happened, and what."""

from __future__ import annotations

import enum

import msgspec

# Sources of C and C++, and the headers that are compiled into them.
C_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")
C_HEADERS = (".h", ".hh", ".hpp", ".hxx")
# A call's own instruction comes so closely after the look-up of the method (gate/lock.c).
CALL_REACH = 40


class Op(enum.IntEnum):
    """What was done at a site; the low four bits of a point (format.h, enum uns_op)."""

    READ = 0
    WRITE = 1
    ACQUIRE = 2
    RELEASE = 3
    WAIT = 4
    START = 5
    BEGIN = 6
    END = 7
    JOIN = 8
    SLEEP = 9
    CALL = 10
    ENTER = 11
    EXIT = 12
    BLOCK = 13

    @property
    def is_sync(self) -> bool:
        """Whether the operation is on a lock or a thread rather than on data."""
        return Op.ACQUIRE <= self <= Op.SLEEP

    @property
    def word(self) -> str:
        """The word that reports use."""
        return self.name.lower()


class Site(msgspec.Struct, frozen=True, order=True):
    """A static code point: the same in every run of one campaign."""

    file: str
    function: str
    line: int
    end_line: int
    column: int
    end_column: int
    kind: str
    name: str
    variable: str = ""


UNKNOWN_SITE = Site("?", "?", 0, 0, 0, 0, "unknown", "")


class Point(msgspec.Struct, frozen=True, order=True):
    """A site and what was done there: what a node of the graph stands for."""

    site: Site
    op: Op
