# SPDX-License-Identifier: Apache-2.0
"""Probes where a handler is entered, and where one is known to catch.

Entering is not catching: a `finally` and a clause that does not match raise the exception again.
What catches is a clause whose type matches, a clause without one, and a `with` whose `__exit__`
returns true. The probe is shown the exception, which lies on the stack there. Nothing stands on the
path of code that raises nothing. (`except*` and a `return` in a `finally` are not seen.)
"""

from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.kinds import CAUGHT, HANDLER, Probe

_ENTRY = opcodes.op("PUSH_EXC_INFO")
_MATCH = opcodes.op("CHECK_EXC_MATCH")
_POP = opcodes.op("POP_TOP")
_RERAISE = opcodes.op("RERAISE")
_ANSWERED = frozenset(map(opcodes.op, ("POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_IF_TRUE"))) - {-1}
_FROM_WITH = 2  # argument of the RERAISE of a `with` whose __exit__ returned false


class Instructions(NamedTuple):
    """The instructions of a code object, as opcodes.decode returns them."""

    ops: list[int]
    args: list[int]
    firsts: list[int]
    units: list[int]


def has_handlers(code: CodeType) -> bool:
    """Whether code handles exceptions at all."""
    return bool(code.co_exceptiontable) and _ENTRY in code.co_code[::2]


def catches(code: Instructions) -> Iterator[Probe]:
    """The probes of a code object's handlers."""
    ops = code.ops
    for index, number in enumerate(ops[:-1]):
        follower = index + 1
        if number == _ENTRY and ops[follower] == _POP:
            # Not behind the entry, which has no line.
            yield Probe(follower, CAUGHT, code.units[follower], "", 1)
        elif number == _ENTRY:
            yield Probe(follower, HANDLER, code.units[index], "", 1, behind=True)
        elif number == _MATCH:
            at = follower + 1
            if ops[at] == opcodes.NOT_TAKEN:
                at += 1
            yield Probe(at, CAUGHT, code.units[follower], "", 1, behind=True)
        elif number in _ANSWERED and _reraises(code, follower):
            yield _with_returned_true(code, index)


def _reraises(code: Instructions, index: int) -> bool:
    if code.ops[index] == opcodes.NOT_TAKEN:  # from 3.14 on it stands behind such jumps
        index += 1
    return (code.ops[index], code.args[index]) == (_RERAISE, _FROM_WITH)


def _with_returned_true(code: Instructions, index: int) -> Probe:
    target = code.units[index] + opcodes.SIZES[code.ops[index]] + code.args[index]
    at = code.firsts.index(target)
    return Probe(at, CAUGHT, code.units[at], "", 1)
