# SPDX-License-Identifier: Apache-2.0
"""Modules that runs load late are rewritten once, by the server, and are the same in every run."""

from __future__ import annotations

from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

import pytest

from unsnarl.probes.python import importer as importers
from unsnarl.probes.python import registry
from unsnarl.probes.python.importer import Importer, Scope
from unsnarl.probes.python.late_codes import LateCodes
from unsnarl.probes.python.registry import Registry

pytestmark = pytest.mark.core
TEXT = "class C:\n    def f(self):\n        return self.x\n\n\ndef g(c):\n    return c.f()\n"


class Process:
    """A server or a run: its own list of codes, its own look at the shared file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rewritten: list[CodeType] = []
        self.registry = Registry()
        self._file = folder / "lazy.py"
        monkeypatch.setattr(registry, "REGISTRY", self.registry)
        rewrite = importers.rewrite

        def counted(code: CodeType, info: object) -> CodeType:
            self.rewritten.append(code)
            return rewrite(code, info)

        monkeypatch.setattr(importers, "rewrite", counted)
        codes = LateCodes(str(folder / "late"), 100, 5000)
        codes.begin("same")
        self.registry.share(codes)
        self._importer = Importer(Scope(str(folder), []))
        self.late = self._importer.late_modules(codes)

    def load(self) -> CodeType:
        """As an import statement of the target comes to it."""
        code = SourceFileLoader("lazy", str(self._file)).get_code("lazy")
        return self._importer.transform(code, {"__name__": "lazy"})

    @property
    def bases(self) -> list[int]:
        return [block.base for block in self.registry.blocks]


@pytest.fixture
def process(tmp_path, monkeypatch):
    (tmp_path / "lazy.py").write_text(TEXT)

    return lambda: Process(tmp_path, monkeypatch)


@pytest.fixture
def server(process):
    """One whose first run has loaded the module."""
    first = process()
    first.load()
    assert len(first.rewritten) == 1
    second = process()
    second.late.prepare()
    second.first_bases = first.bases
    return second


def test_a_run_finds_the_module_rewritten_and_with_the_same_ids(server):
    assert len(server.rewritten) == 1
    server.load()
    assert len(server.rewritten) == 1
    assert server.bases == server.first_bases


def test_what_was_rewritten_ahead_is_not_loaded_yet(server):
    assert server.bases == []
    assert server.registry.files_since(0) == set()


def test_it_is_rewritten_ahead_only_once(server):
    server.late.prepare()
    assert len(server.rewritten) == 1


def test_a_second_copy_in_one_run_is_code_of_its_own(process, server):
    server.load()
    server.load()
    assert len(server.rewritten) == 2
    twice = process()
    twice.load()
    twice.load()
    assert server.bases == twice.bases


def test_a_module_that_has_changed_is_not_taken(server):
    Path(server._file).write_text(TEXT.replace("return c.f()", "return c.f() + 1"))
    server.load()
    assert len(server.rewritten) == 2
    assert server.bases != server.first_bases


def test_a_module_that_is_gone_costs_nothing_but_itself(process, tmp_path):
    process().load()
    (tmp_path / "lazy.py").unlink()
    server = process()
    server.late.prepare()
    assert server.rewritten == []
