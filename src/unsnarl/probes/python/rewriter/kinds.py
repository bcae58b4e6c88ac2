# SPDX-License-Identifier: Apache-2.0
"""Kinds and flags of probes, as `unsnarl._core.Site` counts them, and the probe of a plan."""

from typing import NamedTuple

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
BRANCH = 17
BACK = 18

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
    "branch",
    "back",
)
# They only remember something: no access, and no place to switch threads.
SILENT = frozenset({STASH, CREATE, BRANCH, BACK})

BREAKER = 1
INIT = 2
KEYED = 4
# A breaker lies on the ways back of the loop that begins here, but not on the way in.
LOOP = 8
# Of a branch or a jump back: it asks for None; for a truth, which is not yet a bool.
ASKS_NONE = 16
MAKES_BOOL = 32
# Of a jump back that asks: it is taken if that is so, else if it is not.
TAKEN_IF = 64
# Above the flags: how far the site is from the first one of its code.
OFFSET_SHIFT = 8

# Operands of a probe: how deep the value lies on the stack (1 is the top), or one of these.
ITSELF = 0
CONTAINER_AND_KEY = -1


def cell_operand(slot: int) -> int:
    """The operand that stands for the closure cell in a slot of the frame."""
    return -2 - slot


class Probe(NamedTuple):
    """One probe: where it stands and what it says."""

    at: int  # index of the instruction it stands before
    kind: int
    unit: int  # original code unit whose id it carries
    name: str
    operand: int
    flags: int = 0
    behind: bool = False  # follows the instruction before; jumps to that instruction pass it by
