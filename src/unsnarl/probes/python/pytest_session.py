# SPDX-License-Identifier: Apache-2.0
"""A pytest session as a target: collected once in the server, run in each child."""

from __future__ import annotations

import contextlib
import difflib  # noqa: F401  pytest loads it at the first assertion that fails
import importlib
import os
import re
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from unsnarl import _core
from unsnarl.probes.errors import TargetError
from unsnarl.probes.python import child, failures, pytest_fixtures


class PytestTarget:
    """See launcher.PreparedTarget."""

    private_scratch = True  # pytest's capture files

    def __init__(self, args: list[str]) -> None:
        self._args = args

    def imports(self) -> Iterator[Callable[[], object]]:
        """Collection imports all there is."""
        return iter(())

    def run(self, fork_point: Callable[[], None]) -> int:
        """See launcher.PreparedTarget; a session that never comes to its tests is a TargetError."""
        plugin = ForkPoint(fork_point)
        # runs in flight at the same time would write one cache
        status = pytest.main(["-p", "no:cacheprovider", *self._args], plugins=[plugin])
        if not plugin.forked:
            raise plugin.problem or _refused(int(status))
        return int(status)


class ForkPoint:
    """The plugin that parts collection from the run."""

    def __init__(self, fork_point: Callable[[], None]) -> None:
        self._fork_point = fork_point
        self.forked = False
        self.problem: TargetError | None = None

    # First, before other plugins' loops begin anything: runs are forked after collection and before
    # the first test (docs/adr/0004).
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """In the server this never returns, in a child it lets pytest's own loop go on."""
        self.problem = _problem(session)
        if self.problem is None:
            self.forked = True
            _prepare(session)
            self._fork_point()
            _private_base(session.config)
            if child.node():
                _select(session, child.node())
            if child.is_brief():
                _hush(session)
        # without xdist's workers pytest's own loop goes on, or prints what is wrong
        return True if session.config.pluginmanager.hasplugin("dsession") else None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, Any, None]:
        """Note what pytest counts as failed: not a skip, not an expected failure."""
        outcome = yield
        if outcome.excinfo is not None:
            return
        report = outcome.get_result()
        if report.failed and call.excinfo is not None:
            text = f"{item.nodeid} ({report.when})\n{report.longreprtext}"
            failures.note_exception(call.excinfo.value, _core.current_path(), text)


# What the terminal's plugin does there, it does for a reader alone.
_PRINTING = ("runtest_logstart", "runtest_logreport", "sessionfinish")


def _hush(session: pytest.Session) -> None:
    """Print nothing of the tests, nor of why they fail: that takes several times a short test."""
    session.config.option.tbstyle = "no"
    for item in session.items:
        item.repr_failure = _nothing  # type: ignore[method-assign]
    manager = session.config.pluginmanager
    terminal = manager.getplugin("terminalreporter")
    for name in _PRINTING:
        with contextlib.suppress(Exception):  # where it has none, or this pytest has another way
            getattr(manager.hook, f"pytest_{name}")._remove_plugin(terminal)


def _nothing(*_: object, **__: object) -> str:
    return ""


def _select(session: pytest.Session, node: str) -> None:
    """Leave only the tests of this node, named as on the command line."""
    file, _, name = node.partition("::")
    path = session.config.invocation_params.dir / file
    wanted = [item for item in session.items if item.path == path and _is_below(item, name)]
    if not wanted:
        child.refuse(f"pytest collects no test {node}")
    session.items[:] = wanted


def _is_below(item: pytest.Item, name: str) -> bool:
    """Whether it is the test of this name, one of its parameters, or one of its class."""
    own = item.nodeid.partition("::")[2]
    return own == name or own.startswith((f"{name}::", f"{name}["))


def _private_base(config: pytest.Config) -> None:
    """The root of `tmp_path` in this run's own folder.

    With --basetemp all runs would empty the same folder. Without it pytest looks for the latest of
    its numbered folders, locks the next one and removes old ones: a fifth of the time of a short
    run, and there is only one.
    """
    factory = getattr(config, "_tmp_path_factory", None)
    if factory is None or not hasattr(factory, "_given_basetemp"):
        return
    if factory._given_basetemp is None and os.environ.get("PYTEST_DEBUG_TEMPROOT"):
        return  # somebody wants it there
    name = "pytest-0" if factory._given_basetemp is None else factory._given_basetemp.name
    factory._given_basetemp = Path(tempfile.gettempdir()).resolve() / name


def _prepare(session: pytest.Session) -> None:
    """Do once what every run would begin or end with, and what depends on nothing that it does."""
    names = ["getpass", "shutil"]
    if session.config.pluginmanager.hasplugin("hypothesispytest"):
        names.append("hypothesis.internal.observability")  # half a second a run
    with contextlib.suppress(Exception):
        for name in names:
            importlib.import_module(name)
    re.compile(r"[\W]")  # for the name of `tmp_path`; the module keeps it
    with contextlib.suppress(Exception):
        pytest_fixtures.make_ahead(session)
    for item in session.items:
        with contextlib.suppress(Exception):
            _ = item.location  # it is kept, and takes a look into the source file


def _problem(session: pytest.Session) -> TargetError | None:
    """Why the session has nothing to fork for, if so."""
    config = session.config
    if config.pluginmanager.hasplugin("dsession"):
        return TargetError("collection-failed", "pytest-xdist runs the tests elsewhere: add -n0")
    if session.testsfailed and not config.option.continue_on_collection_errors:
        count = session.testsfailed
        return TargetError("collection-failed", f"{count} error(s) while collecting the tests")
    if not session.items or config.option.collectonly:
        return TargetError("no-tests", "pytest collected no tests to run")
    return None


def _refused(status: int) -> TargetError:
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        return TargetError("no-tests", "pytest collected no tests to run")
    return TargetError(
        "collection-failed", f"pytest ended with status {status} before it ran a test"
    )
