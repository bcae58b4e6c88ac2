# SPDX-License-Identifier: Apache-2.0
"""What all tests have in common: marks by file, and what is made once and shared.

What depends on the interpreter is marked `core`: it runs on every supported Python. The C core
knows nothing of Python, and analyses read run files: once is enough for these.
"""

from __future__ import annotations

import compileall
import functools
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.sharing import Shared

from unsnarl.config import RUNS_WITHOUT_A_TIME

SOURCES = Path(__file__).parents[1] / "src"
CORE = {
    "test_importer.py",
    "test_launcher.py",
    "test_replay.py",
    "test_rewriter.py",
    "test_rewriter_opcodes.py",
    "test_rewriter_property.py",
    "test_server.py",
    "test_splice.py",
    "test_switching.py",
    "test_sync.py",
    "test_threads.py",
    "test_transparency.py",
}


def is_worker() -> bool:
    """Whether this process is one of several that run the tests (`pytest -n`)."""
    return "PYTEST_XDIST_WORKER" in os.environ


def pytest_configure() -> None:
    # How long an example takes says how busy the machine is. Which examples there are must not be a
    # matter of luck: who looks for new ones sets UNSNARL_FUZZ.
    is_fuzz = "UNSNARL_FUZZ" in os.environ
    settings.register_profile("suite", deadline=None, derandomize=not is_fuzz)
    settings.load_profile("suite")
    # So does how long an answer takes: no test may depend on it. Whoever gives a time wants as many
    # runs as fit into it, so that their usual number must be given, too.
    for name, value in (("ANSWER", 600), ("TIME", 600), ("MAX_RUNS", RUNS_WITHOUT_A_TIME)):
        os.environ.setdefault(f"UNSNARL_{name}", str(value))
    # Started in the background, as by `make test &`, this process and all that it starts would
    # not hear Ctrl-C, and tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Hundreds of tests start the command: without bytecode each of them compiles all of it.
    if sys.dont_write_bytecode and not is_worker():
        compileall.compile_dir(SOURCES, quiet=1)
    sys.dont_write_bytecode = False  # nor need each worker compile all tests


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """What is made once for all tests, also where several workers run them (`pytest -n`)."""
    base = tmp_path_factory.getbasetemp()
    return Shared((base.parent if is_worker() else base) / "shared")


@pytest.fixture(scope="session", autouse=True)
def plain_pytest() -> None:
    """Targets that are calls of pytest do without the suite's plugins, which take a second to load.

    Not before: the workers of `pytest -n` need them.
    """
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`pytest -m core` need not load the files that have no such test."""
    if config.option.markexpr != "core" or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if collection_path.name in CORE or "pytest.mark.core" in text else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = Path(item.path)
        if path.name in CORE:
            item.add_marker(pytest.mark.core)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """The workers of `pytest -n` are given test by test, but tests that share a fixture at once."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return file if has_module_fixture(config.rootpath / file) else nodeid

    return Scheduler(config, log)


@functools.cache
def has_module_fixture(file: Path) -> bool:
    """Whether tests of a file share what one of them makes: else each worker would make it."""
    return 'scope="module"' in file.read_text(encoding="utf-8")
