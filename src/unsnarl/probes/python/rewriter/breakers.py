# SPDX-License-Identifier: Apache-2.0
"""Marks the sites where the interpreter itself could have switched threads.

A site is marked if on every path from the thread's previous site to it the interpreter looks at
its eval breaker: a forward MUST analysis over the control flow. One departure: at the head of a
loop only the ways back count, not the way in. A loop would otherwise lose the mark of its first
site, and with it every switch that a waiting loop needs, because of what stands before it. What
this can wrongly allow is a switch between the last site before a loop and the first one in it.
"""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.kinds import BREAKER, SILENT, Probe
from unsnarl.probes.python.rewriter.module import Body
from unsnarl.probes.python.rewriter.walk import Walk

_FLOW = [
    bool(opcodes.JUMPS[n]) or n in opcodes.TERMINAL or n in opcodes.BREAKERS for n in range(256)
]


def mark(walk: Walk, probes: list[Probe]) -> list[Probe]:
    """The probes, sorted by instruction, with BREAKER set where it holds."""
    handlers = _handler_targets(walk.body)
    heads = _loop_heads(walk)
    lowered: set[int] = set()
    while True:
        known = len(lowered)
        marked = _sweep(walk, probes, handlers, heads, lowered)
        if len(lowered) == known:
            return marked


def _sweep(
    walk: Walk, probes: list[Probe], handlers: set[int], heads: set[int], lowered: set[int]
) -> list[Probe]:
    """One pass in bytecode order; jumps back that bring no breaker go into `lowered`."""
    incoming: dict[int, bool] = dict.fromkeys(heads, True)
    incoming.update(dict.fromkeys(handlers | lowered, False))
    fixed = frozenset(incoming)
    marked: list[Probe] = []
    firsts, flow = walk.firsts, _FLOW
    pending = iter(probes)
    probe = next(pending, None)
    state, live = False, True
    for index, number in enumerate(walk.ops):
        first = firsts[index]
        if first in incoming:
            state = incoming[first] if first in fixed else incoming[first] and (state or not live)
        elif not live:
            state = False
        live = True
        while probe is not None and probe.index == index:
            if probe.kind in SILENT:
                marked.append(probe)
            else:
                marked.append(probe._replace(flags=probe.flags | BREAKER) if state else probe)
                state = False
            probe = next(pending, None)
        if flow[number]:
            state = state or number in opcodes.BREAKERS
            if opcodes.JUMPS[number]:
                _follow(walk, index, number, state, incoming, fixed, lowered)
            live = number not in opcodes.TERMINAL
    return marked


def _follow(
    walk: Walk,
    index: int,
    number: int,
    state: bool,
    incoming: dict[int, bool],
    fixed: frozenset[int],
    lowered: set[int],
) -> None:
    sign = opcodes.JUMPS[number]
    target = walk.units[index] + opcodes.SIZES[number] + sign * walk.args[index]
    if sign > 0:
        if target not in fixed:
            incoming[target] = incoming.get(target, True) and state
    elif not state and number not in opcodes.BREAKER_JUMPS:
        lowered.add(target)


def _loop_heads(walk: Walk) -> set[int]:
    heads = set()
    for index, number in enumerate(walk.ops):
        if number in opcodes.BREAKER_JUMPS:
            heads.add(walk.units[index] + opcodes.SIZES[number] - walk.args[index])
    return heads


def _handler_targets(body: Body) -> set[int]:
    """Where handlers start. What ran before the exception is not known, so: no breaker."""
    numbers: list[int] = []
    value = 0
    for byte in body.code.co_exceptiontable:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    return set(numbers[2::4])
