# SPDX-License-Identifier: Apache-2.0
"""C extensions built with `unsnarl cc -shared`: their sites follow those of Python code."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

from unsnarl.probes.binaries import finding
from unsnarl.probes.python import registry

if TYPE_CHECKING:
    from unsnarl.probes.binaries.libraries import Libraries


class Extensions:
    """Those that the target has imported, or may come to import."""

    def __init__(self, root: str, include: list[str]) -> None:
        """To be made before the target can put modules of its own in the way of ours."""
        self._paths = finding.in_project(root, include)
        self._libraries: Libraries | None = None
        if self._paths:
            _library_module()

    def add_to(self, dump: dict[str, Any]) -> None:
        """Add them to the content of codes.json; from now on runs know them."""
        paths = sorted({*self._paths, *finding.loaded()})
        if not paths:
            return
        self._libraries = _library_module().Libraries(paths, registry.REGISTRY.watermark, 0)
        self._libraries.add_to(dump)
        # Code that is imported later must not get the ids of libraries.
        registry.REGISTRY.reserve(self._libraries.limit)
        registry.core().set_modules(self._libraries.modules)

    def add_lines(self, first: array[int], dump: dict[str, Any]) -> None:
        """Enter their sites into the table that LineSites began."""
        if self._libraries:
            self._libraries.add_lines(first, dump)


def _library_module() -> Any:
    from unsnarl.probes.binaries import libraries  # noqa: PLC0415  slow to load, and seldom wanted

    return libraries
