# SPDX-License-Identifier: Apache-2.0
"""Probes that report which way a branch goes: only where runs are recorded with their branches.

They stand before conditional jumps and are shown what these ask. A truth that is not yet a bool is
made one first, so that an object's own `__bool__` runs once, as it always does. `not` asks the same
of a value without jumping, and what it says is as much a part of the path (reproduce/clap). Loops
over an iterator are no branches: what they go over is recorded by other means.
"""

from collections.abc import Iterator

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.kinds import ASKS_NONE, BRANCH, MAKES_BOOL, Probe
from unsnarl.probes.python.rewriter.walk import Walk


def _jumps(*endings: str) -> frozenset[int]:
    """Conditional jumps that take what they ask off the stack, in all directions."""
    ways = ("POP_JUMP_IF_", "POP_JUMP_FORWARD_IF_", "POP_JUMP_BACKWARD_IF_")
    return frozenset(opcodes.op(way + ending) for way in ways for ending in endings) - {-1}


_NONES = _jumps("NONE", "NOT_NONE")
_TRUTHS = _jumps("TRUE", "FALSE") | {opcodes.op("UNARY_NOT")}
_KEPT = frozenset(map(opcodes.op, ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"))) - {-1}
# From 3.13 on an instruction of its own makes a bool of every truth.
_MADE = opcodes.VERSION >= (3, 13)
# `not not x`: before 3.13 no instruction makes a bool of a value and leaves it there.
TO_BOOL = bytes((opcodes.op("UNARY_NOT"), 0)) * 2


def branches(walk: Walk) -> Iterator[Probe]:
    """The probes of a code object's branches."""
    for index, number in enumerate(walk.ops):
        flags = ASKS_NONE if number in _NONES else 0
        if number in _TRUTHS and not _MADE:
            flags = MAKES_BOOL
        if number in _NONES or number in _TRUTHS or number in _KEPT:
            yield Probe(index, BRANCH, walk.units[index], "", 1, flags)
