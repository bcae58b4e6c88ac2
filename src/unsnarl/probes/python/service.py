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
import gc
import json
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any, NoReturn

from unsnarl.probes.python.channel import Channel
from unsnarl.probes.python.output import Output

if TYPE_CHECKING:
    from unsnarl.probes.python.extensions import Extensions
    from unsnarl.probes.python.launcher import Target

_ALL = 1 << 30


class Server:
    """From the parent's setup to the last run."""

    def __init__(self, channel: Channel, setup: dict[str, Any], restart: _Restart) -> None:
        self._channel = channel
        self._setup = setup
        self._restart = restart
        self._start = time.monotonic()
        self._output = Output()

    def run(self, limit: int) -> NoReturn:
        """Prepare the target, making at most `limit` imports ahead, and serve."""
        try:
            self._run(limit)
        except BaseException as error:
            slug = _slug_of(error)
            if slug in ("server-failed", "build-missing"):
                traceback.print_exc()
            self._refuse(slug, str(error))

    def _run(self, limit: int) -> NoReturn:
        # loaded here, so that a core that is missing or broken can be reported to the parent
        from unsnarl.probes.python import (  # noqa: PLC0415
            child,
            extensions,
            importer,
            launcher,
            sync,
        )

        os.chdir(self._setup["cwd"])
        if self._setup["command"]["kind"] == "program":
            self._serve_program()
        sync.install()
        child.install()
        told = {name: self._setup.get(name, False) for name in ("branches", "loops")}
        importer.install(self._setup["root"], self._setup["include"], **told)
        native = extensions.Extensions(self._setup["root"], self._setup["include"])
        target = launcher.prepare(self._setup["command"], self._setup["cwd"])
        self._import_ahead(target, limit)
        child.conduct(lambda: target.run(lambda: self._fork_point(target, native)))

    def _serve_program(self) -> NoReturn:
        """Serve runs of a program that has no Python in it."""
        from unsnarl.probes.native.program import Native  # noqa: PLC0415
        from unsnarl.probes.python.forks import Forks  # noqa: PLC0415

        program = Native(self._setup["command"]["args"], self._setup)
        dump = program.codes()
        _write_atomically(self._setup["codes"], json.dumps(dump, separators=(",", ":")))
        self._output.settle(False)
        self._channel.send({"ready": self._ready(dump)})
        gc.freeze()
        plan = Forks(self._channel).serve()
        self._output.redirect(plan["output"])
        program.begin(plan)

    def _import_ahead(self, target: Target, limit: int) -> None:
        """Make the imports that every run would begin with, once.

        One that raises, or that starts a thread, belongs to the run. Its traces cannot be wiped
        out of this process, so the server starts anew and stops before it.
        """
        for index, step in enumerate(target.imports()):
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

    def _fork_point(self, target: Target, extensions: Extensions) -> None:
        """Everything is loaded: answer the parent, serve; returns in the children only."""
        from unsnarl.probes.python import child, failures, places, registry  # noqa: PLC0415
        from unsnarl.probes.python.forks import Forks  # noqa: PLC0415

        try:
            dump = registry.dump()
            extensions.add_to(dump)
            _write_atomically(self._setup["codes"], json.dumps(dump, separators=(",", ":")))
            failures.use_codes(dump)
            known = places.Places(registry.REGISTRY.blocks, dump)
            extensions.add_places(known.first, dump)
            registry.core().set_places(known.first)
            registry.REGISTRY.late = known.add
            self._output.settle(target.private_scratch)
            self._channel.send({"ready": self._ready(dump)})
            gc.freeze()
            plan = Forks(self._channel).serve()
        except BaseException as error:
            traceback.print_exc()
            self._refuse("server-failed", str(error))
        self._output.redirect(plan["output"])
        child.begin(plan, dump["watermark"])

    def _ready(self, dump: dict[str, Any]) -> dict[str, Any]:
        return {
            "modules": dump["modules"],
            "probes": dump["probes"],
            "python": ".".join(map(str, sys.version_info[:3])),
            "seconds": round(time.monotonic() - self._start, 6),
            "threads": _thread._count(),  # of the target, and missing in the runs
        }

    def _refuse(self, slug: str, message: str) -> NoReturn:
        error = {"slug": slug, "message": message, "output": self._output.text()}
        self._channel.send({"error": error})
        os._exit(1)


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
    # the launcher's errors carry one; only its name tells that the native core is not there
    if isinstance(error, ImportError) and "_core" in (error.name or str(error)):
        return "build-missing"
    return str(getattr(error, "slug", "server-failed"))


def _write_atomically(path: str, text: str) -> None:
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8") as stream:  # noqa: PTH123
        stream.write(text)
    os.replace(temporary, path)  # noqa: PTH105


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
    Server(channel, setup, _Restart(channel.fd, json.dumps(setup))).run(limit)
