# SPDX-License-Identifier: Apache-2.0
"""Finds the code that gets probes, just before it runs.

Imports, `python -m`, pytest's assertion rewriter and dataclasses all hand their code to
`builtins.exec`, after any .pyc cache was read or written: one seam, and no cache ever holds our
code. Modules that are already loaded stay as they are.
"""

import builtins
import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import CodeType
from typing import Any

from unsnarl.probes.python import effects, overlay, registry
from unsnarl.probes.python.late_codes import LateCodes, LateModule
from unsnarl.probes.python.late_modules import LateModules
from unsnarl.probes.python.rewriter import ModuleInfo, rewrite
from unsnarl.probes.python.rewriter.libraries import with_catches
from unsnarl.probes.python.swappers import IMPORTED_SWAPPERS, LoadedSwappers, with_probes

_LIBRARY_FOLDERS = frozenset({"site-packages", "dist-packages"})
_OWN_FOLDER = Path(__file__).resolve().parents[2]
# Test runners catch the failure itself; their bookkeeping is no part of the program.
_UNWATCHED = frozenset({"_pytest", "pytest", "pluggy", "unittest", "unsnarl"})
_FUTURES = 0x1FF0000  # co_flags of `from __future__` features


class Scope:
    """Which files and modules belong to the target."""

    def __init__(self, root: str, include: list[str]) -> None:
        self.root = Path(root).resolve()
        self.include = frozenset(include)
        self._stdlib = Path(sysconfig.get_path("stdlib")).resolve()
        self._files: dict[str, bool] = {}
        self._libraries: dict[str, bool] = {}

    def covers(self, filename: str, module_name: str = "") -> bool:
        """Whether code of this file gets probes."""
        if self._names(module_name):
            return not Path(filename).resolve().is_relative_to(_OWN_FOLDER)
        answer = self._files.get(filename)
        if answer is None:
            answer = self._files[filename] = self._covers_file(Path(filename).resolve())
        return answer

    def is_library(self, dotted: str) -> bool:
        """Whether the module of this name is code without probes."""
        if self._names(dotted):
            return False
        # Only the top: find_spec() of a submodule would import its parents.
        top = dotted.partition(".")[0]
        answer = self._libraries.get(top)
        if answer is None:
            answer = self._libraries[top] = self._is_library_package(top)
        return answer

    def _names(self, dotted: str) -> bool:
        while dotted:
            if dotted in self.include:
                return True
            dotted = dotted.rpartition(".")[0]
        return False

    def _covers_file(self, path: Path) -> bool:
        if not path.is_relative_to(self.root):
            return False
        if path.is_relative_to(_OWN_FOLDER) or path.is_relative_to(self._stdlib):
            return False
        inside = path.relative_to(self.root)
        if not _LIBRARY_FOLDERS.isdisjoint(inside.parts):
            return False
        # Without the last, the root: a project may be a virtual environment itself.
        folders = [self.root / folder for folder in inside.parents][:-1]
        return not any((folder / "pyvenv.cfg").exists() for folder in folders)

    def _is_library_package(self, top: str) -> bool:
        if top in sys.stdlib_module_names:
            return True
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError):
            return True
        if spec is None:
            return True
        files = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
        return not any(self.covers(file) for file in files)


class Importer:
    """Rewrites code on its way into `exec`."""

    def __init__(self, scope: Scope, branches: bool = False, loops: bool = False) -> None:
        self.scope = scope
        self._branches = branches
        self._loops = loops
        self.modules: set[str] = set()
        self._own: dict[int, CodeType] = {}  # what was made here; the core keeps it alive anyway
        self._late: LateModules | None = None
        self._outside: set[str] = set()  # see rewriter/swaps.py
        self.assigned: set[str] = set()  # names of attributes
        self._swappers = LoadedSwappers()

    def instrument(
        self, code: CodeType, module_name: str, filename: str, stored: frozenset[str] = frozenset()
    ) -> CodeType:
        """The code with probes; `stored` are globals that other code of its namespace stores."""
        self.modules.add(module_name)
        return self._made_here(self._rewritten(code, _now(module_name, filename), stored))

    def _rewritten(
        self, code: CodeType, module: LateModule, stored: frozenset[str] = frozenset()
    ) -> CodeType:
        self._swappers.look_at(code)
        is_main = module.name == "__main__"
        info = ModuleInfo(
            module.name,
            module.file,
            is_main,
            self.scope.is_library,
            self._branches,
            self._loops,
            among_threads=module.among,
            stored=stored,
            outside=self._outside,
            assigned=self.assigned,
        )
        return rewrite(code, info)

    def _made_here(self, code: CodeType) -> CodeType:
        self._own[id(code)] = code
        return code

    def late_modules(self, codes: LateCodes) -> LateModules:
        """From now on modules are loaded in runs, and rewritten for the next ones."""
        self._late = LateModules(codes, self._rewritten)
        return self._late

    def transform(self, source: Any, names: Any) -> Any:
        """What `exec` is to run instead of `source`."""
        module_name = names.get("__name__") if isinstance(names, dict) else None
        if not isinstance(module_name, str):
            return source
        if module_name == "sqlite3.dbapi2":
            registry.core().watch_databases()  # before anybody can open one
        if not isinstance(source, CodeType):
            return self._transform_text(source, module_name)
        if id(source) in self._own:
            return source
        if not self._wants(source, module_name):
            if module_name in IMPORTED_SWAPPERS:
                return with_probes(source, module_name)
            return self._watch_library(overlay.patched_code(source), module_name)
        return self._of_module(source, module_name)

    def _of_module(self, source: CodeType, module_name: str) -> CodeType:
        """With probes; what was rewritten ahead needs no patched text either."""
        late, module = self._late, _now(module_name, source.co_filename)
        ready = late.take(source, module) if late is not None else None
        if ready is not None:
            self.modules.add(module_name)
            return self._made_here(ready)
        new_code = self._try(overlay.patched_code(source), module_name, source.co_filename)
        if late is not None:
            late.note(source, module)
        return new_code

    def _watch_library(self, code: CodeType, module_name: str) -> CodeType:
        """A library keeps its code, but what it catches of the target's exceptions is seen."""
        if module_name.partition(".")[0] in _UNWATCHED or code.co_filename.startswith("<"):
            return code
        try:
            return with_catches(code)
        except ValueError:
            return code

    def _transform_text(self, source: Any, module_name: str) -> Any:
        if module_name not in self.modules or not isinstance(source, str | bytes | bytearray):
            return source
        try:
            code = compile(source, "<string>", "exec", _caller_futures(), dont_inherit=True)
        except Exception:
            return source  # exec will raise the same, with its own traceback
        return self._try(code, module_name, "<string>")

    def _try(self, code: CodeType, module_name: str, filename: str) -> CodeType:
        """Code that cannot be rewritten runs as it is, and the dump says so."""
        try:
            return self.instrument(code, module_name, filename)
        except ValueError as error:
            registry.REGISTRY.refused.append([filename, str(error)])
            return code

    def _wants(self, code: CodeType, module_name: str) -> bool:
        if code.co_filename.startswith("<"):
            return module_name in self.modules
        return self.scope.covers(code.co_filename, module_name)


def _caller_futures() -> int:
    """`from __future__` flags of the code that called exec: it compiles text under them."""
    # Behind transform() and _transform_text(): wrap_exec has no frame of its own.
    return sys._getframe(3).f_code.co_flags & _FUTURES


def _now(module_name: str, filename: str) -> LateModule:
    return LateModule(module_name, filename, registry.core().thread_count() > 1)


_installed: list[Importer] = []


def install(root: str, include: list[str], branches: bool = False, loops: bool = False) -> None:
    """From now on, give probes to what is run from under the root, or named."""
    importer = use(root, include, branches, loops)
    builtins.exec = registry.core().wrap_exec(builtins.exec, importer.transform)


def use(root: str, include: list[str], branches: bool = False, loops: bool = False) -> Importer:
    """Code that is asked for gets probes; what is imported runs as it is."""
    importer = Importer(Scope(root, include), branches, loops)
    _installed[:] = [importer]
    core = registry.core()
    core.set_own_modules(importer.modules)
    core.set_assigned_names(importer.assigned)
    core.set_reading_hook(effects.only_reads)
    return importer


def covers(filename: str, module_name: str) -> bool:
    """Whether code of this file gets probes."""
    return _installed[-1].scope.covers(filename, module_name)


def late_modules(codes: LateCodes) -> LateModules:
    """See Importer."""
    return _installed[-1].late_modules(codes)


def instrument(
    code: CodeType, module_name: str, filename: str, stored: frozenset[str] = frozenset()
) -> CodeType:
    """Code with probes, for launchers; `stored`: globals that other code stores."""
    if not _installed:
        _installed.append(Importer(Scope(str(Path(filename).parent), [])))
    return _installed[-1].instrument(code, module_name, filename, stored)
