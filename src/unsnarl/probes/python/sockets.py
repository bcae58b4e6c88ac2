# SPDX-License-Identifier: Apache-2.0
"""Waits of the target for sockets, put under the gate: native/binding/sockets.c, docs/adr/0055.

The methods of sockets are replaced in C. A selector's wait is Python code around one call; that is
made without waiting, once something has come.
"""

from __future__ import annotations

import select
import selectors
import socket
import sys
from collections.abc import Callable, Iterable, Sequence
from types import FrameType
from typing import Any

from unsnarl import _core

# What a file is registered for, unless it is said.
ANYTHING = select.POLLIN | select.POLLPRI | select.POLLOUT

Selecting = Callable[..., list[tuple[selectors.SelectorKey, int]]]
Files = list[tuple[int, int]]

_real_select: Callable[..., tuple[list[Any], list[Any], list[Any]]] = select.select
_real_poll: Callable[[], Any] | None = getattr(select, "poll", None)


def install() -> None:
    """Replaces what waits, once."""
    if select.select is not _real_select:
        return
    _core.control_sockets(socket.socket)
    select.select = _select
    if _real_poll is not None:
        select.poll = _Poll  # type: ignore[assignment,misc]
    selectors.SelectSelector._select = staticmethod(_select)  # type: ignore[attr-defined]
    _control(selectors.EpollSelector)
    _control(selectors._PollLikeSelector)


def _control(selector: Any) -> None:
    """Each class has a `select` of its own, in front of one call that waits."""
    real: Selecting = selector.select

    def select(self: Any, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return real(self, timeout)
        waited = _core.await_files(_watched(self), timeout, _is_loop(sys._getframe(1)))
        return real(self, timeout if waited is None else 0)

    select.__doc__ = real.__doc__
    selector.select = select


def _is_loop(caller: FrameType) -> bool:
    """Whether an event loop waits: then the time limit is the next of its timers."""
    return caller.f_globals.get("__name__") == "asyncio.base_events"


def _watched(selector: Any) -> Files:
    return [(key.fd, _events(key.events)) for key in selector.get_map().values()]


def _events(events: int) -> int:
    reads = select.POLLIN if events & selectors.EVENT_READ else 0
    return reads | (select.POLLOUT if events & selectors.EVENT_WRITE else 0)


def _select(
    reads: Iterable[Any],
    writes: Iterable[Any],
    others: Iterable[Any],
    timeout: float | None = None,
    /,
) -> tuple[list[Any], list[Any], list[Any]]:
    """`select.select`: the same files, asked once something has come."""
    given = [list(reads), list(writes), list(others)]
    files = _pollable(given)
    if (timeout is not None and timeout <= 0) or any(number < 0 for number, _ in files):
        return _real_select(*given, timeout)
    waited = _core.await_files(files, timeout)
    return _real_select(*given, timeout if waited is None else 0)


class _Poll:
    """What `select.poll` makes: the same files, asked once something has come."""

    def __init__(self) -> None:
        assert _real_poll is not None
        self._real = _real_poll()
        self._files: dict[int, int] = {}

    def register(self, fd: Any, eventmask: int = ANYTHING, /) -> None:
        self._real.register(fd, eventmask)
        self._files[_number(fd)] = eventmask

    def modify(self, fd: Any, eventmask: int, /) -> None:
        self._real.modify(fd, eventmask)
        self._files[_number(fd)] = eventmask

    def unregister(self, fd: Any, /) -> None:
        self._real.unregister(fd)
        del self._files[_number(fd)]

    def poll(self, timeout: float | None = None, /) -> list[tuple[int, int]]:
        endless = timeout is None or timeout < 0
        waited = None
        if timeout != 0 and all(number >= 0 for number in self._files):
            seconds = None if endless or timeout is None else timeout / 1000
            waited = _core.await_files(list(self._files.items()), seconds)
        found: list[tuple[int, int]] = self._real.poll(timeout if waited is None else 0)
        return found


def _pollable(given: Sequence[Sequence[Any]]) -> Files:
    pairs = zip(given, (select.POLLIN, select.POLLOUT, select.POLLPRI), strict=True)
    return [(_number(file), kind) for files, kind in pairs for file in files]


def _number(file: Any) -> int:
    return file if isinstance(file, int) else int(file.fileno())
