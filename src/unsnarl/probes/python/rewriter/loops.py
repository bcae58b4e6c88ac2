# SPDX-License-Identifier: Apache-2.0
"""Probes that report when a loop goes back: only where runs are recorded at such a level.

They stand before the jumps back of loops (ReCBuLC V.B), which is exact and costs what any probe
does; the interpreter's trace hook would come by at every line. Up to 3.11 such a jump may ask
something first: then the probe is shown the same, and reports only if it will be taken.
"""

from collections.abc import Iterator

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.flow import jumps_back, read_exception_table
from unsnarl.probes.python.rewriter.kinds import (
    ASKS_NONE,
    BACK,
    ITSELF,
    MAKES_BOOL,
    TAKEN_IF,
    Probe,
)
from unsnarl.probes.python.rewriter.walk import Walk

_ASKING = {
    opcodes.op("POP_JUMP_BACKWARD_IF_TRUE"): MAKES_BOOL | TAKEN_IF,
    opcodes.op("POP_JUMP_BACKWARD_IF_FALSE"): MAKES_BOOL,
    opcodes.op("POP_JUMP_BACKWARD_IF_NONE"): ASKS_NONE | TAKEN_IF,
    opcodes.op("POP_JUMP_BACKWARD_IF_NOT_NONE"): ASKS_NONE,
}


def loops(walk: Walk) -> Iterator[Probe]:
    """The probes of a code object's loops."""
    for index in jumps_back(walk, read_exception_table(walk.body.code.co_exceptiontable)):
        flags = _ASKING.get(walk.ops[index])
        operand, unit = (ITSELF if flags is None else 1), walk.units[index]
        yield Probe(index, BACK, unit, "", operand, flags or 0)
