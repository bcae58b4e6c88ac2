# SPDX-License-Identifier: Apache-2.0
"""The local engine: one fork server, up to `jobs` runs in flight.

The server imports the target once and forks a child per run; it limits each run's time itself. The
engine does not trust that: a run that is not answered two seconds after its limit is killed from
here, with the server, and the server is started again. What was in flight beside it is repeated.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from unsnarl.campaigns.store import DISK_ERRORS, disk_full, storing
from unsnarl.campaigns.target import Target
from unsnarl.errors import ERRORS, EXIT_TOOL, EXIT_USAGE, ToolError, UnsnarlError

if TYPE_CHECKING:
    from unsnarl.probes.native.captured import Teller

SERVER = ("-m", "unsnarl.probes.python.server")
SETUP_SECONDS = 60.0
GRACE_SECONDS = 2.0
CLOSE_SECONDS = 2.0
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


class Ready(msgspec.Struct, frozen=True):
    """What the server instrumented."""

    modules: int = 0
    probes: int = 0
    python: str = ""
    seconds: float = 0.0
    threads: int = 0  # started by the target's imports, and missing in the runs


class Done(msgspec.Struct, frozen=True):
    """How one run ended, as seen from outside it."""

    number: int
    status: int = 0
    signal: int = 0
    seconds: float = 0.0
    timed_out: bool = False


class Complaint(msgspec.Struct, frozen=True):
    """The server's own error."""

    slug: str = "server-failed"
    message: str = ""
    output: str = ""


class Answer(msgspec.Struct, frozen=True):
    """One line from the server."""

    ready: Ready | None = None
    done: Done | None = None
    error: Complaint | None = None


Plan = dict[str, Any]


class Server:
    """One fork server process and the socket to it."""

    def __init__(self, target: Target, folder: Path) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket = ours
        self._pending = b""
        self._decoder = msgspec.json.Decoder(Answer)
        python = [target.python.executable, *target.flags, *SERVER]
        with theirs, storing(folder), (folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*python, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=target.cwd,
                env=os.environ | {"PYTHONHASHSEED": "0"},
                start_new_session=True,
            )

    def send(self, message: dict[str, Any]) -> None:
        """Send one message; a dead server shows when it is read from."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(msgspec.json.encode(message) + b"\n")

    def receive(self) -> list[Answer] | None:
        """The answers that have arrived; None once the server is gone."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            return None
        *lines, self._pending = (self._pending + data).split(b"\n")
        return [self._decode(line) for line in lines if line.strip()]

    def _decode(self, line: bytes) -> Answer:
        try:
            return self._decoder.decode(line)
        except msgspec.MsgspecError as error:
            raise ToolError(
                "server-failed", f"cannot understand the fork server: {error}"
            ) from None

    def close(self) -> None:
        """Ask the server to end by closing the socket, then make sure of it."""
        self.socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(CLOSE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill the server and all that descends from it."""
        self.socket.close()
        victims = descendants(self.process.pid)
        self.process.kill()
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


class Engine:
    """Runs plans on one target and hands back how they ended."""

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
        self.ready = Ready()
        self.deaths = 0
        self._target = target
        self._folder = folder
        self._jobs = jobs
        self._include = include
        self._told = {"branches": branches, "loops": loops}
        self._server: Server | None = None
        self._selector = selectors.DefaultSelector()
        self._flying: dict[int, tuple[Plan, float]] = {}
        self._deaths_in_a_row = 0

    def __enter__(self) -> Engine:
        self._start()
        return self

    def __exit__(self, *exception: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(server.socket)
            server.close()
        self._selector.close()

    @property
    def in_flight(self) -> int:
        """Runs that have been sent and not answered."""
        return len(self._flying)

    @property
    def vacant(self) -> int:
        """How many more runs may be sent now."""
        return self._jobs - len(self._flying)

    def submit(self, plan: Plan) -> None:
        """Send one run; its answer comes out of `wait`."""
        server = self._server
        if server is None:
            raise RuntimeError("the engine is not started")
        self._flying[plan["number"]] = (plan, time.monotonic() + plan["timeout"] + GRACE_SECONDS)
        server.send({"run": plan})

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
        answers = server.receive() if server is not None else None
        if answers is None:
            self._restart()
            return []
        done = []
        for answer in answers:
            if answer.error is not None:
                raise complaint(answer.error, self._folder, self._tail())
            if answer.done is not None and answer.done.number in self._flying:
                plan, _ = self._flying.pop(answer.done.number)
                self._complete(plan)
                self._deaths_in_a_row = 0
                done.append(answer.done)
        return done

    def _complete(self, plan: Plan) -> None:
        """A C program does not know what it captured: that is said here."""
        if self._target.kind == "program" and plan.get("capture"):
            self._teller.complete(Path(plan["file"]))

    @cached_property
    def _teller(self) -> Teller:
        from unsnarl.probes.native.captured import Teller  # noqa: PLC0415  only where wanted
        from unsnarl.probes.native.sites import Program  # noqa: PLC0415
        from unsnarl.runfile import SiteTable  # noqa: PLC0415

        table = SiteTable.load(self._folder / "codes.json", self._target.root)
        return Teller(Program(Path(self._target.cwd, self._target.args[0])), table)

    def _overdue(self) -> list[Done]:
        """Runs past the hard limit: the server is killed for them."""
        now = time.monotonic()
        late = [number for number, (_, limit) in self._flying.items() if now >= limit]
        done = []
        for number in late:
            plan, _ = self._flying.pop(number)
            seconds = plan["timeout"] + GRACE_SECONDS
            done.append(Done(number, 128 + signal.SIGKILL, signal.SIGKILL, seconds, True))
        if late:
            self._restart(counts=False)
        return done

    def _restart(self, counts: bool = True) -> None:
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
                f"its whole output is in {self._folder / 'server.log'}",
            )
        repeat = [plan for plan, _ in self._flying.values()]
        self._flying.clear()
        self._start()
        for plan in repeat:
            self.submit(plan)

    def _start(self) -> None:
        target = self._target
        self._server = server = Server(target, self._folder)
        self._selector.register(server.socket, selectors.EVENT_READ)
        setup = {
            "command": {"kind": target.kind, "args": target.args},
            "root": str(target.root),
            "include": self._include,
            "codes": str(self._folder / "codes.json"),
            "cwd": str(target.cwd),
            **self._told,
        }
        server.send({"setup": setup})
        self.ready = self._await_ready(server)

    def _await_ready(self, server: Server) -> Ready:
        limit = time.monotonic() + SETUP_SECONDS
        while self._selector.select(max(0.0, limit - time.monotonic())):
            answers = server.receive()
            if answers is None:
                server.kill()
                raise ToolError(
                    "server-failed", f"the fork server could not start\n{self._tail()}".rstrip()
                )
            for answer in answers:
                if answer.error is not None:
                    raise complaint(answer.error, self._folder, self._tail())
                if answer.ready is not None:
                    return answer.ready
        raise ToolError(
            "server-failed",
            f"the target was not imported within {SETUP_SECONDS:.0f} s\n{self._tail()}".rstrip(),
        )

    def _tail(self) -> str:
        try:
            with (self._folder / "server.log").open("rb") as log:
                return _last_bytes(log).decode("utf-8", "replace").strip()
        except OSError:
            return ""


def complaint(error: Complaint, folder: Path, log: str) -> UnsnarlError:
    """The server's error as ours, with the end of its output."""
    if error.message.startswith(DISK_ERRORS):
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


def descendants(pid: int) -> list[int]:
    """All processes below `pid` or in its session, by what /proc says of each.

    Runs have process groups of their own but stay in the server's session, also when it has died.
    """
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parent, session = int(fields[1]), int(fields[3])
                above = pid if session == pid else parent
                children.setdefault(above, []).append(int(entry.name))
    found: list[int] = []
    todo = [pid]
    while todo:
        below = [child for child in children.get(todo.pop(), []) if child != pid]
        found += below
        todo += below
    return found
