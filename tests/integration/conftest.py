# SPDX-License-Identifier: Apache-2.0
"""The compilers that are found, and a folder with something to compile."""

import os

import pytest
from tests.integration.compiling import ADD, BANK, COUNTER, FAMILIES, LANGUAGES, SCRIPTS


@pytest.fixture(params=FAMILIES)
def family(request, monkeypatch):
    for name, value in FAMILIES[request.param].items():
        monkeypatch.setenv(name, value)
    return request.param


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "start.h").write_text("#define START 10\n")
    for suffix in LANGUAGES.values():
        (tmp_path / f"counter.{suffix}").write_text(COUNTER)
    (tmp_path / "bank.c").write_text(BANK)
    (tmp_path / "add.c").write_text(ADD)
    return tmp_path
