# SPDX-License-Identifier: Apache-2.0
"""Locks, threads, queues and time of the target, put under the gate.

`install()` runs in the fork server before any code of the target is imported. Condition, Event,
Semaphore, Barrier, Queue and the executors are Python code on top of what is replaced here, so they
follow by themselves.
"""

from __future__ import annotations

import _thread
import functools
import itertools
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from types import FunctionType, MethodType, TracebackType
from typing import Any

from unsnarl import _core
from unsnarl.probes.python import periods

ExceptionCallback = Callable[
    [type[BaseException], BaseException | None, TracebackType | None, str], None
]

# Taken when this is imported, before install() replaces what makes them.
_REAL_LOCKS = (type(_thread.allocate_lock()), type(_thread.RLock()))
_JOINABLE = hasattr(_thread, "start_joinable_thread")
_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")

_callbacks: list[ExceptionCallback] = []
_local = _thread._local()
# 3.13: locks that stand for running non-daemon threads, by the id of their handles.
_waited_for: dict[int, Any] = {}
# Locks that were there before, by their addresses, with those that stand for them.
_adopted: dict[int, tuple[Any, Any]] = {}


def install() -> None:
    """Replaces the primitives, once. Locks made before are adopted where modules keep them."""
    if threading.Lock is _core.Lock:  # type: ignore[comparison-overlap]
        return
    _replace_locks()
    _replace_threads()
    _replace_time()
    _core.lead_signals()
    periods.install()
    threading._make_invoke_excepthook = _make_invoke_excepthook  # type: ignore[attr-defined]
    # The one in C waits on a lock of its own, which the gate cannot see.
    queue.SimpleQueue = queue._PySimpleQueue  # type: ignore[attr-defined,misc]
    adopt_locks()
    _keep_affinity()
    thread: Any = threading.Thread
    for function in (thread.start, thread._bootstrap, thread.run):
        _core.register_code(function.__code__, 0, b"")  # what they lock is not the target's doing


def on_exception(callback: ExceptionCallback) -> None:
    """Calls back in every thread that dies of an uncaught exception (never for SystemExit)."""
    _callbacks.append(callback)


def end_main() -> None:
    """From now on the main thread is not alive, as when the interpreter waits for the others.

    Threads that serve until the main thread has ended would never end.
    """
    main: Any = threading.main_thread()
    if main.ident != _thread.get_ident():
        return
    handle = getattr(main, "_os_thread_handle", None) or getattr(main, "_handle", None)
    if handle is not None:  # from 3.13 on; 3.14 has renamed it
        handle._set_done()
        return
    lock = main._tstate_lock
    if lock is not None and lock.locked():
        lock.release()  # others may be waiting in join()
    main._stop()


def join_all() -> None:
    """Waits, under the gate, for the threads that interpreter shutdown would wait for."""
    while running := [lock for lock in _shutdown_locks() if lock.locked()]:
        for lock in running:
            with lock:
                pass


def _shutdown_locks() -> list[Any]:
    """The locks of running non-daemon threads; before 3.13 the threading module keeps them."""
    kept: Any = getattr(threading, "_shutdown_locks", None)
    return list(_waited_for.values() if kept is None else kept)


def _replace_locks() -> None:
    for module in (_thread, threading):
        for name in ("allocate_lock", "_allocate_lock", "allocate", "Lock"):
            if hasattr(module, name):
                setattr(module, name, _core.Lock)
        for name in ("RLock", "_CRLock"):
            if hasattr(module, name):
                setattr(module, name, _core.RLock)


def real_locks() -> tuple[type, ...]:
    """The types of locks that the gate does not control."""
    return _REAL_LOCKS


def adopted(lock: Any) -> Any | None:
    """The lock that stands for a free one from now on, the same wherever it is; else None."""
    # By repr(): RLock has no locked() before 3.14. One that is held has to stay.
    if type(lock) not in _REAL_LOCKS or "unlocked" not in repr(lock):
        return None
    kept = _adopted.get(id(lock))
    if kept is None:
        new = _core.Lock() if type(lock) is _REAL_LOCKS[0] else _core.RLock()
        kept = _adopted[id(lock)] = (lock, new)  # kept: its address must stay its own
    return kept[1]


def adopt_locks() -> None:
    """Replaces free locks that loaded modules hold in their globals."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if names is None or module.__name__.startswith(("importlib", "_frozen_importlib")):
            continue
        for name, value in list(names.items()):
            new = adopted(value) if type(value) in _REAL_LOCKS else None
            if new is not None:
                names[name] = new


def _replace_time() -> None:
    time.sleep = _core.sleep
    for name in _CLOCKS:
        setattr(time, name, getattr(_core, name))
    _core.lead_clock_readers()
    # Both modules have their own name for it, taken when they were imported.
    threading._time = _core.monotonic  # type: ignore[attr-defined]
    queue.time = _core.monotonic  # type: ignore[attr-defined]


def _keep_affinity() -> None:
    """Gated threads are pinned to one core; the target must not notice."""
    cores = os.sched_getaffinity(0)
    real = os.sched_getaffinity

    def sched_getaffinity(pid: int) -> set[int]:
        return set(cores) if pid == 0 else real(pid)

    os.sched_getaffinity = sched_getaffinity
    if hasattr(os, "process_cpu_count"):
        os.process_cpu_count = lambda: len(cores)


_hashes = itertools.count(1)


def _hash_thread(thread: threading.Thread) -> int:
    """A hash that is the same in every run, unlike an address.

    Executors keep their threads in a set and join them in its order: a replay must find the same.
    """
    number: int = thread.__dict__.setdefault("_unsnarl_hash", next(_hashes))
    return number


def _replace_threads() -> None:
    threading.Thread.__hash__ = _hash_thread  # type: ignore[assignment]
    starts: dict[str, Callable[..., Any]]
    starts = {"start_new_thread": _start_new_thread, "start_new": _start_new_thread}
    if _JOINABLE:
        starts["start_joinable_thread"] = _start_joinable_thread
    for name, function in starts.items():
        setattr(_thread, name, function)
        if hasattr(threading, "_" + name):
            setattr(threading, "_" + name, function)
    if _JOINABLE:
        threading._ThreadHandle = _Handle  # type: ignore[attr-defined]
    else:
        threading._set_sentinel = _set_sentinel  # type: ignore[attr-defined]


_real_start_new_thread = _thread.start_new_thread
_real_start_joinable_thread = getattr(_thread, "start_joinable_thread", None)
_real_handle_type: Any = getattr(_thread, "_ThreadHandle", None)


def _name_of(function: Callable[..., object]) -> str:
    # Thread.start() hands over its bound method _bootstrap.
    thread = getattr(function, "__self__", None)
    if isinstance(thread, threading.Thread):
        return thread.name
    return getattr(function, "__name__", "thread")


def _is_daemon(function: Callable[..., object]) -> bool:
    thread = getattr(function, "__self__", None)
    return thread.daemon if isinstance(thread, threading.Thread) else True


def _kind_of(function: Callable[..., object]) -> tuple[str, bool]:
    """What a thread runs, the same text for equal threads, and whether it belongs to a pool.

    Threads of a pool are equal wherever the call was that made the pool start one more.
    """
    thread = getattr(function, "__self__", None)
    target: Any = function
    if isinstance(thread, threading.Thread):
        target = getattr(thread, "_target", None) or type(thread).run
    while isinstance(target, functools.partial):
        target = target.func
    # Not by attributes: those of an object that only can be called may do anything.
    target = target.__func__ if isinstance(target, MethodType) else target
    if not isinstance(target, FunctionType):
        return type(target).__qualname__, False
    if target.__module__ == "concurrent.futures.thread" and thread is not None:
        return str(thread.name).rpartition("_")[0], True
    return f"{target.__code__.co_filename}:{target.__code__.co_firstlineno}", False


def _start_new_thread(
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object] | None = None,
    /,
) -> int:
    """`_thread.start_new_thread`, with an entry in the registry before the thread exists."""
    if not callable(function):
        raise TypeError("first arg must be callable")
    if not isinstance(args, tuple):
        raise TypeError("2nd arg must be a tuple")
    # Before the thread exists: paths are numbered in the order of starts, not of first steps.
    record = _core.thread_new(_name_of(function), _is_daemon(function), *_kind_of(function))
    try:
        return _real_start_new_thread(_bootstrap, (record, function, args, kwargs or {}, None))
    except BaseException:
        _core.thread_discard(record)
        raise


def _bootstrap(
    record: object,
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    done: Any,
) -> None:
    _core.thread_begin(record)
    if done is not None:
        done.own()
    try:
        function(*args, **kwargs)
    # _thread ignores it as well; everything else is raised for the interpreter to print.
    except SystemExit:
        pass
    except BaseException:
        _report(*sys.exc_info())
        raise
    finally:
        # In this order: the release is the thread's END (_mark_thread), so the core must still
        # know the thread.
        lock = done or getattr(_local, "sentinel", None)
        if lock is not None:
            _core.linger()  # others may see it alive although it has nothing left to do
            _waited_for.pop(id(lock), None)
            lock.release()
        _core.thread_end()


def _report(
    kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
) -> None:
    if kind is None or issubclass(kind, SystemExit):
        return
    path = _core.current_path()
    for callback in _callbacks:
        callback(kind, value, trace, path)


def _make_invoke_excepthook() -> Callable[[threading.Thread], None]:
    """Sees what ends a Thread before threading.excepthook, which tests and pytest replace."""
    invoke = _real_make_invoke_excepthook()

    def invoke_excepthook(thread: threading.Thread) -> None:
        _report(*sys.exc_info())
        invoke(thread)

    return invoke_excepthook


_real_make_invoke_excepthook: Callable[[], Callable[[threading.Thread], None]]
_real_make_invoke_excepthook = threading._make_invoke_excepthook  # type: ignore[attr-defined]


def _thread_lock() -> Any:
    lock = _core.Lock()
    lock._mark_thread()
    return lock


def _set_sentinel() -> Any:
    """3.11 and 3.12: the lock that Thread.join waits for; released by our bootstrap."""
    lock = _local.sentinel = _thread_lock()
    return lock


class _Handle:
    """3.13: what Thread.join waits for, instead of the interpreter's own handle."""

    def __init__(self) -> None:
        self._real = _real_handle_type()
        self._done = _thread_lock()
        self._finished = self._gone = self._joined = False

    @property
    def ident(self) -> int:
        return int(self._real.ident)

    def is_done(self) -> bool:
        """Asked by Thread.is_alive."""
        return self._finished

    def _set_done(self) -> None:
        """A fork left the thread behind: nobody will let go of what joining waits for."""
        self._finished = self._gone = True
        self._real._set_done()

    def own(self) -> None:
        """The thread's first act: who joins waits for it, not for who started it."""
        self._done._own()

    def release(self) -> None:
        """The thread's last act."""
        self._finished = True
        self._done.release()

    def join(self, timeout: float | None = None) -> None:
        # As up to 3.12: the first who joins meets the gate, also where the thread has ended.
        if self._gone or self._joined:
            return
        if timeout is None:
            self._done.acquire()
        elif not self._done.acquire(True, max(timeout, 0)):
            return
        self._joined = True
        self._done.release()


def _start_joinable_thread(
    function: Callable[..., object], handle: Any = None, daemon: bool = True
) -> Any:
    handle = handle or _Handle()
    # By the starter, since joining must wait even if the thread has not begun; own() corrects who
    # holds it.
    handle._done.acquire()
    if not daemon:
        _waited_for[id(handle)] = handle._done
    # from here to the start no lock may be taken: the gate may already choose the new thread
    record = _core.thread_new(_name_of(function), daemon, *_kind_of(function))
    try:
        assert _real_start_joinable_thread is not None
        _real_start_joinable_thread(
            lambda: _bootstrap(record, function, (), {}, handle), handle=handle._real, daemon=daemon
        )
    except BaseException:
        _waited_for.pop(id(handle), None)
        handle._done.release()
        _core.thread_discard(record)
        raise
    return handle
