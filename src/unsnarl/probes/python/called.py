# SPDX-License-Identifier: Apache-2.0
"""A function as a target: imported by its name, or found in the process that asked for the hunt."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from unsnarl.probes import call
from unsnarl.probes.python import loaded


class CalledFunction:
    """See launcher.PreparedTarget."""

    private_scratch = True  # the caller may capture what is printed, as pytest does

    def __init__(self, name: str, codes: str) -> None:
        function = call.given()
        if function is not None:
            loaded.give_probes(function, codes)
        self._function = function or call.named(name)

    def imports(self) -> Iterator[Callable[[], object]]:
        """All is loaded."""
        return iter(())

    def run(self, fork_point: Callable[[], None]) -> int:
        """See launcher.PreparedTarget."""
        fork_point()
        self._function()
        return 0
