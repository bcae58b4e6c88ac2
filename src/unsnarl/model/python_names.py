# SPDX-License-Identifier: Apache-2.0
"""Names in Python code that mean the same in every version of Python.

Used inside targets as well: standard library only.
"""

from __future__ import annotations

import re

# Since 3.12 these are part of the function around them (PEP 709).
_INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")
# Since 3.12 slices have instructions of their own.
_SLICE, _ITEM = "[:]", "[]"
# What the compiler makes of an attribute with two leading underscores.
_MANGLED = re.compile(r"\._[A-Za-z]\w*?__(\w+)(?<!__)\b")


def plain_function(qualified: str) -> str:
    """The function to which the code of this qualified name belongs."""
    while True:
        outer, _, last = qualified.rpartition(".<locals>.")
        if last in _INLINED and outer:
            qualified = outer
        elif qualified in _INLINED:
            return "<module>"
        else:
            head, _, last = qualified.rpartition(".")
            if last not in _INLINED:
                return qualified
            qualified = head  # in the body of a class


def shown_function(qualified: str) -> str:
    """The same as a reader would write it: `Worker.run.stop` for `Worker.run.<locals>.stop`."""
    return plain_function(qualified).replace(".<locals>", "")


def unmangled(name: str) -> str:
    """An attribute as the program writes it: `Pool.__lock` for `Pool._Pool__lock`."""
    return _MANGLED.sub(r".__\1", name)


def plain_name(name: str) -> str:
    """The name under which all versions know what is touched."""
    return _ITEM if name == _SLICE else name
