# SPDX-License-Identifier: Apache-2.0
"""A debugger at one event of a replayed run.

The thread that stops there has the gate's token, so all others stay where they are, at the gate,
for as long as the person looks. Expressions typed at the prompt are no events of the run; what
`next` and `step` execute is, and the schedule goes on with it.
"""

from __future__ import annotations

import contextlib
import os
import pdb
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import IO, Any, NamedTuple

from unsnarl import _core
from unsnarl.probes.python.naming import instrumented_frames


class _Stop(NamedTuple):
    """The `occurrence`-th time that the thread of `path` is about to be at one of the points."""

    path: str
    points: frozenset[int]
    occurrence: int
    title: str
    stdin: str
    stdout: str


class _State:
    def __init__(self, stop: _Stop) -> None:
        self.stop = stop
        self.seen = 0

    def hook(self, point: int, path: str) -> None:
        """Called by the core before every operation on data or locks."""
        stop = self.stop
        if path != stop.path or point not in stop.points:
            return
        self.seen += 1
        if self.seen == stop.occurrence:
            _core.set_break_hook(None)
            frame = sys._getframe(1)
            _debug(next(instrumented_frames(frame), frame), stop)


def install(debug: dict[str, Any]) -> None:
    """In the child, before the run begins: stop where the plan says."""
    points = frozenset(_core.first_point(point) for point in debug["points"])
    stop = _Stop(
        debug["path"],
        points,
        debug.get("occurrence", 1),  # plans leave defaults out (model/plan.py)
        debug["title"],
        debug["stdin"],
        debug["stdout"],
    )
    _core.set_break_hook(_State(stop).hook)


def _debug(frame: FrameType, stop: _Stop) -> None:
    # the target's own streams may be anything by now: pytest's, closed, a file
    stdin = open(stop.stdin, encoding="utf-8", errors="replace")  # noqa: PTH123, SIM115
    stdout = open(stop.stdout, "w", encoding="utf-8", errors="replace")  # noqa: PTH123, SIM115
    print(stop.title, file=stdout)
    for line in _held():
        print(f"  held: {line}", file=stdout)
    _Debugger(stdin, stdout).stop_at(frame)


def _held() -> Iterator[str]:
    """The other threads, and where in the target's code they are."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, top in sorted(sys._current_frames().items()):
        if ident == threading.get_ident():
            continue
        frame = next(instrumented_frames(top), None)
        where = "outside of the program's code"
        if frame is not None:
            code = frame.f_code
            where = f"{code.co_filename}:{frame.f_lineno} in {code.co_qualname}"
        yield f"{names.get(ident, 'thread')} at {where}"


@contextlib.contextmanager
def _still() -> Iterator[None]:
    """Nothing that happens here is an event of the run, and no time passes for it."""
    _core.muted(True)
    _core.pause(True)
    try:
        yield
    finally:
        _core.pause(False)
        _core.muted(False)


class _Debugger(pdb.Pdb):
    """pdb on the person's terminal. Quitting ends the run, not the thread."""

    def __init__(self, stdin: IO[str], stdout: IO[str]) -> None:
        # pdb's own handler of SIGINT can only be set in the main thread; the stop may be in any.
        super().__init__(stdin=stdin, stdout=stdout, nosigint=True, skip=["unsnarl.*"])

    def stop_at(self, frame: FrameType) -> None:
        """What bdb.set_trace does, but now and not at the next line."""
        self.reset()
        self.enterframe = frame
        caller: FrameType | None = frame
        while caller is not None:
            caller.f_trace = self.trace_dispatch
            self.botframe = caller
            caller = caller.f_back
        self.set_step()
        self.interaction(frame, None)
        # `continue` has set -1: without breakpoints the run goes on at full speed, untraced.
        if self.stoplineno >= 0 or self.breaks:
            sys.settrace(self.trace_dispatch)

    def interaction(self, *args: Any) -> None:
        """Interact with the person, the run standing still."""
        with _still():
            super().interaction(*args)
            self.stdout.flush()

    def do_quit(self, arg: str) -> bool:
        """q(uit) | exit: end the run."""
        self.stdout.flush()
        # That is child._exit by now, which writes the run file.
        os._exit(0)

    do_q = do_exit = do_quit

    def do_EOF(self, arg: str) -> bool:  # noqa: N802  pdb's name
        """End the run."""
        self.message("")
        return self.do_quit(arg)
