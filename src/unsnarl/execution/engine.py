# SPDX-License-Identifier: Apache-2.0
"""The local engine: one fork server, up to `jobs` runs in flight.

The server imports the target once and forks a child per run; it limits each run's time itself. The
engine does not trust that: a run that has not ended two seconds after its limit is killed from
here, with the server, and the server is started anew. Other runs in flight are repeated.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from unsnarl.errors import ERRORS, EXIT_TOOL, EXIT_USAGE, ToolError, UnsnarlError
from unsnarl.execution.disk import disk_full, is_full
from unsnarl.execution.server import LOG, Done, Ready, Reply, Server, ServerError
from unsnarl.execution.target import Target
from unsnarl.model.plan import Plan
from unsnarl.runfile import CODES_FILE, pieces

SETUP_SECONDS = 60.0
# For the server to notice by itself that a run is over its time limit.
GRACE_SECONDS = 2.0
# In a row: a target that kills its server would do so for ever.
MAX_DEATHS = 3
TAIL_BYTES = 4000
# Errors of the server that are the target's fault, not the tool's, and what to do about them.
BY_ITSELF = "make the command work by itself first"
USAGE_HINTS = {
    "target-import-failed": BY_ITSELF,
    "target-not-found": BY_ITSELF,
    "collection-failed": BY_ITSELF,
    "no-tests": BY_ITSELF,
    "no-debug-info": "build it again with -g, which `unsnarl cc` adds unless -g0 follows",
    "program-stripped": "leave out `strip`, `-s` and `install -s`, or hunt the unstripped program",
}


class Engine:
    """Runs plans on one target and hands back how they ended.

    Attributes:
        target: What is run.
        codes: The file of its sites; the server writes it when it starts.
        ready: What the server instrumented.
        deaths: How often the server died.
    """

    def __init__(
        self,
        target: Target,
        folder: Path,
        jobs: int,
        include: tuple[str, ...] = (),
        *,
        branches: bool = False,
        loops: bool = False,
    ) -> None:
        self.target = target
        self.codes = folder / CODES_FILE
        self.ready = Ready()
        self.deaths = 0
        self._folder = folder
        self._jobs = jobs
        self._include = include
        self._probes = {"branches": branches, "loops": loops}
        self._server: Server | None = None
        self._selector = selectors.DefaultSelector()
        self._flying: dict[int, tuple[Plan, float]] = {}
        self._cancelled: set[int] = set()
        self._deaths_in_a_row = 0
        # Not in the campaign's folder: the path of a Unix socket has room for 107 bytes.
        self._temporary = tempfile.TemporaryDirectory(prefix="unsnarl-", ignore_cleanup_errors=True)

    def __enter__(self) -> Engine:
        try:
            self._start()
        except BaseException:
            self.__exit__()  # else a warning about what was left meets whoever hunts in his process
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(server.socket)
            server.close()
        self._selector.close()
        self._temporary.cleanup()

    @property
    def vacant(self) -> int:
        """How many more runs may be sent now."""
        return self._jobs - len(self._flying)

    def submit(self, plan: Plan) -> None:
        """Send one run; how it ended comes out of `wait`."""
        if self._server is None:
            # Whoever wanted the answer at once, or had no time left, broke into its start.
            self._start()
        server = self._server
        assert server is not None
        self._flying[plan.number] = (plan, time.monotonic() + (plan.timeout or 0) + GRACE_SECONDS)
        server.send({"run": plan})

    def cancel(self, numbers: Iterable[int]) -> None:
        """End those of these runs that are in flight: nobody wants to know how they end.

        They make room for others at once, while one that hangs would take it for its time limit.
        """
        ended = [number for number in numbers if number in self._flying]
        if ended and self._server is not None:
            self._cancelled.update(ended)
            self._server.send({"cancel": ended})

    def wait(self, seconds: float) -> list[Done]:
        """The runs that ended, waiting at most `seconds` for the first."""
        if not self._flying:
            return []
        now = time.monotonic()
        nearest = min(limit for _, limit in self._flying.values())
        ready = self._selector.select(max(0.0, min(seconds, nearest - now)))
        done = self._collect() if ready else []
        return done + self._overdue()

    def _collect(self) -> list[Done]:
        server = self._server
        replies = server.receive() if server is not None else None
        if replies is None:
            self._restart()
            return []
        ended = [reply.done for reply in map(self._checked, replies) if reply.done is not None]
        done = [one for one in ended if self._flying.pop(one.number, None)]
        # A result in between shows that the target does not always kill its server.
        if done:
            self._deaths_in_a_row = 0
        return done

    def _checked(self, reply: Reply) -> Reply:
        if reply.error is not None:
            raise _raised(reply.error, self._folder, self._tail())
        return reply

    def _overdue(self) -> list[Done]:
        """Runs past the hard limit: the server is killed for them."""
        now = time.monotonic()
        late = [number for number, (_, limit) in self._flying.items() if now >= limit]
        done = []
        for number in late:
            plan, _ = self._flying.pop(number)
            seconds = (plan.timeout or 0) + GRACE_SECONDS
            done.append(Done(number, 128 + signal.SIGKILL, signal.SIGKILL, seconds, True))
        if late:
            # We kill the server ourselves here, which is no death that counts against the target.
            self._restart(counts=False)
        return done

    def _restart(self, counts: bool = True) -> None:
        """Start a new server and repeat the runs that were in flight.

        A repeated run writes to the same files as the first attempt. That is safe because `kill`
        returns only when nothing of the first attempt is alive, and because all that it has
        written is removed. The latter matters to recorded runs: their threads write into files
        that are not truncated, and events of the first attempt would follow those of the second.
        """
        if counts:
            self.deaths += 1
            self._deaths_in_a_row += 1
        if self._server is not None:
            self._selector.unregister(self._server.socket)
            self._server.kill()
        if self._deaths_in_a_row >= MAX_DEATHS:
            raise ToolError(
                "server-failed",
                f"the fork server died {self._deaths_in_a_row} times in a row\n{self._tail()}",
                f"its whole output is in {self._folder / LOG}",
            )
        wanted = self._flying.keys() - self._cancelled
        repeat = [plan for number, (plan, _) in self._flying.items() if number in wanted]
        self._flying.clear()
        self._start()
        for plan in repeat:
            _remove_files(plan)
            self.submit(plan)

    def _start(self) -> None:
        target = self.target
        self._server = server = Server(target, self._folder)
        self._selector.register(server.socket, selectors.EVENT_READ)
        setup = {
            "command": {"kind": target.kind, "args": target.args},
            "root": str(target.root),
            "include": self._include,
            "codes": str(self.codes),
            "cwd": str(target.cwd),
            "stdin": str(target.stdin or ""),
            "temporary": self._temporary.name,
            "overlay": dict(target.overlay),
            **self._probes,
        }
        server.send({"setup": setup})
        try:
            self.ready = self._await_ready(server)
        # Also an interrupt: the server has a session of its own and would not get it.
        except BaseException:
            self._server = None
            self._selector.unregister(server.socket)
            server.kill()
            raise

    def _await_ready(self, server: Server) -> Ready:
        limit = time.monotonic() + SETUP_SECONDS
        while self._selector.select(max(0.0, limit - time.monotonic())):
            replies = server.receive()
            if replies is None:
                raise ToolError(
                    "server-failed", f"the fork server could not start\n{self._tail()}".rstrip()
                )
            for reply in map(self._checked, replies):
                if reply.ready is not None:
                    return reply.ready
        raise ToolError(
            "server-failed",
            f"the target was not imported within {SETUP_SECONDS:.0f} s\n{self._tail()}".rstrip(),
        )

    def _tail(self) -> str:
        try:
            with (self._folder / LOG).open("rb") as log:
                return _last_bytes(log).decode("utf-8", "replace").strip()
        except OSError:
            return ""


def _remove_files(plan: Plan) -> None:
    """Remove what a run left that was killed."""
    file = Path(plan.file)
    pieces.discard(file)
    file.unlink(missing_ok=True)
    Path(plan.output).unlink(missing_ok=True)


def _raised(error: ServerError, folder: Path, log: str) -> UnsnarlError:
    """The server's error as ours, with the end of its output."""
    if is_full(error.errno):
        return disk_full(folder, error.message)
    slug = error.slug if error.slug in ERRORS else "server-failed"
    parts = (error.message, error.output.strip() or log)
    text = "\n".join(part for part in parts if part)
    code = EXIT_USAGE if slug in USAGE_HINTS else EXIT_TOOL
    return UnsnarlError(slug, text, USAGE_HINTS.get(slug, ""), code)


def _last_bytes(file: IO[bytes]) -> bytes:
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - TAIL_BYTES))
    return file.read()
