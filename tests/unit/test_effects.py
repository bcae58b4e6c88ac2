# SPDX-License-Identifier: Apache-2.0
"""Which methods of libraries only read, by their instructions."""

import collections
import collections.abc
import os
import weakref

import pytest

from unsnarl.probes.python.effects import only_reads

pytestmark = pytest.mark.core
LIMIT = [3]


def bounded(value):
    return min(value, len(LIMIT))


def noted(value):
    LIMIT.append(value)
    return value


class Store:
    def __init__(self):
        self.items, self.hits = {}, 0

    def get(self, key):
        return self.items.get(key)

    def __getitem__(self, key):
        for name, value in self.items.items():
            if name == key:
                return value
        raise KeyError(key)

    def __iter__(self):
        self.hits += 1
        return iter(self.items)

    def through_others(self, key):
        return bounded(self.of_class(key, self.size))

    @staticmethod
    def of_class(key, size):
        return hash(key) % size

    @property
    def size(self):
        return len(self.items)

    def counted(self):
        return list(self)

    def put(self, key, value):
        self.items[key] = value

    def drop(self, key):
        return self.items.pop(key, None)

    def told(self, key):
        return noted(key)

    def of_another(self, other):
        return other.get_or_make()

    def by_value(self, function):
        return function(self.items)


@pytest.mark.parametrize("name", ["get", "__getitem__", "through_others", "of_class"])
def test_what_only_looks_changes_nothing(name):
    function = Store.__dict__[name]
    assert only_reads(getattr(function, "__func__", function), Store)


@pytest.mark.parametrize(
    "name", ["put", "drop", "told", "of_another", "by_value", "__iter__", "counted", "__init__"]
)
def test_what_stores_or_calls_the_unknown_does(name):
    assert not only_reads(Store.__dict__[name], Store)


class Counting(Store):
    @property
    def size(self):
        self.hits += 1
        return 1

    def of_class(self, key, size):
        return self.put(key, size)


def test_a_class_below_may_do_it_in_another_way():
    assert only_reads(Store.through_others, Store)
    assert not only_reads(Store.through_others, Counting)


def test_the_standard_library():
    assert only_reads(collections.UserDict.__getitem__, collections.UserDict)
    assert only_reads(collections.ChainMap.__getitem__, collections.ChainMap)
    assert not only_reads(collections.UserDict.__setitem__, collections.UserDict)
    assert not only_reads(collections.ChainMap.pop, collections.ChainMap)
    weak = weakref.WeakValueDictionary
    assert not only_reads(weak.__getitem__, weak)  # it removes what has died
    assert not only_reads(os._Environ.__setitem__, os._Environ)


def test_an_object_that_is_used_as_a_value_may_do_what_it_likes():
    """Of `self[key]` some versions of Python load both with one instruction."""
    assert not only_reads(collections.abc.Mapping.get, Asked)
    assert not only_reads(collections.abc.Mapping.get, type(os.environ))


class Asked(collections.abc.Mapping):
    def __getitem__(self, key):
        self.asked = key
        return key

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0
