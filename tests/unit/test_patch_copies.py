# SPDX-License-Identifier: Apache-2.0
"""Copies of what is iterated over, taken before an iterator is made of it."""

import textwrap

from tests.unit.test_patch_kinds import CHANGED, at, of_kind

STORE = textwrap.dedent(
    """\
    class Store:
        def rows(self):
            for row in six.itervalues(self.by_key):
                yield row

        def add(self, key):
            self.by_key[key] = 1
    """
)


def test_what_an_iterator_is_made_of_is_copied_before_it_is_made() -> None:
    texts = of_kind(
        "copy",
        STORE,
        at(STORE, "itervalues", 1, "read", "Store.by_key", function="Store.rows"),
        at(STORE, "self.by_key[", 2, "write", "Store.by_key", function="Store.add"),
        message=CHANGED,
    )
    assert "for row in six.itervalues(self.by_key.copy()):\n" in texts[0]
    assert "for row in list(six.itervalues(self.by_key)):\n" in texts[1]
