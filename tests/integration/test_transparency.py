# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests, with their code rewritten, must fail exactly where they fail anyway."""

import importlib.util
import json
import subprocess
from pathlib import Path

import pytest
from tests.integration.interpreters import PYTHON

pytestmark = [pytest.mark.core, pytest.mark.slow]

MODULES = (
    "test_dict",
    "test_list",
    "test_deque",
    "test_set",
    "test_generators",
    "test_yield_from",
    "test_coroutines",
    "test_asyncgen",
    "test_with",
    "test_contextlib",
    "test_scope",
    "test_augassign",
    "test_patma",
    "test_descr",
    "test_property",
    "test_exceptions",
    "test_except_star",
    "test_listcomps",
    "test_unpack_ex",
    "test_extcall",
    "test_grammar",
    "test_dataclasses",
    "test_bdb",
)

DRIVER = """
import io, json, sys, unittest, importlib
names = sys.argv[2:]
if sys.argv[1] == "rewritten":
    from unsnarl.probes.python import importer, registry
    importer.install("/nowhere", names)
report = {}
for name in names:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        report[name] = ["cannot import", str(error)]
        continue
    tests = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(tests)
    bad = sorted(test.id() for test, _ in result.failures + result.errors)
    report[name] = [result.testsRun, bad]
if sys.argv[1] == "rewritten":
    report["probes"] = registry.REGISTRY.probes
with open("report.json", "w") as stream:
    json.dump(report, stream)
"""


def available() -> list[str]:
    names = [f"test.{name}" for name in MODULES]
    return [name for name in names if importlib.util.find_spec(name) is not None]


def start(mode: str, names: list[str], folder: Path) -> subprocess.Popen[bytes]:
    folder.mkdir()
    return subprocess.Popen(
        [PYTHON, "-W", "ignore", "-c", DRIVER, mode, *names],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_cpythons_own_tests_see_no_difference(tmp_path: Path) -> None:
    names = available()
    if not names:
        pytest.fail("this Python comes without its tests (the package `test`)")
    modes = ("plain", "rewritten")
    processes = [start(mode, names, tmp_path / mode) for mode in modes]
    assert [process.wait() for process in processes] == [0, 0]
    plain, rewritten = (json.loads((tmp_path / mode / "report.json").read_text()) for mode in modes)
    assert rewritten.pop("probes") > 10_000
    assert sum(ran for ran, _ in plain.values() if isinstance(ran, int)) > 500
    assert rewritten == plain
