# SPDX-License-Identifier: Apache-2.0
"""Marks the sites where the interpreter itself could have switched threads.

A site is marked if on every path from the thread's previous site to it the interpreter looks at
its eval breaker: a forward MUST analysis over the control flow. One departure: at the head of a
loop only the ways back count, not the way in. A loop would otherwise lose the mark of its first
site, and with it every switch that a waiting loop needs, because of what stands before it. What
this can wrongly allow is a switch between the last site before a loop and the first one in it.
"""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.flow import jump_target, loop_heads, read_exception_table
from unsnarl.probes.python.rewriter.kinds import BREAKER, SILENT, Probe
from unsnarl.probes.python.rewriter.walk import Walk

_FLOW = [
    bool(opcodes.JUMPS[n]) or n in opcodes.TERMINAL or n in opcodes.BREAKERS for n in range(256)
]


def mark(walk: Walk, probes: list[Probe]) -> list[Probe]:
    """The probes, sorted by instruction, with BREAKER set where it holds."""
    table = read_exception_table(walk.body.code.co_exceptiontable)
    # What ran before an exception is not known, so a handler starts without a breaker.
    handlers = {target for _, _, target in table}
    heads = loop_heads(walk, table)
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
                _follow(walk, index, state, incoming, fixed, lowered)
            live = number not in opcodes.TERMINAL
    return marked


def _follow(
    walk: Walk,
    index: int,
    state: bool,
    incoming: dict[int, bool],
    fixed: frozenset[int],
    lowered: set[int],
) -> None:
    number, target = walk.ops[index], jump_target(walk, index)
    if opcodes.JUMPS[number] > 0:
        if target not in fixed:
            incoming[target] = incoming.get(target, True) and state
    elif not state and number not in opcodes.BREAKER_JUMPS:
        lowered.add(target)
