# SPDX-License-Identifier: Apache-2.0
"""Code of libraries that puts something else in the place of what others use, for a while.

`mock.patch`, `monkeypatch`, `redirect_stdout` assign to what belongs to the whole process. Threads
that do so at the same time restore each other's patches. These few methods get probes as if they
were the target's own; the rest of their modules gets none (docs/adr/0088).
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import Any

from unsnarl.probes.python.rewriter import ModuleInfo, rewrite
from unsnarl.probes.python.rewriter.module import codes_by_name

_PATCH = ("_patch.", "_patch_dict.")
# By module, the beginnings of the qualified names of its methods.
_SWAPPERS: dict[str, tuple[str, ...]] = {
    "unittest.mock": _PATCH,
    "mock.mock": _PATCH,
    "contextlib": ("_RedirectStream.", "chdir."),
    "_pytest.monkeypatch": ("MonkeyPatch.",),
}
# They are loaded before the target is. Whoever uses them has one of these names.
_LOADED = {
    "contextlib": frozenset({"redirect_stdout", "redirect_stderr", "chdir"}),
    "_pytest.monkeypatch": frozenset({"monkeypatch", "MonkeyPatch"}),
}
IMPORTED_SWAPPERS = frozenset(_SWAPPERS.keys() - _LOADED.keys())


def with_probes(code: CodeType, name: str) -> CodeType:
    """The code of such a module, with probes in its few methods."""
    return rewrite(code, ModuleInfo(name, code.co_filename, only=_SWAPPERS[name]))


class LoadedSwappers:
    """Gives probes to those that are loaded, once the target mentions them."""

    def __init__(self) -> None:
        self._left = dict(_LOADED)

    def look_at(self, code: CodeType) -> None:
        """Before this code of the target runs."""
        if self._left:
            used = _names(code)
            for module in [one for one, names in self._left.items() if names & used]:
                del self._left[module]
                _give_probes(module)


def _names(code: CodeType) -> set[str]:
    found: set[str] = set()
    left = [code]
    while left:
        one = left.pop()
        found.update(one.co_names, one.co_varnames)
        left += [const for const in one.co_consts if isinstance(const, CodeType)]
    return found


def _give_probes(name: str) -> None:
    module = sys.modules.get(name)
    loader: Any = getattr(getattr(module, "__spec__", None), "loader", None)
    code = loader.get_code(name) if hasattr(loader, "get_code") else None
    if code is None:
        return
    old = codes_by_name(code)
    for qualname, codes in codes_by_name(with_probes(code, name)).items():
        function = _method(module, qualname)
        # Not what somebody has replaced, or a file that is no longer what was loaded.
        if function is not None and [function.__code__] == old[qualname]:
            function.__code__ = codes[0]


def _method(module: object, qualname: str) -> FunctionType | None:
    owner, _, name = qualname.partition(".")
    found = getattr(getattr(module, owner, None), "__dict__", {}).get(name)
    return found if isinstance(found, FunctionType) else None
