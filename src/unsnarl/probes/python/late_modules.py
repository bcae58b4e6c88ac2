# SPDX-License-Identifier: Apache-2.0
"""Modules that runs load by themselves, rewritten once in the server instead of in each run.

The first run that loads such a module gives its code ids and notes its name (late_codes.py). Before
the next fork the server reads the code, which is not run there, and rewrites it: for a lazy import
that is most of the time of a run. A run takes it only if it would have come to the same.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import NamedTuple

from unsnarl.probes.python import overlay, registry
from unsnarl.probes.python.late_codes import LateCodes, LateModule

# Module, file and whether threads run meanwhile -> the code with probes.
Rewrite = Callable[[CodeType, LateModule], CodeType]
MODULE = "<module>"


class _Ready(NamedTuple):
    source: CodeType
    code: CodeType
    blocks: list[registry.Block]
    loaded: Counter[str]


class LateModules:
    """The modules that were rewritten ahead."""

    def __init__(self, codes: LateCodes, rewrite: Rewrite) -> None:
        self._codes = codes
        self._rewrite = rewrite
        self._seen = 0
        self._ready: dict[LateModule, _Ready] = {}

    def prepare(self) -> None:
        """In the server, before a fork: rewrite what earlier runs have loaded."""
        self._codes.catch_up()
        new = self._codes.modules[self._seen :]
        if not new:
            return
        self._seen += len(new)
        for module in new:
            try:
                self._ready[module] = self._prepared(module)
            except Exception:  # then each run does it, as the first one did
                continue
        gc.freeze()  # as what was loaded before the first fork

    def _prepared(self, module: LateModule) -> _Ready:
        source = SourceFileLoader(module.name, module.file).get_code(module.name)
        if source is None:
            raise ValueError("no code")
        with registry.REGISTRY.aside() as blocks, self._codes.only_agreed() as loaded:
            code = self._rewrite(overlay.patched_code(source), module)
        return _Ready(source, code, blocks, loaded)

    def take(self, source: CodeType, module: LateModule) -> CodeType | None:
        """In a run: the code with probes, if it was made from this code and is the first copy."""
        ready = self._ready.pop(module, None)
        if ready is None or ready.source != source or not self._codes.may_load(ready.loaded):
            return None
        registry.REGISTRY.adopt(ready.blocks)
        return ready.code

    def note(self, source: CodeType, module: LateModule) -> None:
        """In a run that has rewritten a module itself: later runs need not."""
        if source.co_name == MODULE and module.file.endswith(".py"):
            self._codes.note_module(module)
