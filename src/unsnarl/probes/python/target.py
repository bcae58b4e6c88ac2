# SPDX-License-Identifier: Apache-2.0
"""The probe of Python programs: what the fork server drives (probes/protocol.py)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from unsnarl.probes import call
from unsnarl.probes.protocol import CodesDump, Setup
from unsnarl.probes.python import (
    child,
    failures,
    file_locks,
    files,
    importer,
    launcher,
    loaded,
    overlay,
    parallel,
    process_locks,
    registry,
    sockets,
    sync,
)
from unsnarl.probes.python.extensions import Extensions
from unsnarl.probes.python.late_codes import SUFFIX, LateCodes
from unsnarl.probes.python.late_modules import LateModules
from unsnarl.probes.python.line_sites import LATE_SITES, LineSites


class PythonTarget:
    """A script, a module, a session of tests or a function; see ProbedTarget."""

    def __init__(self, setup: Setup) -> None:
        # In this order: modules of the target must find replaced primitives when they are imported,
        # and their code goes through the importer from the first one on.
        before = loaded.names() if call.given() else {}
        parallel.install()
        sync.install()
        sockets.install()
        file_locks.install()
        process_locks.install()
        files.install()
        child.install(setup["root"])
        wanted = {name: setup.get(name, False) for name in ("branches", "loops")}
        overlay.install(setup.get("overlay", {}))
        importer.install(setup["root"], setup["include"], **wanted)
        self._extensions = Extensions(setup["root"], setup["include"])
        loaded.replace_copies(before)
        self._target = launcher.prepare(setup["command"], setup["cwd"], setup["codes"])
        self._late_file = setup["codes"] + SUFFIX
        self._late: LateModules | None = None
        self._watermark = 0

    @property
    def private_scratch(self) -> bool:
        """See ProbedTarget."""
        return self._target.private_scratch

    def imports(self) -> Iterator[Callable[[], object]]:
        """See ProbedTarget."""
        return self._target.imports()

    def codes(self) -> CodesDump:
        """See ProbedTarget."""
        parallel.check()
        dump = registry.dump()
        # First: it raises the watermark, up to which the table below has to reach.
        self._extensions.add_to(dump)
        failures.use_codes(dump)
        lines = LineSites(registry.REGISTRY.blocks, dump)
        self._extensions.add_lines(lines.first, dump)
        registry.core().set_first_sites(lines.first)
        # Last: what is in the dump is in the table already.
        registry.REGISTRY.late = lines.add
        self._watermark = dump["watermark"]
        self._share_late_codes(dump)
        return dump

    def _share_late_codes(self, dump: CodesDump) -> None:
        limit = dump["watermark"] + LATE_SITES
        codes = LateCodes(self._late_file, dump["watermark"], limit)
        text = json.dumps(dump, sort_keys=True)
        codes.begin(hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())
        registry.REGISTRY.share(codes)
        dump["shared"] = limit
        self._late = importer.late_modules(codes)

    def before_fork(self) -> None:
        """See ProbedTarget."""
        if self._late is not None:
            self._late.prepare()

    def run(self, fork_point: Callable[[], dict[str, Any]]) -> NoReturn:
        """See ProbedTarget."""

        def begin() -> None:
            child.prepare()
            child.begin(fork_point(), self._watermark)

        child.conduct(lambda: self._target.run(begin))
