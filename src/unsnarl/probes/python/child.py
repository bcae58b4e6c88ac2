# SPDX-License-Identifier: Apache-2.0
"""The life of one run, in the process that was forked for it.

What CPython does around a program (pymain_run_python, PyErr_Print, Py_FinalizeEx) is done here by
hand, because the process must note how the program ended and write the run file before it goes.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn

from unsnarl import _core
from unsnarl.probes import statuses
from unsnarl.probes.paths import with_relative_files
from unsnarl.probes.python import (
    capture,
    caught,
    failures,
    parallel,
    process_locks,
    registry,
    sync,
)
from unsnarl.probes.streams import flush_quietly

_FLUSHING = "while" if sys.version_info >= (3, 14) else "on"
_SAYS_FLUSHING = sys.version_info >= (3, 13)
_FLUSH_FAILED = 120  # the status of CPython when standard output cannot be flushed
_FOLDER = __file__.rsplit("/", 2)[0] + "/"  # of all probes, and of the server
# long and of no use to a reader of the run file, who has the schedule itself
_NOT_NOTED = (
    "sites",
    "interest",
    "counts",
    "schedule",
    "anchors",
    "capture",
    "follow",
    "debug",
    "file",
    "output",
)

_real_exit = os._exit
_real_fork = os.fork


class _Run:
    """The run of this process, if it is one."""

    def __init__(self) -> None:
        self.begun = False
        self.active = False  # not in a copy of the process that the target forked
        self.root = ""
        self.watermark = 0
        self.is_brief = False
        self.node = ""
        self.followed: Callable[[], None] = lambda: None


_run = _Run()


def install(root: str) -> None:
    """In the server, before the target is loaded: watch the ways out that nobody announces."""
    _run.root = root
    os._exit = _exit
    os.register_at_fork(after_in_child=_forked_by_target)
    if sys.version_info >= (3, 12):
        os.fork = _fork


def prepare() -> None:
    """In the server, when the target is loaded: what each run would have to do of ours."""
    _core.find_shared_memory()
    if "unittest.result" in sys.modules:
        # A sixth of the time of a short run: pytest loads unittest whether or not tests use it.
        from unsnarl.probes.python import unittest_session  # noqa: F401, PLC0415


def begin(plan: dict[str, Any], watermark: int) -> None:
    """Make this process the run of `plan`: from here on the calling thread is thread 0."""
    _core.unshare_memory()
    _run.begun = _run.active = True
    _run.watermark = watermark
    _run.is_brief = plan.get("brief", False)
    _run.node = plan.get("node", "")
    _seed(plan["seed"])
    if "unittest.result" in sys.modules:
        from unsnarl.probes.python import unittest_session  # noqa: PLC0415  only where wanted

        unittest_session.note_failures()
    # All hooks first: begin_run() lets the core deliver events.
    sync.on_exception(failures.note_thread_exception)
    _core.set_deadlock_hook(_verdict)
    caught.install()
    if plan.get("capture"):
        capture.install(plan["capture"])
    if plan.get("follow"):
        from unsnarl.probes.python.following import hooks  # noqa: PLC0415  only where wanted

        hooks.install(plan["follow"])
        _run.followed = hooks.write
    if plan.get("debug"):
        from unsnarl.probes.python import debugger  # noqa: PLC0415  only where wanted

        debugger.install(plan["debug"])
    try:
        _core.begin_run(plan)
    except ValueError as error:
        refuse(str(error))
    parallel.begin()
    _core.note(json.dumps({"run": {k: v for k, v in plan.items() if k not in _NOT_NOTED}}))


def _seed(number: int) -> None:
    """What is drawn is the same in every replay; else fork would seed it anew."""
    random, tempfile = sys.modules.get("random"), sys.modules.get("tempfile")
    if random is not None:
        random.seed(number)
    if tempfile is not None:
        # The same names in all runs: findings are about files and folders by their names.
        with contextlib.suppress(AttributeError):
            tempfile._get_candidate_names().rng.seed(0)


def refuse(why: str) -> NoReturn:
    """End a run whose plan cannot be followed: it is ours, so that is no failure of the target."""
    print(f"unsnarl: {why}", file=sys.stderr)
    _flush("stderr")
    _real_exit(statuses.REFUSED)


def node() -> str:
    """The only test that this run is of; empty for all."""
    return _run.node


def is_brief() -> bool:
    """Whether nobody will read what the run prints of its failure."""
    return _run.is_brief


def conduct(run: Callable[[], int]) -> NoReturn:
    """Run the target and end the process as the interpreter would; `run` comes to call begin()."""
    status, error = 0, None
    try:
        status = run()
    except BaseException as caught:
        if not _run.begun:
            raise
        error = caught
    # out of the handler: what the target's hooks raise now has no context
    if error is not None:
        status = _uncaught(error)
    # The run file comes after the shutdown, in which threads and exit functions of the target run.
    status = _shut_down(status)
    _finish()
    if isinstance(error, KeyboardInterrupt):
        # as CPython does, so that a shell sees the signal
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    _real_exit(status & 0xFF)


def _uncaught(error: BaseException) -> int:
    """PyErr_Print: an exception has come out of the target's main thread."""
    tb = _without_us(error.__traceback__)
    error.__traceback__ = tb
    if isinstance(error, SystemExit):
        return _exit_status(error)
    failures.note_exception(error, _core.current_path())
    return _print(error, tb)


def _without_us(tb: TracebackType | None) -> TracebackType | None:
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(_FOLDER):
        tb = tb.tb_next
    return tb


def _exit_status(error: SystemExit) -> int:
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        status = code & 0xFF
    else:
        status = 1
        with contextlib.suppress(Exception):
            print(code, file=sys.stderr)
    if status:
        message = code if isinstance(code, str) else f"exit status {status}"
        frames = failures.traceback_frames(error.__traceback__)
        failures.note_exit("SystemExit", status, message, frames)
    return status


def _print(error: BaseException, tb: TracebackType | None) -> int:
    # For pdb.pm() and the like, as PyErr_PrintEx sets them; `last_exc` is new in 3.12.
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, tb
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, tb)
    except SystemExit as leave:
        return _exit_status(leave)
    except BaseException as second:
        second.__traceback__ = _without_us(second.__traceback__)
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(second)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, tb)
    return 1


def _shut_down(status: int) -> int:
    """Py_FinalizeEx, up to where the interpreter would be taken apart; gives the status."""
    # the executors' callback has to wake the threads that are joined next
    threading._SHUTTING_DOWN = True  # type: ignore[attr-defined]
    callbacks: list[Callable[[], object]] = threading._threading_atexits  # type: ignore[attr-defined]
    try:
        while callbacks:
            callbacks.pop()()
        sync.end_main()
        sync.join_all()
    except BaseException as error:
        _ignored("in: <module 'threading'>", error)
    atexit._run_exitfuncs()
    if not status:
        _core.linger()
    # Not `and`: standard error is flushed even if standard output cannot be.
    return status if _flush("stdout") & _flush("stderr") else _FLUSH_FAILED


def _flush(name: str) -> bool:
    """Whether it worked; says so if not, in the words of this version of Python."""
    stream = getattr(sys, name, None)
    try:
        if stream is not None and not stream.closed:
            stream.flush()
    except BaseException as error:
        where = f"{_FLUSHING} flushing sys.{name}:" if _SAYS_FLUSHING else f"in: {stream!r}"
        _ignored(where, error)
        return False
    return True


def _ignored(where: str, error: BaseException) -> None:
    error.__traceback__ = _without_us(error.__traceback__)
    with contextlib.suppress(BaseException):
        print(f"Exception ignored {where}", file=sys.stderr)
        traceback.print_exception(error)


def _finish() -> None:
    """Note what is known only at the end, and write the run file. Never raises."""
    with contextlib.suppress(BaseException), failures.quiet():
        capture.note_values()
        _run.followed()
        late = registry.since(_run.watermark)
        if late:
            _core.note(json.dumps({"codes": with_relative_files(late, _run.root)}))
        names = _core.variables()
        if names:
            _core.note(json.dumps({"variables": names}))
        if unseen := [*_core.unseen(), *registry.UNSEEN]:
            _core.note(json.dumps({"unseen": unseen}))
    # Outside of the suppression: a run file without notes is better than none.
    _core.finish_run()


def _verdict(kind: str, waits: list[tuple[str, int, str, str]]) -> NoReturn:
    """The gate has decided that the run cannot go on."""
    with contextlib.suppress(BaseException):
        failures.note_deadlock(waits)
    # No shutdown as in conduct(): it would wait for the very threads that are stuck.
    flush_quietly()
    _finish()
    _real_exit(statuses.DEADLOCK)


def _exit(status: int) -> NoReturn:
    """Exit to the system with specified status, without normal exit processing."""
    if _run.active:
        if status:
            with contextlib.suppress(BaseException):
                frames = failures.stack_frames(sys._getframe(1))
                failures.note_exit("os._exit", status, "", frames)
        else:
            _core.linger()
        _finish()
    _real_exit(status)


def _fork() -> int:
    """Fork a child process."""
    if not _run.active or _thread._count():
        return _real_fork()
    with warnings.catch_warnings():
        # Python 3.12 counts the core's own thread, and warns of threads that the target has not
        warnings.simplefilter("ignore", DeprecationWarning)
        return _real_fork()


def _forked_by_target() -> None:
    """A process that the target forked is not the run: it is let go, and writes no run file."""
    if _run.active:
        _run.active = False
        process_locks.leave()
        _core.abandon_run()
