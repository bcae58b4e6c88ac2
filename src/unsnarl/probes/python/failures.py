# SPDX-License-Identifier: Apache-2.0
"""Failure notes: how a run failed, in the form that the parent reads (a line of JSON in NOTES).

A note is made while the target is failing, so nothing here may raise: a note that cannot be made
well is made badly.
"""

from __future__ import annotations

import json
import linecache
import sys
import threading
import tokenize  # noqa: F401  linecache loads it when it reads a file first: then it would take locks
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, TracebackType
from typing import Any, TypeVar

from unsnarl import _core
from unsnarl.probes.python import registry

Frame = tuple[str, int, str]
_T = TypeVar("_T")

TEXT_LIMIT = 4096
_HEAD = 1024  # of a text that is cut, this much of the beginning stays; the end says more
_MAX_FRAMES = 50


class _Files:
    """The files that were instrumented: their frames are the user's."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        self.watermark = 0

    def current(self) -> set[str]:
        late = registry.files_since(self.watermark)
        return self.listed | late if late else self.listed


_files = _Files()


def use_codes(dump: dict[str, Any]) -> None:
    """Remember which files the codes of `dump` (codes.json's content) came from."""
    _files.listed = {code["file"] for code in dump["codes"]}
    _files.watermark = dump["watermark"]


def user_files() -> set[str]:
    """The absolute names of all instrumented files."""
    return _files.current()


@contextmanager
def quiet() -> Iterator[None]:
    """Our own work: probes of the calling thread are off."""
    _core.muted(True)  # counted: nested uses are fine
    try:
        yield
    finally:
        _core.muted(False)


def clean(text: str, limit: int = TEXT_LIMIT) -> str:
    """`text` as valid UTF-8 of at most about `limit` bytes, the middle cut out."""
    data = text.encode("utf-8", "replace")
    if len(data) > limit:
        head = min(_HEAD, limit // 4)
        data = data[:head] + b"\n[...]\n" + data[len(data) - limit + head + 7 :]
    return data.decode("utf-8", "ignore")


def note_exception(error: BaseException, path: str, text: str | None = None) -> None:
    """Note an uncaught exception of thread `path`; `text` is its traceback if already formatted.

    The thread has failed: its teardown, exit functions and further tests are no evidence.
    """
    with quiet():
        _note(_describe(error, path, text))
    _core.failed()


def note_thread_exception(
    kind: type[BaseException],
    error: BaseException | None,
    tb: TracebackType | None,
    path: str,
) -> None:
    """Note an exception that ended a thread (the callback of sync.on_exception)."""
    if error is None:
        error = kind()
    if error.__traceback__ is None:
        error.__traceback__ = tb
    note_exception(error, path)


def note_exit(kind: str, status: int, message: str, frames: list[Frame]) -> None:
    """Note that the target itself ended the process with a status other than 0."""
    with quiet():
        path = _current_path()
        _note(
            _failure("exit", kind, message or f"exit status {status}", path, frames=frames, text="")
        )
    _core.failed()


def note_deadlock(waits: list[tuple[str, int, str, str]]) -> None:
    """Note who waits for whom; `frames` has the site of each wait, in the order of `waits`."""
    with quiet():
        sites = [_site_frame(site) for _, site, _, _ in waits]
        shown = list(zip(waits, sites, strict=True))
        # threads that only wait for others to end are not why nobody goes on
        shown = [one for one in shown if one[0][3] != "join"] or shown
        message = "; ".join(_wait_text(wait, frame) for wait, frame in shown)
        frames = [frame for frame in sites if frame is not None]
        path = waits[0][0] if waits else ""
        _note(_failure("deadlock", "Deadlock", message, path, frames=frames, text=_stacks()))


def traceback_frames(tb: TracebackType | None) -> list[Frame]:
    """The user's frames of a traceback, innermost last; the innermost one if none is the user's."""
    frames: list[tuple[CodeType, int]] = []
    while tb is not None:
        frames.append((tb.tb_frame.f_code, tb.tb_lineno))
        tb = tb.tb_next
    return _user_frames(frames)


def stack_frames(frame: FrameType | None) -> list[Frame]:
    """The user's frames of a running stack, innermost last."""
    frames: list[tuple[CodeType, int]] = []
    while frame is not None:
        frames.append((frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno))
        frame = frame.f_back
    return _user_frames(frames[::-1])


def _user_frames(frames: list[tuple[CodeType, int]]) -> list[Frame]:
    files = user_files()
    users = [entry for entry in frames if entry[0].co_filename in files]
    return [
        (clean(code.co_filename), line, clean(code.co_qualname))
        for code, line in (users or frames[-1:])[-_MAX_FRAMES:]
    ]


def _describe(error: BaseException, path: str, text: str | None) -> dict[str, object]:
    kind = "assertion" if isinstance(error, AssertionError) else "exception"
    frames: list[Frame] = _attempt(lambda: traceback_frames(error.__traceback__), [])
    if text is None:
        text = _attempt(lambda: _format(error), "")
    message = _attempt(lambda: str(error), "<the exception's str() failed>")
    failure = _failure(kind, type(error).__name__, message, path, frames=frames, text=text)
    if since := _core.raised_time(error):
        failure["since"] = since
    if isinstance(error, OSError) and isinstance(error.errno, int):
        failure["errno"] = error.errno  # a full disk is recognised by it
    return failure


def _failure(
    kind: str, name: str, message: str, path: str, *, frames: list[Frame], text: str
) -> dict[str, object]:
    return {
        "kind": kind,
        "type": clean(name, 256),
        "message": clean(message),
        "thread": path,
        "frames": frames,
        "text": clean(text),
    }


def _format(error: BaseException) -> str:
    depth = sum(1 for _ in traceback.walk_tb(error.__traceback__))
    # Of an endless recursion only the innermost frames: the text is cut to 4 KiB anyway.
    limit = -_MAX_FRAMES if depth > 4 * _MAX_FRAMES else None
    return "".join(traceback.format_exception(error, limit=limit))


def _note(failure: dict[str, object]) -> None:
    _core.note(json.dumps({"failure": failure}))


def _current_path() -> str:
    return str(_core.current_path() or "")


def _attempt(make: Callable[[], _T], otherwise: _T) -> _T:
    # the target's own __str__ may raise anything, KeyboardInterrupt included
    try:
        return make()
    except BaseException:
        return otherwise


def _site_frame(site: int) -> Frame | None:
    """Where a site id stands in the source."""
    code = registry.describe(site)
    if code is None:
        return None
    return code["file"], _site_line(code, site - code["base"]), code["function"]


def _site_line(code: dict[str, Any], offset: int) -> int:
    # a thread that waits stands behind its call instruction, in that instruction's cache
    before = [entry for entry in code["sites"] if entry[0] <= offset]
    return int(before[-1][3] if before else code["line"])


def _wait_text(wait: tuple[str, int, str, str], frame: Frame | None) -> str:
    path, _, owner, what = wait
    where = f" at {frame[0]}:{frame[1]}" if frame else ""
    if what == "join":
        return f"thread {path} waits for the end of thread {owner or '?'}{where}"
    holder = f" held by thread {owner}" if owner else ""
    return f"thread {path} waits for a {what}{holder}{where}"


def _stacks() -> str:
    """The user's part of every thread's stack."""
    names = {ident: thread.name for ident, thread in threading._active.items()}  # type: ignore[attr-defined]  # enumerate() takes a lock
    texts = []
    for ident, frame in sys._current_frames().items():
        lines = [f"Thread {names.get(ident, ident)}:"]
        for file, line, function in stack_frames(frame):
            lines.append(f'  File "{file}", line {line}, in {function}')
            lines.append(f"    {linecache.getline(file, line).strip()}")
        texts.append("\n".join(lines))
    return "\n".join(sorted(texts))
