# SPDX-License-Identifier: Apache-2.0
"""The work of the fork server: load the target once, fork one process per run.

    parent                        server                       children
      | -- setup ----------------> | patch, import, collect
      | <-------- ready or error - |
      | -- run 1, run 2 ---------> | -- fork --> run 1
      |                            | -- fork --> run 2
      | <---------------- done 1 - | <-- exit --

The server has one thread: a thread that the target started before the fork would be missing in
every run.
"""

from __future__ import annotations

import _thread
import atexit
import gc
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from unsnarl.probes import call
from unsnarl.probes.paths import with_relative_files
from unsnarl.probes.protocol import ProbedTarget, Setup
from unsnarl.probes.server.channel import Channel
from unsnarl.probes.server.folders import TemporaryFolders
from unsnarl.probes.server.forks import Forks
from unsnarl.probes.server.output import Output

_ALL = 1 << 30


class Service:
    """From the parent's setup to the last run."""

    def __init__(self, channel: Channel, setup: Setup, restart: Callable[[int], NoReturn]) -> None:
        self._channel = channel
        self._setup = setup
        self._restart = restart
        self._start = time.monotonic()
        self._output = Output()

    def run(self, limit: int) -> NoReturn:
        """Prepare the target, making at most `limit` imports ahead, and serve."""
        try:
            make_probe = _load_probe(self._setup["command"]["kind"])
            os.chdir(self._setup["cwd"])
            probe = make_probe(self._setup)
            self._import_ahead(probe.imports(), limit)
            probe.run(lambda: self._fork_point(probe))
        except BaseException as error:
            self._refuse(error)

    def _import_ahead(self, imports: Iterator[Callable[[], object]], limit: int) -> None:
        """Make the imports that every run would begin with, once.

        One that raises, or that starts a thread, belongs to the run. Its traces cannot be wiped
        out of this process, so the server starts anew and stops before it.
        """
        for index, step in enumerate(imports):
            if index >= limit:
                return
            threads = _thread._count()
            try:
                step()
            except KeyboardInterrupt:
                raise
            except BaseException:
                self._restart(index)
            if _thread._count() > threads:
                self._restart(index)

    def _fork_point(self, probe: ProbedTarget) -> dict[str, Any]:
        """Everything is loaded: answer the parent and serve. Gives the plan, in a run only."""
        try:
            self._announce(probe)
            # Else a collection in a run would write to, and so copy, the pages of all objects.
            gc.freeze()
            folders = TemporaryFolders(self._setup.get("temporary", ""))
            plan = Forks(self._channel, folders, probe.before_fork).serve()
        except BaseException as error:  # not to be seen by the target, which is around this
            self._refuse(error)
        self._output.redirect(plan["output"], self._setup.get("stdin", ""))
        return plan

    def _announce(self, probe: ProbedTarget) -> None:
        """List the sites, and say that all is ready.

        The list is gone when this returns: what a run inherits and lets go, it has to copy first. A
        third of a short run went there where the target is large.
        """
        dump = probe.codes()
        # A copy: failures are found by the whole names.
        stored = dump | {"codes": with_relative_files(dump["codes"], self._setup["root"])}
        _write_atomically(self._setup["codes"], json.dumps(stored, separators=(",", ":")))
        self._output.settle(probe.private_scratch)
        self._channel.send({"ready": self._ready(dump)})

    def _ready(self, dump: dict[str, Any]) -> dict[str, Any]:
        return {
            "modules": dump["modules"],
            "probes": dump["probes"],
            "python": ".".join(map(str, sys.version_info[:3])),
            "seconds": round(time.monotonic() - self._start, 6),
            "threads": _thread._count(),  # of the target, and missing in the runs
        }

    def _refuse(self, error: BaseException) -> NoReturn:
        slug = _slug_of(error)
        if slug in ("server-failed", "build-missing"):
            traceback.print_exc()
        refusal = {"slug": slug, "message": str(error), "output": self._output.text()}
        number = error.errno if isinstance(error, OSError) else None
        self._channel.send({"error": refusal | {"errno": number or 0}})
        os._exit(1)


def _load_probe(kind: str) -> Callable[[Setup], ProbedTarget]:
    """The probe for a kind of target.

    It is loaded here, so that a core that is missing or broken can be reported to the parent.
    """
    if kind == "program":
        from unsnarl.probes.native.program import NativeProgram  # noqa: PLC0415

        return lambda setup: NativeProgram(setup["command"]["args"], setup)
    from unsnarl.probes.python.target import PythonTarget  # noqa: PLC0415

    return PythonTarget


class _Restart:
    """Becomes a server as new, with the same setup and a limit to the imports made ahead."""

    def __init__(self, fd: int, setup: str) -> None:
        # taken down before the target's own arguments and folder replace them
        options = sys.orig_argv[1 : sys.orig_argv.index("-m") + 2]
        self._command = [sys.executable, *options, str(fd)]
        self._cwd = os.getcwd()  # noqa: PTH109  pathlib is slow to load
        self._fd = fd
        self._setup = setup

    def __call__(self, limit: int) -> NoReturn:
        os.chdir(self._cwd)
        os.set_inheritable(self._fd, True)
        os.execv(sys.executable, [*self._command, str(limit), self._setup])


def _slug_of(error: BaseException) -> str:
    # a TargetError carries one; that the native core is missing shows only in an import's name
    if isinstance(error, ImportError) and "_core" in (error.name or str(error)):
        return "build-missing"
    return str(getattr(error, "slug", "server-failed"))


def _write_atomically(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(text)
    os.replace(temporary, path)  # noqa: PTH105


def serve_function(fd: int, function: Callable[[], object]) -> NoReturn:
    """In a process that was forked for it: hunt a function of its own.

    Nothing of the process that asked must be met again: its streams, its tracer, what it does when
    it exits.
    """
    sys.settrace(None)
    sys.setprofile(None)
    threading.settrace(None)
    threading.setprofile(None)
    atexit._clear()
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = open(2, "w", closefd=False, buffering=1)  # noqa: SIM115
    sys.__stderr__ = sys.stderr  # type: ignore[misc]
    call.give(function)
    channel = Channel(fd)
    message = channel.receive_one()
    if message is None:
        os._exit(0)
    Service(channel, message["setup"], _never).run(0)


def _never(limit: int) -> NoReturn:
    """A function has no imports ahead."""
    raise AssertionError(limit)


def main(args: list[str]) -> NoReturn:
    """With the socket's descriptor; a restart adds the limit to imports and the setup."""
    channel = Channel(int(args[0]))
    if len(args) > 1:
        limit, setup = int(args[1]), json.loads(args[2])
    else:
        message = channel.receive_one()
        if message is None:
            os._exit(0)
        limit, setup = _ALL, message["setup"]
    Service(channel, setup, _Restart(channel.fd, json.dumps(setup))).run(limit)
