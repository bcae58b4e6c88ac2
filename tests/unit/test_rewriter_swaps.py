# SPDX-License-Identifier: Apache-2.0
"""What code assigns in other modules, and the library code that does so for it."""

import contextlib
import sys
import textwrap
import unittest.mock  # noqa: F401  a subject

import pytest

from unsnarl.probes.python import swappers
from unsnarl.probes.python.importer import Importer, Scope
from unsnarl.probes.python.rewriter import ModuleInfo, plan
from unsnarl.probes.python.rewriter.kinds import KIND_NAMES
from unsnarl.probes.python.rewriter.module import Body, codes_by_name, imported_names
from unsnarl.probes.python.rewriter.swaps import assigned_outside

pytestmark = pytest.mark.core


def assigned(source):
    body = Body(compile(textwrap.dedent(source), "made.py", "exec"))
    return assigned_outside(body, imported_names(body))


@pytest.mark.parametrize(
    "source",
    [
        "import shop\nshop.RATE = 2",
        "import shop as s\ndef f():\n    s.RATE = 2",
        "import app.shop\ndef f(x):\n    app.shop.RATE = x",
        "from app import shop\ndef f():\n    del shop.RATE",
        "from . import shop\ndef f():\n    shop.RATE += 1",
        "def f(x):\n    import shop\n    shop.RATE = x",
        "def f(x):\n    from app import shop\n    shop.RATE = x",
        "setattr(shop, 'RATE', 2)",
        "@mock.patch('app.shop.RATE', 2)\ndef f(): pass",
        "def f():\n    with patch.object(shop, 'RATE', 2): pass",
        "def f():\n    mock.patch.multiple(shop, RATE=2)",
        "def f(monkeypatch):\n    monkeypatch.setattr('app.shop.RATE', 2)",
    ],
)
def test_a_name_of_another_module(source):
    assert "RATE" in assigned(source)


@pytest.mark.parametrize(
    "source",
    [
        "import shop\ndef f(self):\n    self.RATE = 2",
        "import shop\ndef f(x):\n    x.RATE = shop",
        "RATE = 2",
        "import shop\nprint(shop.RATE, 'RATE')",
        "class A:\n    RATE = 2",
    ],
)
def test_other_assignments_are_none(source):
    assert "RATE" not in assigned(source)


def test_a_redirected_stream():
    assert assigned("with contextlib.redirect_stderr(x): pass") == {"stderr"}


def probes(source, outside):
    code = compile(textwrap.dedent(source), "made.py", "exec")
    found = plan(code, ModuleInfo("made", "made.py", outside=outside))
    return {f"{KIND_NAMES[one.kind]} {one.name}" for every in found.values() for one in every}


def test_reads_of_what_others_assign_have_probes():
    source = "RATE = 1\nOTHER = 2\ndef f():\n    return RATE + OTHER"
    assert probes(source, {"RATE"}) == {"global_write RATE", "global_read RATE"}
    assert not probes(source, set())


def test_a_builtin_of_that_name_is_still_a_builtin():
    source = "def f(x):\n    return len(x)"
    assert probes(source, {"len"}) == probes(source, set()) == {"shape_read len"}


def test_a_function_of_a_module_that_others_swap_is_read():
    source = "import time\ndef f():\n    return time.time()"
    assert "state_read time:time" in probes(source, {"time"})
    assert "state_read time:time" not in probes(source, set())


def test_print_reads_a_stream_that_is_redirected():
    source = "def f():\n    print(1)"
    assert "state_read sys:stdout" in probes(source, {"stdout"})
    assert not probes(source, set())


def test_the_one_who_assigns_is_loaded_first():
    importer = Importer(Scope("/", []))
    importer.instrument(compile("import shop\nshop.RATE = 2", "a.py", "exec"), "a", "a.py")
    assert "RATE" in importer._outside


def test_only_the_methods_that_swap_get_probes():
    loader = sys.modules["unittest.mock"].__spec__.loader
    code = loader.get_code("unittest.mock")
    made, old = (codes_by_name(one) for one in (swappers.with_probes(code, "unittest.mock"), code))
    changed = {
        name for name in made if [c.co_code for c in made[name]] != [c.co_code for c in old[name]]
    }
    assert "_patch.__enter__" in changed
    assert all(name.startswith(("_patch.", "_patch_dict.")) for name in changed)


def test_loaded_methods_get_probes_when_they_are_mentioned():
    method = contextlib._RedirectStream.__enter__
    before = method.__code__
    found = swappers.LoadedSwappers()
    try:
        found.look_at(compile("import contextlib", "a.py", "exec"))
        assert method.__code__ is before
        found.look_at(compile("def f(): redirect_stdout", "a.py", "exec"))
        assert method.__code__ is not before
        assert method.__code__.co_firstlineno == before.co_firstlineno
    finally:
        method.__code__ = before
