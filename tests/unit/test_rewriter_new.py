# SPDX-License-Identifier: Apache-2.0
"""What is announced as new, what is behind super(), and methods that are assigned over."""

import sys
import textwrap

import pytest

from unsnarl.probes.python.rewriter import ModuleInfo, plan
from unsnarl.probes.python.rewriter.kinds import ALONE, KIND_NAMES

pytestmark = pytest.mark.core


def probes(source, function, assigned=None):
    info = ModuleInfo("m", "m.py", assigned=assigned)
    planned = plan(compile(textwrap.dedent(source), "m.py", "exec"), info)
    (found,) = (some for code, some in planned.items() if code.co_qualname == function)
    return [(KIND_NAMES[one.kind], one.name, one.flags) for one in found]


@pytest.mark.parametrize(
    ("made", "flags"),
    [("sorted(a)", 0), ("a[1:]", ALONE), ("a.split()", ALONE), ("a.copy()", ALONE)],
)
def test_a_list_made_by_c_code_is_new(made, flags):
    found = probes(f"def f(a):\n    return {made}\n", "f")
    assert ("create", "new", flags) in [(kind, name, f & ALONE) for kind, name, f in found]


def test_an_element_is_not():
    assert "create" not in [kind for kind, *_ in probes("def f(a):\n    return a[1]\n", "f")]


SHELF = """
    class Shelf(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)

        def put(self, value):
            self.put_twice(value)

        def put_twice(self, value):
            pass
"""


def test_behind_super_is_a_method_of_a_base():
    kinds = [kind for kind, name, _ in probes(SHELF, "Shelf.__setitem__") if name == "__setitem__"]
    assert kinds == (["stash", "method_call"] if sys.version_info < (3, 12) else ["super"])


def test_a_call_of_a_method_is_probed_where_something_assigns_over_it():
    assert probes(SHELF, "Shelf.put") == []
    assigned = set()
    source = textwrap.dedent(SHELF) + "\ndef swap(shelf, f):\n    shelf.put_twice = f\n"
    assert ("method", "put_twice") in [one[:2] for one in probes(source, "Shelf.put", assigned)]
    assert assigned == {"put_twice"}
