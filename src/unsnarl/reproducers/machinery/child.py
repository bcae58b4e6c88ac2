# SPDX-License-Identifier: Apache-2.0
"""The test runs in a process of its own, and its instructions are watched."""

import _thread
import os
import runpy
import sys
import threading

from unsnarl.reproducers.machinery.events import (
    BUG,
    EVENTS,
    FAILURES,
    KINDS,
    THREADS,
    WATCHED,
    RunThread,
    prepare,
    watched,
)
from unsnarl.reproducers.machinery.holding import WATCH, arrive, leave, report
from unsnarl.reproducers.machinery.locks import wrap_locks
from unsnarl.reproducers.machinery.values import TARGET

# ---- how the test is run --------------------------------------------------------------------

# How the child sees instructions: sys.monitoring from Python 3.12 on, else sys.settrace.


def trace(frame, what, _):
    """For sys.settrace: look at the instructions of functions that have events, only."""
    table = watched(frame.f_code)
    if what != "call" or table is None:
        return None
    frame.f_trace_opcodes, frame.f_trace_lines = True, False

    def local(frame, what, _):
        me = THREADS.get(threading.get_ident())
        if what == "opcode":
            arrive(frame, frame.f_lasti, table)
        elif me is not None:
            leave(me, frame)
        return local

    return local


def monitor():
    """The same with sys.monitoring."""
    events, tool = sys.monitoring.events, 4
    sys.monitoring.use_tool_id(tool, "reproducer")

    def on_start(code, _):
        if watched(code) is not None:
            sys.monitoring.set_local_events(tool, code, events.INSTRUCTION | events.PY_RETURN)
        return sys.monitoring.DISABLE

    def on_end(*_):
        me = THREADS.get(threading.get_ident())
        if me is not None and me.within:
            leave(me, sys._getframe(1))

    sys.monitoring.register_callback(tool, events.PY_START, on_start)
    sys.monitoring.register_callback(
        tool, events.INSTRUCTION, lambda code, at: arrive(sys._getframe(1), at, WATCHED[code])
    )
    for event in (events.PY_RETURN, events.PY_UNWIND):
        sys.monitoring.register_callback(tool, event, on_end)
    sys.monitoring.set_events(tool, events.PY_START | events.PY_UNWIND)


def begin_thread():
    """Watch the calling thread."""
    if not hasattr(sys, "monitoring"):
        sys.settrace(trace)


def begin():
    """From here on threads and instructions are counted."""
    THREADS[threading.get_ident()] = RunThread("0")
    if hasattr(sys, "monitoring"):
        monitor()
    begin_thread()


def wrap_threads():
    """Give every thread its path, in the order of the starts, and note what ends it."""

    def wrap(start):
        def started(function, *rest, **more):
            parent = THREADS.get(threading.get_ident())
            if parent is None:  # before the test has begun
                return start(function, *rest, **more)
            parent.started += 1
            me = RunThread(f"{parent.path}.{parent.started}", kind_of(function))
            KINDS[me.path] = me.kind

            def run(*arguments, **keywords):
                THREADS[threading.get_ident()] = me
                begin_thread()
                try:
                    return function(*arguments, **keywords)
                finally:
                    THREADS.pop(threading.get_ident(), None)

            return start(run, *rest, **more)

        return started

    for module in (_thread, threading):
        for name in ("start_new_thread", "start_joinable_thread"):
            for word in (name, "_" + name):
                if hasattr(module, word):
                    setattr(module, word, wrap(getattr(module, word)))
    make = threading._make_invoke_excepthook

    def make_hook():
        invoke = make()

        def hook(thread):
            note(sys.exc_info()[1])
            invoke(thread)

        return hook

    threading._make_invoke_excepthook = make_hook


def kind_of(function):
    """Equal for threads that the same code starts to run the same function, and in one pool."""
    thread = getattr(function, "__self__", None)
    target = getattr(thread, "_target", None) or (type(thread).run if thread else function)
    target = getattr(target, "__func__", target)
    code = getattr(target, "__code__", None)
    if getattr(target, "__module__", "") == "concurrent.futures.thread" and thread is not None:
        return ("pool", thread.name.rpartition("_")[0])
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename == threading.__file__:
        frame = frame.f_back
    return (code, frame.f_code, frame.f_lasti)


def note(error):
    """Remember what ended a thread or a test."""
    if error is not None and not isinstance(error, SystemExit):
        FAILURES.append(f"{type(error).__name__}: {error}".splitlines()[0])
        report()


def run_pytest(arguments):
    """Counting begins after collection, as importing the tests is no part of them."""
    import pytest

    class Plugin:
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtestloop(self, session):
            begin()

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            outcome = yield
            if outcome.excinfo is None and outcome.get_result().failed and call.excinfo:
                note(call.excinfo.value)

    return pytest.main(["-p", "no:cacheprovider", *arguments], plugins=[Plugin()])


def run_target():
    """Run the test as its command line would; gives its status."""
    kind, words = TARGET
    sys.argv = [words[0] if kind != "pytest" else "pytest", *words[1 if kind != "pytest" else 0 :]]
    folder = os.path.dirname(os.path.realpath(words[0])) if kind == "script" else os.getcwd()
    sys.path[0:1] = [] if kind == "pytest" else [folder]
    if kind == "pytest" or (kind == "module" and words[0] == "pytest"):
        return run_pytest(words if kind == "pytest" else words[1:])
    begin()
    if kind == "module":
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(words[0], run_name="__main__")
    return 0


def child():
    """The process in which the test runs."""
    prepare()
    _thread.start_new_thread(WATCH.run, ())
    wrap_threads()
    if any(event.op for event in EVENTS):
        wrap_locks()
    report()
    status = BUG
    try:
        status = run_target()
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        if status and leaving.code is not None and not isinstance(leaving.code, int):
            print(leaving.code, file=sys.stderr)
    except BaseException as error:
        note(error)
        sys.excepthook(type(error), error, error.__traceback__)
    sys.settrace(None)
    for thread in threading.enumerate():  # the interpreter waits for these, too
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    look_for_unused()
    report()
    sys.exit(int(status))


def look_for_unused():
    """Code that no thread came to may be there all the same."""
    files = {getattr(one, "__file__", None) or "" for one in list(sys.modules.values())}
    for file in {*files, *(words for words in TARGET[1] if os.path.isfile(words))}:
        path = os.path.abspath(file).replace(os.sep, "/")
        if not any(not one.found and path.endswith("/" + one.file) for one in EVENTS):
            continue
        with open(file, "rb") as stream:
            pending = [compile(stream.read(), file, "exec", dont_inherit=True)]
        while pending:
            code = pending.pop()
            watched(code)
            pending += [one for one in code.co_consts if hasattr(one, "co_code")]
