# SPDX-License-Identifier: Apache-2.0
"""The program that makes the accesses of `access_rows.py`, one row after the other."""

from __future__ import annotations

import textwrap

from tests.integration.access_rows import Row

# A module next to the program.
SETTINGS = """
debug = 0


def load(source):
    return source
"""
HEAD = """
import array, bisect, collections, contextlib, contextvars, copy, enum, functools, glob, heapq
import io
import itertools, json, logging, operator, os, pathlib, pickle, pprint, queue, random, shutil
import sqlite3, sys, tempfile, threading, types, warnings, weakref
import settings
from unittest import mock
from heapq import heappush
from itertools import chain

alias_of_chain = itertools.chain
quiet = io.StringIO()
variable = contextvars.ContextVar("variable")
handler = logging.NullHandler()
module = types.ModuleType("module")
module.flag = 0
counter = 0


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class OwnThread(threading.Thread):
    pass


OWN = OwnThread()


class Starter:
    def start(self):
        pass


def read_counter():
    return counter


def made_before(x):
    return x


def called(function, *arguments):
    return function(*arguments)


def generator():
    yield 1
    yield 2


def made_folder():
    folder = os.path.join(tempfile.mkdtemp(), "rows")
    os.mkdir(folder)
    return folder


def made_database():
    path = os.path.join(made_folder(), "data.db")
    sqlite3.connect(path, isolation_level=None).execute("create table t (x)")
    return path


def connect():
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute("create table t (x)")
    return connection


@functools.lru_cache
def cached(x):
    return x


class Plain:
    shared = 0

    def __init__(self):
        self.n = 0


class Thing:
    pass


thing = Thing()


def drop_thing():
    global thing
    thing = None


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0


class Described:
    def __init__(self):
        self._p = 0

    @property
    def p(self):
        return self._p

    @p.setter
    def p(self, value):
        self._p = value

    @functools.cached_property
    def slow(self):
        return 1

    @functools.lru_cache
    def memo(self, x):
        return x


def run(row):
    for target in (row.first, row.second):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()

"""
CLASS = """
class Row{number}:
    def __init__(self):
        self.it = {row.made}

    def first(self):
        {row.first}

    def second(self):
        {row.second}


run(Row{number}())
"""


def program(rows: list[Row]) -> str:
    """A script that goes through all rows, one after the other."""
    classes = [CLASS.format(number=number, row=row) for number, row in enumerate(rows)]
    return HEAD + "".join(textwrap.dedent(text) for text in classes)
