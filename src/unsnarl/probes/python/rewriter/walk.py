# SPDX-License-Identifier: Apache-2.0
"""One pass over a code object in bytecode order, with a stack of tags instead of values.

Where paths meet, tags that differ become UNKNOWN. Below the tags that are known the stack goes on
with UNKNOWN for ever, so code that is reached in ways this pass does not follow (handlers, blocks
that CPython moved to the end) is still planned, only with less knowledge.
"""

from collections.abc import Callable, Sequence

from unsnarl.probes.python.rewriter import opcodes
from unsnarl.probes.python.rewriter.closures import slot_names
from unsnarl.probes.python.rewriter.kinds import (
    ARGUMENT,
    ITER,
    METHOD,
    SHAPE_READ,
    Probe,
)
from unsnarl.probes.python.rewriter.module import Body, Facts
from unsnarl.probes.python.rewriter.tags import (
    ARGUMENT_ITERATOR,
    GLOBAL,
    HEAP,
    ITERATOR,
    LOCAL,
    PRIVATE,
    UNKNOWN,
    Lookup,
    Tag,
)

Handler = Callable[["Walk", int, int], None]
_FLOW = [bool(opcodes.JUMPS[n]) or n in opcodes.TERMINAL for n in range(256)]
_FOR_ITER = opcodes.op("FOR_ITER")
_SEND = opcodes.op("SEND")
_OR_POP = (opcodes.op("JUMP_IF_FALSE_OR_POP"), opcodes.op("JUMP_IF_TRUE_OR_POP"))
_OLD_LOOPS = opcodes.VERSION < (3, 12)


class Handlers(dict[int, Handler]):
    """Handlers of instructions, by opcode. Each module of handlers has one (handlers.py)."""

    def on(self, names: str) -> Callable[[Handler], Handler]:
        """Add a handler for instructions; those this version lacks are passed over."""

        def add(handler: Handler) -> Handler:
            for name in names.split():
                if (number := opcodes.op(name)) >= 0:
                    self[number] = handler
            return handler

        return add


class Walk:
    """The state of the pass, and the probes it has planned."""

    __slots__ = (
        "args",
        "body",
        "calls",
        "decorated",
        "epoch",
        "facts",
        "firsts",
        "is_top",
        "local_containers",
        "local_functions",
        "local_tags",
        "lookups",
        "maybe",
        "names",
        "ops",
        "probes",
        "saved",
        "slots",
        "stack",
        "stores",
        "suspensions",
        "units",
    )

    def __init__(self, body: Body, facts: Facts, is_top: bool = False) -> None:
        self.body = body
        self.facts = facts
        self.is_top = is_top
        self.ops, self.args, self.firsts, self.units = opcodes.decode(body.raw)
        self.names = body.code.co_names
        self.slots = slot_names(body)
        self.local_tags: list[Tag] = [(LOCAL, slot) for slot in range(len(self.slots))]
        self.stack: list[Tag] = []
        self.saved: dict[int, tuple[Tag, ...]] = {}
        self.probes: list[Probe] = []
        # Probes that are only worth having if the value turns out to be a container elsewhere.
        self.maybe: list[tuple[Probe, Tag]] = []
        # Probes that are only worth having if a function of that name is decorated somewhere.
        self.decorated: list[tuple[Probe, str]] = []
        self.local_containers: set[int] = set()
        self.local_functions: set[int] = set()
        self.lookups: list[Lookup] = []
        self.epoch = 0  # counts everything that other threads could see
        self.suspensions = 0  # counts yields and awaits
        self.calls: set[int] = set()  # calls of the module's top level
        self.stores: list[tuple[str, int, Tag]] = []  # stores of names there

    def run(self, handlers: Sequence[Handler | None]) -> None:
        """Walk through all instructions; those without a handler only move the stack."""
        stack, saved, ops, args, firsts = self.stack, self.saved, self.ops, self.args, self.firsts
        pops, pushes, flow = opcodes.POPS, opcodes.PUSHES, _FLOW
        live = True
        for index, number in enumerate(ops):
            if firsts[index] in saved:
                self._join(saved.pop(firsts[index]), live)
            elif not live:
                stack.clear()
            live = True
            handler = handlers[number]
            if handler is not None:
                handler(self, index, args[index])
            else:
                if taken := pops[number]:
                    del stack[-taken:]
                for _ in range(pushes[number]):
                    stack.append(UNKNOWN)
            if flow[number]:
                live = number not in opcodes.TERMINAL
                if opcodes.JUMPS[number] > 0:
                    self._branch(index, number)
        self._settle_lookups()

    def _join(self, state: tuple[Tag, ...], live: bool) -> None:
        stack = self.stack
        stack[:] = _meet(tuple(stack), state) if live else state

    def _branch(self, index: int, number: int) -> None:
        target = self.units[index] + opcodes.SIZES[number] + self.args[index]
        state = tuple(self.stack)
        if number in _OR_POP:
            state = (*state, UNKNOWN)
        # 3.11 drops the iterator when it jumps; later versions leave that to END_FOR at the target.
        elif _OLD_LOOPS and number == _FOR_ITER:
            state = state[:-2]
        elif _OLD_LOOPS and number == _SEND:
            state = state[:-1]
        earlier = self.saved.get(target)
        self.saved[target] = state if earlier is None else _meet(earlier, state)

    def _settle_lookups(self) -> None:
        for lookup in self.lookups:
            # No call was matched: the look-up has to do.
            if lookup.watched and not lookup.settled:
                self.probes.append(Probe(lookup.index, METHOD, lookup.unit, lookup.name, 1))

    def pop(self) -> Tag:
        """Take the top of the stack."""
        return self.stack.pop() if self.stack else UNKNOWN

    def pop_many(self, count: int) -> list[Tag]:
        """Take the top values, deepest first."""
        if not count:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return [UNKNOWN] * (count - len(taken)) + taken if len(taken) < count else taken

    def peek(self, depth: int) -> Tag:
        """The value that lies so deep; 1 is the top."""
        return self.stack[-depth] if depth <= len(self.stack) else UNKNOWN

    def probe(self, index: int, kind: int, name: str, operand: int, flags: int = 0) -> None:
        """Put a probe before an instruction."""
        self.epoch += 1
        self.probes.append(Probe(index, kind, self.units[index], name, operand, flags))

    def read_shape(self, index: int, name: str, operand: int, tag: Tag, unit: int = -1) -> None:
        """Watch a read of a container's structure, unless the value is known to be private."""
        if PRIVATE[tag[0]]:
            return
        self.epoch += 1
        unit = self.units[index] if unit < 0 else unit
        kind = ITER if tag[0] == ITERATOR[0] else SHAPE_READ
        flags = ARGUMENT if tag is ARGUMENT_ITERATOR else 0
        self.probes.append(Probe(index, kind, unit, name, operand, flags))
        self.saw_container(tag)

    def maybe_shape(self, index: int, kind: int, name: str, operand: int, tag: Tag) -> None:
        """Watch an access that only matters if the named value is a container."""
        self.epoch += 1
        self.maybe.append((Probe(index, kind, self.units[index], name, operand), tag))

    def saw_container(self, tag: Tag) -> None:
        """Remember that what is read under this name is used as a container."""
        kind, payload = tag
        if kind == LOCAL:
            self.local_containers.add(payload)
        elif kind in (HEAP, GLOBAL) and payload is not None:
            self.facts.containers.add(payload)

    def is_container(self, tag: Tag) -> bool:
        """Whether something in the module has shown that this value is a container."""
        if tag[0] == LOCAL:
            return tag[1] in self.local_containers
        return tag[1] in self.facts.containers


def _meet(one: tuple[Tag, ...], other: tuple[Tag, ...]) -> tuple[Tag, ...]:
    """What both stacks, compared from the top, agree on."""
    if one == other:
        return one
    depth = min(len(one), len(other))
    if not depth:
        return ()
    pairs = zip(one[-depth:], other[-depth:], strict=True)
    return tuple(mine if mine == yours else UNKNOWN for mine, yours in pairs)
