# SPDX-License-Identifier: Apache-2.0
"""Marks the sites where the interpreter itself could have switched threads.

A site is marked if on every path from the thread's previous site to it the interpreter looks at
its eval breaker: a forward MUST analysis over the control flow. The first site of a loop would lose
its mark, and with it every switch that a waiting loop needs, because of what stands before the
loop: where only the ways back bring a breaker it is marked LOOP, and the probe itself sees whether
the thread came in or round again.
"""

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.flow import jump_target, loop_heads, read_exception_table
from unsnarl.probes.python.rewriter.kinds import BREAKER, LOOP, SILENT, Probe
from unsnarl.probes.python.rewriter.walk import Walk

_FLOW = [
    bool(opcodes.JUMPS[n]) or n in opcodes.TERMINAL or n in opcodes.BREAKERS for n in range(256)
]


def mark(walk: Walk, probes: list[Probe]) -> list[Probe]:
    """The probes, sorted by instruction, with BREAKER or LOOP set where it holds."""
    table = read_exception_table(walk.body.code.co_exceptiontable)
    # What ran before an exception is not known, so a handler starts without a breaker.
    without = {target for _, _, target in table}
    heads = loop_heads(walk, table)
    always = _settled(walk, probes, heads, without, strict=True)
    if not heads:
        return always
    after_a_round = _settled(walk, probes, heads, without, strict=False)
    return [
        one._replace(flags=one.flags | LOOP) if one.flags != other.flags else one
        for one, other in zip(always, after_a_round, strict=True)
    ]


def _settled(
    walk: Walk, probes: list[Probe], heads: set[int], without: set[int], *, strict: bool
) -> list[Probe]:
    # A jump back is seen after the sites that it leads to, so one sweep is not enough. Targets are
    # only ever added to `without`, so this ends.
    while True:
        sweep = _Sweep(walk, heads, without, strict=strict)
        marked = sweep.run(probes)
        if sweep.lowered <= without:
            return marked
        without = without | sweep.lowered


class _Sweep:
    """One pass in bytecode order."""

    def __init__(self, walk: Walk, heads: set[int], without: set[int], *, strict: bool) -> None:
        self.walk = walk
        # First unit of an instruction -> whether all jumps to it bring a breaker.
        self.incoming: dict[int, bool] = dict.fromkeys(heads, True)
        self.incoming.update(dict.fromkeys(without, False))
        self.fixed = frozenset(without if strict else self.incoming)
        self.lowered: set[int] = set()  # targets of jumps back that bring none

    def run(self, probes: list[Probe]) -> list[Probe]:
        marked: list[Probe] = []
        pending = iter(probes)
        probe = next(pending, None)
        state, live = False, True
        for index, number in enumerate(self.walk.ops):
            first = self.walk.firsts[index]
            if first in self.incoming:
                state = self._arrive(first, state or not live)
            elif not live:
                state = False
            live = True
            while probe is not None and probe.at == index:
                if state and probe.kind not in SILENT:
                    probe = probe._replace(flags=probe.flags | BREAKER)
                marked.append(probe)
                # One breaker serves one site: the accesses that follow have no switch before them
                # (docs/adr/0009, `head`).
                state = state and probe.kind in SILENT
                probe = next(pending, None)
            if _FLOW[number]:
                state = state or number in opcodes.BREAKERS
                if opcodes.JUMPS[number]:
                    self._follow(index, number, state)
                live = number not in opcodes.TERMINAL
        return marked

    def _arrive(self, first: int, state: bool) -> bool:
        brought = self.incoming[first]
        return brought if first in self.fixed else brought and state

    def _follow(self, index: int, number: int, state: bool) -> None:
        target = jump_target(self.walk, index)
        if opcodes.JUMPS[number] > 0:
            if target not in self.fixed:
                self.incoming[target] = self.incoming.get(target, True) and state
        elif not state and number not in opcodes.BREAKER_JUMPS:
            self.lowered.add(target)
