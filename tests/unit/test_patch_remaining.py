# SPDX-License-Identifier: Apache-2.0
"""A report names the methods that a patch leaves without its lock."""

import textwrap

from tests.unit.conflicts import conflict
from tests.unit.test_patch_kinds import at

from unsnarl.execution.budget import Budget
from unsnarl.model.report import PatchChecks
from unsnarl.patches.drafts import drafts
from unsnarl.patches.remaining import unprotected
from unsnarl.patches.search import PatchSearch
from unsnarl.patches.trying import Tried

CACHE = textwrap.dedent(
    """\
    class Cache:
        def __init__(self):
            self.data = {}

        def set(self, key, value):
            if key not in self.data:
                self.data[key] = value

        def get(self, key):
            value = self.data.pop(key)
            self.data[key] = value
            return value

        def __len__(self):
            return len(self.data)
    """
)


def found(text: str):
    return conflict(
        text,
        at(text, "not in self.data", 1, "read", "Cache.data", function="Cache.set"),
        at(text, "self.data[key] = value", 2, "write", "Cache.data", function="Cache.set"),
    )


def test_what_changes_the_same_without_the_lock_is_named() -> None:
    made = found(CACHE)
    assert unprotected(made, drafts(made)[0]) == "get"


def test_what_only_reads_or_is_locked_is_not() -> None:
    text = CACHE.replace("self.data.pop(key)\n        self.data[key] = value", "self.data[key]")
    made = found(text)
    assert unprotected(made, drafts(made)[0]) == ""


def test_long_lists_are_cut() -> None:
    more = "".join(f"\n    def m{n}(self):\n        self.data = {{}}\n" for n in range(4))
    made = found(CACHE + more)
    assert unprotected(made, drafts(made)[0]) == "get, m0, m1, …"


def test_it_is_said_of_a_patch_that_works() -> None:
    worked = Tried(PatchChecks(runs=200, serial=True))
    patch = PatchSearch(found(CACHE), lambda _: worked, Budget()).find()
    assert patch is not None
    assert patch.patch.says.endswith("; not under it: get")
