# SPDX-License-Identifier: Apache-2.0
"""Kinds and flags of probes, as `unsnarl._core.Site` counts them, and the probe of a plan."""

from typing import NamedTuple

# The numbers of native/binding/probe_kinds.def; tests/unit/test_shared_numbers.py compares.
ATTR_READ = 0
ATTR_WRITE = 1
ITEM_READ = 2
ITEM_WRITE = 3
ITEM_DELETE = 4
GLOBAL_READ = 5
GLOBAL_WRITE = 6
CELL_READ = 7
CELL_WRITE = 8
SHAPE_READ = 9
SHAPE_WRITE = 10
ITER = 11
METHOD = 12
STASH = 13
METHOD_CALL = 14
CREATE = 15
LIBRARY_ARG = 16
NAMED_READ = 17
NAMED_WRITE = 18
NAMESPACE = 19
SUPER = 20
STATE_READ = 21
STATE_WRITE = 22
CALLEE = 23
CALLEE_ARG = 24
YIELD = 25
BRANCH = 26
BACK = 27
HANDLER = 28
CAUGHT = 29

KIND_NAMES = (
    "attr_read",
    "attr_write",
    "item_read",
    "item_write",
    "item_delete",
    "global_read",
    "global_write",
    "cell_read",
    "cell_write",
    "shape_read",
    "shape_write",
    "iter",
    "method",
    "stash",
    "method_call",
    "create",
    "library_arg",
    "named_read",
    "named_write",
    "namespace",
    "super",
    "state_read",
    "state_write",
    "callee",
    "callee_arg",
    "yield",
    "branch",
    "back",
    "handler",
    "caught",
)
# They only remember something: no access, and no chance to switch threads.
SILENT = frozenset({STASH, CREATE, NAMESPACE, BRANCH, BACK, HANDLER, CAUGHT})

BREAKER = 1
INIT = 2
KEYED = 4
# A breaker lies on the ways back of the loop that begins here, but not on the way in.
LOOP = 8
# Of the argument of a callee: it is the first one.
FIRST = 16
# Of a new container: it is one only if nobody else has it.
ALONE = 16
# Of a branch or a jump back: it asks for None; for a truth, which is not yet a bool.
ASKS_NONE = 16
MAKES_BOOL = 32
# Of a jump back that asks: it is taken if that is so, else if it is not.
TAKEN_IF = 64
# Of an iteration: the iterator is the one that a comprehension was called with.
ARGUMENT = 128
# Above the flags: how far the site is from the first one of its code.
OFFSET_SHIFT = 8

# Operands of a probe: how deep the value lies on the stack (1 is the top), or one of these.
ITSELF = 0
CONTAINER_AND_KEY = -1
_PAIR = 1 << 16
MOST_DEPTH = 255  # of a value that is one of two


def cell_operand(slot: int) -> int:
    """The operand that stands for the closure cell in a slot of the frame."""
    return -2 - slot


def pair(container: int, key: int) -> int:
    """The operand that stands for two values, by how deep they lie."""
    return _PAIR | container << 8 | key


def split_pair(operand: int) -> tuple[int, int] | None:
    """How deep the two values lie that an operand stands for, if it does."""
    return (operand >> 8 & 255, operand & 255) if operand >= _PAIR else None


class Probe(NamedTuple):
    """One probe: where it stands and what it says."""

    at: int  # index of the instruction it stands before
    kind: int
    unit: int  # original code unit whose id it carries
    name: str
    operand: int
    flags: int = 0
    behind: bool = False  # follows the instruction before; jumps to that instruction pass it by
