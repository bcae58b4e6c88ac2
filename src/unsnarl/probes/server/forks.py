# SPDX-License-Identifier: Apache-2.0
"""The runs in flight: fork, watch, reap."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from unsnarl.probes import statuses
from unsnarl.probes.server.channel import Channel
from unsnarl.probes.server.folders import TemporaryFolders

_GRACE = 1.0  # seconds past its limit that a run may take to write its file


class _Child:
    """A run in flight."""

    def __init__(self, plan: dict[str, Any], pid: int, slot: int) -> None:
        self.slot = slot
        self.number = plan["number"]
        self.timeout = float(plan["timeout"])
        self.start = time.monotonic()
        self.pid = pid
        self.pidfd = os.pidfd_open(pid)
        self.killed = False

    def patience(self) -> float:
        """The seconds until the server kills it."""
        return self.start + self.timeout + _GRACE - time.monotonic()

    def kill(self) -> None:
        """End the run and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def reap(self) -> dict[str, Any]:
        """What the run came to, for the parent."""
        seconds = time.monotonic() - self.start
        self.kill()  # what it left behind; the group's number is safe as long as it is a zombie
        ended = os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED)
        os.close(self.pidfd)
        assert ended is not None
        by_signal = 0 if ended.si_code == os.CLD_EXITED else ended.si_status
        status = 128 + by_signal if by_signal else ended.si_status
        # A program may end with this status by itself; then it was too early for the limit.
        own_limit = status == statuses.TIMEOUT and seconds >= self.timeout
        return {
            "number": self.number,
            "status": status,
            "signal": by_signal,
            "seconds": round(seconds, 6),
            "timed_out": self.killed or own_limit,
        }


class Forks:
    """Serves the parent's requests; each becomes a process."""

    def __init__(
        self, channel: Channel, folders: TemporaryFolders, before_fork: Callable[[], None]
    ) -> None:
        self._before_fork = before_fork
        self._channel = channel
        self._folders = folders
        self._children: dict[int, _Child] = {}
        self._poll = select.poll()
        self._poll.register(channel.fd, select.POLLIN)

    def serve(self) -> dict[str, Any]:
        """Fork a child for each run that the parent asks for; gives the plan, in the child only.

        In the server it does not return: the process ends when the parent hangs up.
        """
        # SIGINT is the parent's to answer. Not by `signal.signal`: it makes enumerations of what it
        # is given, which takes a run as many pages as all the rest here.
        handler = _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
        while True:
            for fd, _ in self._poll.poll(self._wait()):
                if fd != self._channel.fd:
                    self._answer(fd)
                    continue
                for message in self._requests():
                    self._cancel(message.get("cancel", ()))
                    plan: dict[str, Any] | None = message.get("run")
                    if plan is not None and self._fork(plan):
                        _signal.signal(_signal.SIGINT, handler)
                        return plan
            self._kill_overrun()

    def _requests(self) -> list[dict[str, Any]]:
        messages = self._channel.receive()
        if messages is None:
            self._leave()
        return messages

    def _cancel(self, numbers: Collection[int]) -> None:
        """End runs that nobody waits for any more; they are answered like others."""
        for child in self._children.values():
            if child.number in numbers:
                child.kill()

    def _fork(self, plan: dict[str, Any]) -> bool:
        """Whether this is the child."""
        slot = self._folders.take()
        self._before_fork()
        pid = os.fork()
        if pid == 0:
            self._folders.enter(slot)
            # A group of its own, so that kill() reaches what the run has started.
            os.setpgid(0, 0)
            self._channel.close()
            # A fork copies all descriptors, also those that exec would close.
            for pidfd in self._children:
                os.close(pidfd)
            return True
        with contextlib.suppress(OSError):  # the child does it as well: whoever comes first
            os.setpgid(pid, pid)
        child = _Child(plan, pid, slot)
        self._children[child.pidfd] = child
        self._poll.register(child.pidfd, select.POLLIN)
        return False

    def _answer(self, pidfd: int) -> None:
        self._poll.unregister(pidfd)
        child = self._children.pop(pidfd)
        done = child.reap()
        self._folders.give_back(child.slot)
        self._channel.send({"done": done})

    def _wait(self) -> float | None:
        """Milliseconds until the next child is overdue."""
        if not self._children:
            return None
        soonest = min(child.patience() for child in self._children.values())
        # One more, so that patience is surely at its end when poll returns.
        return max(0.0, soonest * 1000 + 1)

    def _kill_overrun(self) -> None:
        for child in self._children.values():
            if not child.killed and child.patience() <= 0:
                child.killed = True
                child.kill()

    def _leave(self) -> NoReturn:
        for child in self._children.values():
            child.kill()
        os._exit(0)
