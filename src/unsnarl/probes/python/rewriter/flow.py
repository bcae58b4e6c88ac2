# SPDX-License-Identifier: Apache-2.0
"""Control flow between the instructions of a code object."""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.walk import Walk

# From 3.12 on, handlers stand behind the code they belong to and jump back into it.
_HANDLERS_MOVED = opcodes.VERSION >= (3, 12)


def read_exception_table(table: bytes) -> list[tuple[int, int, int]]:
    """(start, end, handler) of each entry, in code units."""
    numbers: list[int] = []
    value = 0
    # Big-endian groups of six bits; bit 6: more follow. (Bit 7 marks the start of an entry; see
    # Objects/exception_handling_notes.txt in CPython.)
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    starts, lengths, targets = numbers[::4], numbers[1::4], numbers[2::4]
    return [(s, s + n, t) for s, n, t in zip(starts, lengths, targets, strict=True)]


def jump_target(walk: Walk, index: int) -> int:
    """The first unit of the instruction that a jump leads to."""
    number = walk.ops[index]
    return walk.units[index] + opcodes.SIZES[number] + opcodes.JUMPS[number] * walk.args[index]


def loop_heads(walk: Walk, handlers: list[tuple[int, int, int]]) -> set[int]:
    """First units of the instructions where a loop with a breaker starts over."""
    return set(jumps_back(walk, handlers).values())


def jumps_back(walk: Walk, handlers: list[tuple[int, int, int]]) -> dict[int, int]:
    """The instructions with which a loop goes back, and the first units where it starts over.

    A jump from a handler back to what follows the `try` is none: it can be reached without
    passing its target. Nor are the jumps with which `await` and `yield from` ask again.
    """
    jumps = [i for i, number in enumerate(walk.ops) if number in opcodes.BREAKER_JUMPS]
    heads = {index: jump_target(walk, index) for index in jumps}
    if not handlers or not _HANDLERS_MOVED:
        return heads
    first_handler = min(target for _, _, target in handlers)
    return {
        index: head
        for index, head in heads.items()
        if walk.firsts[index] < first_handler or index not in _reached(walk, handlers, head)
    }


def _reached(walk: Walk, handlers: list[tuple[int, int, int]], avoided: int) -> set[int]:
    """Instructions that can run before the one at the avoided unit does."""
    index_of = {first: index for index, first in enumerate(walk.firsts)}
    handler_at: dict[int, int] = {}
    for start, end, target in handlers:
        for unit in range(start, end):
            handler_at[unit] = index_of[target]
    seen: set[int] = set()
    pending = [0]
    while pending:
        index = pending.pop()
        while index < len(walk.ops) and index not in seen and walk.firsts[index] != avoided:
            seen.add(index)
            if walk.firsts[index] in handler_at:
                pending.append(handler_at[walk.firsts[index]])
            if opcodes.JUMPS[walk.ops[index]]:
                pending.append(index_of[jump_target(walk, index)])
            if walk.ops[index] in opcodes.TERMINAL:
                break
            index += 1
    return seen
