# SPDX-License-Identifier: Apache-2.0
"""Lock and RLock of the core behave like CPython's, by CPython's own tests where they are there."""

import _thread
import gc
import os
import threading
import time
import unittest
import weakref

import pytest

from unsnarl import _core

try:
    from test import lock_tests
except ImportError:  # some distributions leave the interpreter's test package out
    lock_tests = None

pytestmark = pytest.mark.core

LOCKS = {"ours": (_core.Lock, _core.RLock), "theirs": (_thread.allocate_lock, _thread.RLock)}
both = pytest.mark.parametrize("lock", [_core.Lock, _core.RLock])
either_side = pytest.mark.parametrize("side", LOCKS)

if lock_tests is not None:

    class TestOurLock(lock_tests.LockTests):
        locktype = staticmethod(_core.Lock)

    class TestOurRLock(lock_tests.RLockTests):
        locktype = staticmethod(_core.RLock)

    class TestConditionOnOurRLock(lock_tests.ConditionTests):
        @staticmethod
        def condtype(lock=None):
            return threading.Condition(lock or _core.RLock())

        @staticmethod
        def locktype():
            return _core.Lock()


def in_thread(function, *args):
    """What a function returns or raises in a thread of its own."""
    result = []

    def call():
        try:
            result.append(function(*args))
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return result[0]


def outcome(function, *args, **kwargs):
    """The value, or the type of the exception and its text."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)


CALLS = {
    "default": ((), {}),
    "not blocking": ((False,), {}),
    "with timeout": ((True, 0.01), {}),
    "by name": ((), {"blocking": True, "timeout": 0.01}),
    "none at all": ((True, -1), {}),
    "zero": ((True, 0), {}),
    "negative": ((True, -2), {}),
    "timeout without blocking": ((False, 1), {}),
    "too large": ((True, 1e100), {}),
    "not a number": ((True, "x"), {}),
    "unknown name": ((), {"wait": 1}),
    "too many": ((1, 2, 3), {}),
    "integers": ((1, 1), {}),
    "the largest": ((True, threading.TIMEOUT_MAX), {}),
    "more than the largest": ((True, threading.TIMEOUT_MAX * 2), {}),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [0, 1], ids=["Lock", "RLock"])
def test_acquire_takes_the_same_arguments(kind, call):
    args, kwargs = CALLS[call]
    found = []
    for side in LOCKS.values():
        value = outcome(side[kind]().acquire, *args, **kwargs)
        # the wording differs between versions of the interpreter
        found.append(value[0] if isinstance(value, tuple) else value)
    assert found[0] == found[1]


@pytest.mark.parametrize("args", [(False,), (True, 0), (True, 0.01)])
@both
def test_a_lock_held_by_another_thread_is_not_taken(lock, args):
    subject = lock()
    with subject:
        assert in_thread(subject.acquire, *args) is False
    assert in_thread(subject.acquire, *args) is True


@both
def test_a_timeout_takes_its_time_and_no_more(lock):
    subject = lock()
    begin = time.monotonic()
    with subject:
        assert in_thread(subject.acquire, True, 0.05) is False
    assert time.monotonic() - begin >= 0.05


@pytest.mark.parametrize("kind", [0, 1], ids=["Lock", "RLock"])
def test_releasing_a_free_lock_fails_alike(kind):
    ours, theirs = (outcome(side[kind]().release) for side in LOCKS.values())
    assert ours == theirs and ours[0] is RuntimeError


def test_a_lock_may_be_released_by_any_thread_an_rlock_only_by_its_owner():
    lock, again = _core.Lock(), _core.RLock()
    lock.acquire()
    assert in_thread(lock.release) is None and not lock.locked()
    again.acquire()
    error = in_thread(again.release)
    assert isinstance(error, RuntimeError) and "un-acquired" in str(error)


def test_an_rlock_counts_how_often_it_is_held():
    lock = _core.RLock()
    for depth in range(3):
        assert lock.acquire() is True
        assert lock._is_owned() and lock._recursion_count() == depth + 1
    assert in_thread(lock._is_owned) is False
    assert in_thread(lock.acquire, False) is False
    for _ in range(3):
        lock.release()
    assert not lock._is_owned() and in_thread(lock.acquire, False) is True


def test_what_a_condition_asks_of_an_rlock():
    lock = _core.RLock()
    lock.acquire()
    lock.acquire()
    state = lock._release_save()
    assert not lock._is_owned() and in_thread(lock.acquire, True, 5) is True
    other = _core.RLock()
    other.acquire()
    other.acquire()
    state = other._release_save()
    other._acquire_restore(state)
    assert other._recursion_count() == 2
    assert outcome(_core.RLock()._release_save)[0] is RuntimeError


@both
def test_the_with_statement_releases_whatever_happens(lock):
    subject = lock()
    with pytest.raises(KeyError), subject as entered:
        assert entered is True
        raise KeyError
    assert in_thread(subject.acquire, False) is True


@both
def test_locks_can_be_referred_to_weakly_and_go(lock):
    subject = lock()
    reference = weakref.ref(subject)
    assert reference() is subject
    del subject
    gc.collect()
    assert reference() is None


@both
def test_a_held_lock_may_go(lock):
    subject = lock()
    subject.acquire()
    reference = weakref.ref(subject)
    del subject
    gc.collect()
    assert reference() is None


@both
def test_a_lock_is_free_after_a_fork_reinitialises_it(lock):
    subject = lock()
    holder = threading.Thread(target=subject.acquire)
    holder.start()
    holder.join()
    assert subject.acquire(False) is False
    subject._at_fork_reinit()
    assert subject.acquire(False) is True


@both
def test_a_forked_child_can_use_the_lock_its_parent_holds(lock):
    subject = lock()
    with subject:
        child = os.fork()
        if child == 0:
            subject._at_fork_reinit()
            os._exit(0 if subject.acquire(False) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("kind", [0, 1], ids=["Lock", "RLock"])
def test_the_methods_are_the_interpreters(kind):
    ours, theirs = ({n for n in dir(side[kind]()) if n != "__module__"} for side in LOCKS.values())
    allowed = {"_mark_thread", "_own", "_recursion_count", "__getstate__"}
    assert theirs - ours <= {"__getstate__", "_recursion_count", "_dummy"}
    assert ours - theirs <= allowed


@both
def test_the_text_says_whether_it_is_held(lock):
    subject = lock()
    assert repr(subject).startswith("<unlocked ")
    with subject:
        assert repr(subject).startswith("<locked ")


@both
def test_many_threads_exclude_each_other(lock):
    subject, inside, worst = lock(), [0], [0]

    def work():
        for _ in range(300):
            with subject:
                inside[0] += 1
                worst[0] = max(worst[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert worst == [1]


def test_the_interpreters_own_tests_are_used_where_they_are():
    assert lock_tests is None or issubclass(lock_tests.LockTests, unittest.TestCase)
