# SPDX-License-Identifier: Apache-2.0
"""Code that lives in somebody else's program imports the standard library and `unsnarl._core`.

Anything more could be missing in the target's interpreter, or be another version of what the target
imports itself.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.server_client import Client
from tests.unit.imports import PACKAGE, imported_by, modules

from unsnarl.probes.native import compiler

DOOR = "unsnarl.probes.server.__main__"
CORE = "unsnarl._core"
API = "unsnarl.api"
# The session that is run is the target's own pytest, with its plugins.
ALLOWED = {
    "unsnarl.probes.python.pytest_session": {"pytest", "hypothesis"},
    "unsnarl.probes.python.pytest_fixtures": {"pytest"},
}
OURS = {"msgspec", "numpy", "click", "rich"}
SHOW_MODULES = "import sys; print(*sorted(sys.modules))"


def closure(module: str) -> set[str]:
    """All our modules that may come to be loaded in a target: also those behind functions."""
    found: set[str] = set()
    left = {module}
    while left:
        one = left.pop()
        found.add(one)
        names = {name for name in imported_by(one, typing=False) if name in modules()}
        names -= {API}  # only where somebody asks the package for what it offers
        parents = {one.rsplit(".", depth)[0] for depth in range(1, one.count(".") + 1)}
        left |= (names | parents) - found
    return found


def foreign(module: str) -> set[str]:
    """What a module imports that no target can be expected to have."""
    names = {name for name in imported_by(module, typing=False) if name not in modules()}
    tops = {name.partition(".")[0] for name in names - {CORE}}
    return tops - sys.stdlib_module_names - ALLOWED.get(module, set())


def test_only_the_standard_library_and_the_core_are_imported() -> None:
    found = {module: names for module in closure(DOOR) if (names := foreign(module))}
    assert found == {}


def test_a_watched_program_imports_no_more() -> None:
    found = closure("unsnarl.watch")
    assert {"unsnarl.watch.watcher", "unsnarl.watch.twins"} <= found
    assert {module: names for module in found if (names := foreign(module))} == {}


def test_the_closure_holds_the_parts_of_both_probes() -> None:
    found = {name.removeprefix(f"{PACKAGE}.probes.") for name in closure(DOOR)}
    assert found >= {
        "python.child",
        "python.importer",
        "python.rewriter.accesses",
        "python.sync",
        "python.capture",
        "python.following.hooks",
        "python.debugger",
        "python.pytest_session",
        "native.program",
        "binaries.libraries",
        "server.forks",
    }


def modules_in_a_run(folder: Path, kind: str, *args: str) -> set[str]:
    client = Client(folder, kind, *args)
    try:
        assert "ready" in client.first, client.first
        assert client.run()["status"] == 0, client.output()
    finally:
        client.close()
    return set(client.output().split())


def test_a_script_has_none_of_our_dependencies(tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text(SHOW_MODULES)
    loaded = modules_in_a_run(tmp_path, "script", "show.py")
    assert CORE in loaded
    assert not loaded & OURS


def test_a_test_has_none_of_our_dependencies(tmp_path: Path) -> None:
    (tmp_path / "test_show.py").write_text(f"def test_show():\n    {SHOW_MODULES}\n")
    args = ("-q", "-s", "-p", "no:hypothesispytest", "test_show.py")
    loaded = modules_in_a_run(tmp_path, "pytest", *args)
    assert CORE in loaded
    assert not loaded & OURS


@pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")
def test_nor_has_one_with_an_instrumented_library(tmp_path: Path) -> None:
    (tmp_path / "library.c").write_text("int total;\nvoid add(void) { total++; }\n")
    (tmp_path / "show.py").write_text(SHOW_MODULES)
    command = compiler.command("cc", ["-g", "-shared", "-fPIC", "library.c", "-o", "library.so"])
    subprocess.run(command, cwd=tmp_path, check=True)
    loaded = modules_in_a_run(tmp_path, "script", "show.py")
    assert "unsnarl.probes.binaries.libraries" in loaded
    assert not loaded & OURS
