# SPDX-License-Identifier: Apache-2.0
"""What is known about a value on the stack, without running the code.

A tag is (kind, payload). Tags only ever save probes or choose between them; a tag that knows
nothing is always right.
"""

from typing import Any

Tag = tuple[int, Any]

_UNKNOWN = 0
CONST = 1  # payload: index into co_consts
_SCALAR = 2  # number, string, tuple: nothing in it can change
_FRESH = 3  # a container nobody else knows
GLOBAL = 4  # payload: name
LIBRARY = 5  # payload: dotted name of something in an uninstrumented module
LOOKED_UP = 6  # a method; payload: Lookup
_QUIET = 7  # iterator (or source of one) that no other thread can disturb
_ITERATOR = 8  # iterator, or what only serves to make one
LOCAL = 9  # payload: slot
HEAP = 10  # read from an object or cell; payload: name or None
FUNCTION = 11  # payload: index of its code in co_consts, or None
_NULL = 12
_BUILD_CLASS = 13
RESULT = 14  # of a call; payload: index of the instruction
_DEFINITION = 15  # class, decorated function, module or imported name

UNKNOWN: Tag = (_UNKNOWN, None)
SCALAR: Tag = (_SCALAR, None)
FRESH: Tag = (_FRESH, None)
QUIET: Tag = (_QUIET, None)
ITERATOR: Tag = (_ITERATOR, None)
NULL: Tag = (_NULL, None)
BUILD_CLASS: Tag = (_BUILD_CLASS, None)
DEFINITION: Tag = (_DEFINITION, None)
DECORATED: Tag = (_DEFINITION, "decorated")
# The iterator that a comprehension is called with; its frame has it twice.
ARGUMENT_ITERATOR: Tag = (_ITERATOR, ".0")
ARGUMENT_SOURCE: Tag = (LOCAL, 0)
EXIT: Tag = (_UNKNOWN, "exit")  # of a with statement
OF_SUPER: Tag = (_UNKNOWN, "super")  # what super() gives, up to Python 3.11

# Kinds of values that cannot be a container which another thread could reach.
_PRIVATE = frozenset(
    {CONST, _SCALAR, _FRESH, LIBRARY, LOOKED_UP, _QUIET, FUNCTION, _NULL, _BUILD_CLASS, _DEFINITION}
)
PRIVATE = [kind in _PRIVATE for kind in range(16)]
# Kinds of values that were read from somewhere with a name.
NAMED = [kind in {GLOBAL, LOCAL, HEAP} for kind in range(16)]
IMMUTABLE = [kind in {CONST, _SCALAR} for kind in range(16)]
# Iterating over them needs no look at a container.
SETTLED = [kind in {CONST, _SCALAR, _FRESH, _QUIET} for kind in range(16)]
DEFINED = [kind in {FUNCTION, _DEFINITION, LIBRARY} for kind in range(16)]


class Lookup:
    """A method look-up whose call has not been seen yet."""

    __slots__ = (
        "epoch",
        "index",
        "name",
        "of_class",
        "settled",
        "suspensions",
        "unit",
        "watched",
    )

    def __init__(self, index: int, unit: int, name: str, watched: bool) -> None:
        self.index = index
        self.unit = unit
        self.name = name
        self.watched = watched  # False: only its arguments matter
        self.of_class = False  # of a builtin class: `list.append(x, 1)`
        self.settled = False
        self.epoch = self.suspensions = 0  # the walk's, at the look-up
