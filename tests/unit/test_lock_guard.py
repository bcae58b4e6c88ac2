# SPDX-License-Identifier: Apache-2.0
"""A free-threaded build whose lock was switched on again is refused, with the culprit's name."""

import sys
import sysconfig

import pytest

from unsnarl.errors import ERRORS
from unsnarl.execution.judge import _refused
from unsnarl.probes import statuses
from unsnarl.probes.errors import TargetError
from unsnarl.probes.python import parallel


@pytest.fixture
def lock(monkeypatch):
    """Whether it is on."""
    state = {"on": False}
    monkeypatch.setattr(sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED")
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: state["on"], raising=False)
    monkeypatch.setattr(parallel, "_guard", parallel._Guard())
    return state


def test_nothing_is_said_while_it_is_off(lock):
    parallel.check()


def test_the_module_is_named(lock, monkeypatch):
    class Loader:
        def create_module(self, spec):
            lock["on"] = True
            return sys

    class Spec:
        name = "old"

    monkeypatch.setattr(parallel.importlib.machinery, "ExtensionFileLoader", Loader)
    parallel.install()
    Loader().create_module(Spec())
    with pytest.raises(TargetError, match="switched on by module old") as caught:
        parallel.check()
    assert caught.value.slug == "gil-enabled" and "gil-enabled" in ERRORS


def test_the_environment_may_have_done_it(lock):
    lock["on"] = True
    with pytest.raises(TargetError, match="PYTHON_GIL"):
        parallel.check()


def test_a_run_that_imports_it_late_ends_the_hunt(tmp_path):
    output = tmp_path / "output"
    output.write_text(f"its own\nunsnarl: {statuses.GIL_ENABLED}module old\n")
    error = _refused(output)
    assert error.slug == "gil-enabled" and "module old" in error.message
