# SPDX-License-Identifier: Apache-2.0
"""`python -m unittest` as a target: the tests are loaded once in the server, run in each child."""

from __future__ import annotations

import sys
import unittest
import unittest.result
from collections.abc import Callable, Iterator
from typing import Any

from unsnarl import _core
from unsnarl.probes.errors import TargetError
from unsnarl.probes.python import failures


class UnittestTarget:
    """See launcher.PreparedTarget."""

    private_scratch = False

    def __init__(self, args: list[str]) -> None:
        self._args = args

    def imports(self) -> Iterator[Callable[[], object]]:
        """Loading the tests imports all there is."""
        return iter(())

    def run(self, fork_point: Callable[[], None]) -> int:
        """See launcher.PreparedTarget; without tests to run it is a TargetError."""

        forked = False

        class Program(unittest.TestProgram):
            # Between parseArgs(), which loads the tests, and the run (docs/adr/0004).
            def runTests(self) -> None:  # noqa: N802  unittest's name
                nonlocal forked
                _check(self.test)  # type: ignore[attr-defined]
                forked = True
                fork_point()
                super().runTests()

        try:
            # As unittest/__main__.py does, with the name that its messages have.
            Program(module=None, argv=[sys.argv[0], *self._args])
        except SystemExit as leave:
            if forked:
                raise
            text = f"unittest ended with status {leave.code} before it ran a test"
            raise TargetError("collection-failed", text) from None
        return 0


def _check(suite: unittest.TestSuite) -> None:
    tests = list(_tests(suite))
    if not tests:
        raise TargetError("no-tests", "unittest found no tests to run")
    broken = [test for test in tests if isinstance(test, unittest.loader._FailedTest)]  # type: ignore[attr-defined]
    if broken:
        problem = broken[0]._exception
        raise TargetError("collection-failed", f"{broken[0].id()}: {str(problem).strip()}")


def _tests(suite: Any) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _tests(test)
        else:
            yield test


def note_failures() -> None:
    """In a run: note what unittest counts as failed, whoever started it."""
    result: Any = unittest.result.TestResult
    for method in ("addError", "addFailure"):
        setattr(result, method, _noting(getattr(result, method)))
    original = result.addSubTest

    def add_subtest(self: Any, test: Any, subtest: Any, error: Any) -> None:
        if error is not None:
            _note(subtest, error)
        original(self, test, subtest, error)

    result.addSubTest = add_subtest


def _noting(original: Callable[..., None]) -> Callable[..., None]:
    def add(self: Any, test: Any, error: Any) -> None:
        _note(test, error)
        original(self, test, error)

    return add


def _note(test: Any, error: Any) -> None:
    if error[1] is not None:
        failures.note_exception(error[1], _core.current_path())
