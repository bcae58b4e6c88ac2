# SPDX-License-Identifier: Apache-2.0
"""The rooms of the house: a module imports from lower layers and from its own package only."""

import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter

import pytest
from tests.unit.imports import PACKAGE, imported_by, modules

# Lowest first. Imports inside functions and for annotations count too.
LAYERS = (
    "model",
    "runfile",
    "traces",
    "probes",
    "watch",
    "execution",
    "campaigns",
    "recording",
    "analyses",
    "anomalies",
    "placement",
    "experiments",
    "replay",
    "patches",
    "reproduce",
    "reproducers",
    "stress",
    "reports",
    "workflows",
    "api",
    "agents",
    "http",
    "serve",
    "collect",
    "cli",
    "pytest_plugin",
)
EVERYBODYS = ("errors", "config", "_core", "")  # "" is unsnarl/__init__.py
# Rooms that may not import from every lower layer. A verb parses, calls a workflow and renders.
FRONT = ("model", "reports", "workflows")
NARROW = {
    "runfile": ("model",),
    "analyses": ("model",),
    "api": FRONT,
    "agents": FRONT,
    "http": (),
    "serve": (*FRONT, "http"),
    "collect": ("model", "http"),
    "cli": (*FRONT, "agents", "serve", "collect"),
    "pytest_plugin": FRONT,
}
# What the package offers is loaded when it is asked for; a package below has a function's name.
OFFERED = (("unsnarl", "api"), ("unsnarl.replay", "api"))
# What verbs may import from elsewhere, but for the standard library: for options, for progress.
CLI_LIBRARIES = ("click", "rich")


def room(module: str) -> str:
    """`unsnarl.model.site` is in the room model."""
    return module.removeprefix(PACKAGE).removeprefix(".").partition(".")[0]


def shown(module: str, name: str) -> str:
    return f"{module} -> {name}".replace(f"{PACKAGE}.", "")


def edges() -> Iterator[tuple[str, str]]:
    """Who imports whom within the package."""
    for module in modules():
        for name in sorted(imported_by(module, typing=True)):
            if name.partition(".")[0] == PACKAGE and room(name) not in EVERYBODYS:
                yield module, name


def is_allowed(module: str, name: str) -> bool:
    importer, imported = room(module), room(name)
    if importer == imported or importer in ("__main__", "demo"):
        return True
    if (module, imported) in OFFERED:
        return True
    lower = LAYERS[: LAYERS.index(importer)] if importer in LAYERS else ()
    return imported in NARROW.get(importer, lower)


def libraries_of_the_cli() -> Iterator[tuple[str, str]]:
    for module in modules():
        for name in imported_by(module, typing=True) if room(module) == "cli" else ():
            if name.partition(".")[0] not in {*sys.stdlib_module_names, PACKAGE, *CLI_LIBRARIES}:
                yield module, name


def test_imports_go_down_only() -> None:
    found = [edge for edge in edges() if not is_allowed(*edge)] + [*libraries_of_the_cli()]
    wrong = {shown(*edge) for edge in found}
    assert sorted(wrong) == []


def test_a_wrong_import_is_seen() -> None:
    assert not is_allowed("unsnarl.model.site", "unsnarl.runfile.reader")
    assert not is_allowed("unsnarl.analyses.answer", "unsnarl.runfile.reader")
    assert not is_allowed("unsnarl.cli.hunt", "unsnarl.campaigns.store")
    assert is_allowed("unsnarl.workflows.hunt", "unsnarl.campaigns.store")


def test_every_package_has_a_layer() -> None:
    rooms = {room(module) for module in modules()} - {*EVERYBODYS, "__main__", "demo"}
    assert rooms == set(LAYERS)


def packages(depth: int) -> dict[str, set[str]]:
    """Packages that hold modules, cut off at a depth, and whom they import."""
    found: dict[str, set[str]] = {}
    for module, name in edges():
        importer, imported = (package(one, depth) for one in (module, name))
        if importer != imported and not importer.startswith(f"{imported}."):
            found.setdefault(importer, set()).add(imported)
    return found


def package(module: str, depth: int) -> str:
    is_package = modules().get(module, modules()[PACKAGE]).name == "__init__.py"
    parts = module.split(".") if is_package else module.split(".")[:-1]
    return ".".join(parts[:depth])


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_packages_have_no_cycles(depth: int) -> None:
    TopologicalSorter(packages(depth)).prepare()  # raises CycleError, which shows the cycle
