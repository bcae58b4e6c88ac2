# SPDX-License-Identifier: Apache-2.0
"""From planned probes to bytes: what `splice` puts between the instructions."""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.kinds import CONTAINER_AND_KEY, ITSELF, split_pair


def _instruction(number: int, arg: int) -> bytes:
    code = bytes((number, arg & 0xFF))
    while arg := arg >> 8:
        code = bytes((opcodes.EXTENDED_ARG, arg & 0xFF)) + code
    return code


_DELETE = bytes((opcodes.DELETE_SUBSCR, 0))
_COPIES = [_instruction(opcodes.COPY, depth) for depth in range(8)]
_COPY_CONTAINER = _COPIES[2]
# What follows the site on the stack: site[key] = container.
# The inline cache has to be there: the interpreter skips, and overwrites, that many units.
_STORE_PAIR = bytes((opcodes.STORE_SUBSCR, 0)) + bytes(
    2 * (opcodes.SIZES[opcodes.STORE_SUBSCR] - 1)
)
_STORE = _COPIES[3] + _STORE_PAIR
# What follows the site on the stack: del site[operand].
_TAILS = [_COPIES[depth + 1] + _DELETE for depth in range(7)]


def probe_code(const: int, operand: int) -> bytes:
    """The code of a probe whose site is a constant of this index."""
    site = _instruction(opcodes.LOAD_CONST, const)
    if operand == CONTAINER_AND_KEY:
        return _COPY_CONTAINER + site + _STORE
    if depths := split_pair(operand):
        container, key = depths
        copies = [_instruction(opcodes.COPY, depth) for depth in (container, key + 2)]
        return copies[0] + site + copies[1] + _STORE_PAIR
    if ITSELF <= operand < len(_TAILS):
        return site + _TAILS[operand]
    if operand > 0:
        return site + _instruction(opcodes.COPY, operand + 1) + _DELETE
    return site + _instruction(opcodes.LOAD_CLOSURE, -2 - operand) + _DELETE
